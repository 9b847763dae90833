"""The gateway's sampling: every run that went wrong is kept, of the others a share; log records are never sampled."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.stack import build, otlp
from tests.stack.http_client import eventually
from tests.stack.native import write_yaml
from tests.stack.pair import collector

pytestmark = pytest.mark.stack

CHAT = {"gen_ai.operation.name": "chat"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund"}
KEPT: dict[str, dict[str, Any]] = {
    "truncated": {**CHAT, "otel_agent.response.truncated": True},
    "failed": {**CHAT, "error.type": "RateLimitError"},
    "failure returned as data": {**TOOL, "otel_agent.tool.outcome": "error"},
    "timed out": {**TOOL, "otel_agent.tool.outcome": "timeout"},
    "denied": {**TOOL, "otel_agent.policy.decision": "deny"},
    "waits for a person": {**TOOL, "otel_agent.policy.decision": "needs_approval"},
    "looping": {**TOOL, "otel_agent.tool.repeat": 3},
    "out of turns": {"otel_agent.run.end_reason": "turn_limit"},
    "cancelled": {"otel_agent.run.end_reason": "cancelled"},
}
DROPPED: dict[str, dict[str, Any]] = {
    "answered": {"otel_agent.run.end_reason": "answered"},
    "whole answer": {**CHAT, "otel_agent.response.truncated": False},
    "second call": {**TOOL, "otel_agent.tool.repeat": 2, "otel_agent.tool.outcome": "ok", "otel_agent.policy.decision": "allow"},
}


def test_every_run_that_went_wrong_is_kept(go_toolchain: None, tmp_path: Path) -> None:
    """With a share of nothing for the rest, exactly the remarkable traces come through, and all log records."""
    build.build(("collector",))
    files = {f"file/{name}": {"path": str(tmp_path / f"{name}.json"), "flush_interval": "100ms"} for name in ("traces", "logs")}
    pipelines = {name: {"exporters": [f"file/{name}"]} for name in ("traces", "logs")}
    overlay = write_yaml(tmp_path / "files.yaml", {"exporters": files, "service": {"pipelines": pipelines}})
    env = {"COLLECTOR_DECISION_WAIT": "1s", "COLLECTOR_KEEP_PERCENT": "0"}
    cases = {name: (number, facts) for number, (name, facts) in enumerate((KEPT | DROPPED).items(), start=1)}
    with collector("gateway", tmp_path, [build.COLLECTOR / "gateway.yaml", overlay], env) as gateway:
        for number, facts in cases.values():
            root = otlp.span(number, 1, "invoke_agent support", {"gen_ai.operation.name": "invoke_agent"})
            otlp.send(gateway.base, otlp.traces("app", [root, otlp.span(number, 2, "chat", facts, parent=1)]))
            otlp.send(gateway.base, otlp.logs("app", [otlp.record("otel_agent.model_turn", CHAT, number)]))
        spans, records = tmp_path / "traces.json", tmp_path / "logs.json"
        eventually("every log record", lambda: records.read_text().count('"otel_agent.model_turn"') == len(cases))
        eventually("every remarkable trace", lambda: kept(spans, cases) >= KEPT.keys())
        time.sleep(2)
    assert kept(spans, cases) == KEPT.keys()
    assert spans.read_text().count('"spanId"') == 2 * len(KEPT), "a kept trace is whole"


def kept(spans: Path, cases: dict[str, tuple[int, dict[str, Any]]]) -> set[str]:
    written = spans.read_text()
    return {name for name, (number, _) in cases.items() if f'"{number:032x}"' in written}
