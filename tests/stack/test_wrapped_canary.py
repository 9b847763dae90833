"""Thinking text through the real SDKs, with everything in the application set to leak it: none arrives at any backend.

The other canary test plants by hand in every place that OTLP has; here the texts go where real programs put them: into the SDK's own
spans in content mode, into span events, error messages, log bodies and attributes of the application's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from otel_agent.testing.canaries import Canaries
from otel_agent.testing.standin import Standin
from tests.stack import backends, configs
from tests.stack.http_client import eventually
from tests.stack.leaks import leak, scripts
from tests.stack.native import NativeStack, native_stack
from tests.stack.panels import empty
from tests.stack.test_canary import FILES, file_overlay

pytestmark = pytest.mark.stack


@dataclass
class Leaked:
    """What ran, where the file exporter wrote, what was planted, and what the application itself recorded."""

    running: NativeStack
    folder: Path
    canaries: Canaries
    control: str


@pytest.fixture(scope="module")
def leaked(go_toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leaked]:
    folder, canaries = tmp_path_factory.mktemp("leaky"), Canaries("wrapped")
    control = folder / "control"
    with Standin() as standin, native_stack(configs.Options(overlays=[file_overlay(folder)])) as running:
        scripts(standin, canaries)
        leak(running.stack, standin, control)
        eventually("the runs", lambda: backends.metric_value(running.stack, "sum(otel_agent_runs_total)") == 3)
        eventually("their records", lambda: len(backends.log_lines(running.stack, 'event_name:="otel_agent.agent_run"')) == 3)
        for name in FILES:
            eventually(f"{name} written", (folder / f"{name}.json").read_bytes)
        yield Leaked(running, folder, canaries, control.read_text())


def trace_id(leaked: Leaked) -> int:
    (run,) = backends.log_lines(leaked.running.stack, 'event_name:="otel_agent.agent_run" gen_ai.agent.name:="leaky"')
    return int(run["trace_id"], 16)


def test_the_application_does_leak(leaked: Leaked) -> None:
    """The control: the SDK's own spans and the application's hold the thinking text before the guard."""
    assert {"first", "second", "anthropic.text"} <= set(leaked.canaries.find_in(leaked.control))
    assert '"gen_ai.output.messages"' in leaked.control


def test_no_backend_holds_a_canary(leaked: Leaked) -> None:
    shown = backends.everything(leaked.running.stack, trace_id(leaked))
    assert {} == {question: found for question, answer in shown.items() if (found := leaked.canaries.find_in(answer))}


def test_no_file_of_the_pipeline_holds_a_canary(leaked: Leaked) -> None:
    """The file exporter's, the queue's, the stores' and the servers' logs."""
    files = [path for path in (*leaked.running.folder.rglob("*"), *leaked.folder.glob("*.json")) if path.is_file()]
    assert len(files) > 10
    assert {} == {path.name: found for path in files if (found := leaked.canaries.find_in(path.read_bytes()))}


def test_the_rest_of_the_leaking_spans_arrived(leaked: Leaked) -> None:
    """Structure stays: the application's span, the SDK's own below it, and ours."""
    spans = backends.spans(backends.trace(leaked.running.stack, trace_id(leaked)))
    names = [span["name"] for span in spans]
    assert names.count("chat claude-sonnet-4-6") >= 2
    assert "invoke_agent leaky" in names
    assert len(spans) >= 1 + 2 + 2 + 1  # the run, two turns, the application's two, a tool; the SDK's own beside ours


def test_the_applications_log_records_arrived_without_their_bodies(leaked: Leaked) -> None:
    lines = backends.log_lines(leaked.running.stack, "severity_text:=ERROR")
    assert len(lines) == 2
    assert not any("answered" in value for line in lines for value in line.values())


def test_removals_are_shown(leaked: Leaked) -> None:
    """The panel that asks for somebody to find the leak has something to show."""
    eventually("removals on the board", lambda: not empty(leaked.running.stack, ["pipeline/removed"]))
