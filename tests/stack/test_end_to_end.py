"""The demo's agents through the whole pipeline: every panel has something to show, and the three signals tell the same story."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dashboards.results import Variables
from otel_agent import semconv as s
from otel_agent.demo.scripts import SCENARIOS
from tests.stack import backends
from tests.stack.addresses import Stack
from tests.stack.build import ROOT
from tests.stack.configs import Options
from tests.stack.http_client import eventually, fetch_json
from tests.stack.native import native_stack
from tests.stack.panels import PANELS, empty
from tests.stack.stage import LIMIT, environment, hurried_rules

pytestmark = pytest.mark.stack

SERVICE = "otel-agent-demo"
ONE_TURN = "report-truncated"

ONLY_ON_FAILURE: Mapping[str, str] = {
    "pipeline/export_lost": "nothing is lost here: test_pipeline_alerts.py, test_faults.py",
    "pipeline/own_kinds": "the instrumentation kept everything here: test_alerts.py",
    "pipeline/own_events": "the instrumentation did not fail here: test_alerts.py",
    "pipeline/removed": "our own records hold nothing to remove: test_wrapped_canary.py",
}
"""Panels that are empty while all is well with the telemetry itself, and the tests in which they are not."""


@pytest.fixture(scope="module")
def stack(go_toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack after one demo, and after the baselines of its rules have something behind them."""
    options = Options(rule_files=hurried_rules(tmp_path_factory.mktemp("rules"), "10s", "60s"))
    with native_stack(options) as running:
        command = [sys.executable, "-m", "otel_agent.cli", "demo", "--endpoint", running.stack.otlp_http]
        subprocess.run(command, cwd=ROOT, env=environment(running.stack, SERVICE), timeout=LIMIT, check=True)
        ending = sum(scenario.ends for scenario in SCENARIOS)
        eventually("all runs", lambda: backends.metric_value(running.stack, "sum(otel_agent_runs_total)") == ending)
        time.sleep(12)  # one window and a bit
        yield running.stack


def record(stack: Stack, event: str, agent: str) -> dict[str, Any]:
    """The one record of this kind."""
    (found,) = eventually("the record", lambda: backends.log_lines(stack, f'event_name:="{event}" {s.GEN_AI_AGENT_NAME}:="{agent}"'))
    return dict(found)


def chosen_run(stack: Stack, agent: str) -> Variables:
    """What a click on this run in the list fills in."""
    run = record(stack, s.EVENT_OTEL_AGENT_AGENT_RUN, agent)
    return Variables({"run": run[s.OTEL_AGENT_RUN_ID], "trace": run["trace_id"]})


def test_every_panel_has_data(stack: Stack) -> None:
    """Of every board but Run, whose panels are about one run."""
    wanted = [key for key in PANELS if not key.startswith("run/")]
    assert sorted(ONLY_ON_FAILURE) == sorted(empty(stack, wanted))


@pytest.mark.parametrize(
    ("agent", "nothing"),
    [
        ("refund-denied", {"run/text_steps", "run/others"}),
        ("text-protocol", {"run/tools", "run/others"}),
        ("handbook-rated", {"run/tools", "run/text_steps"}),
    ],
)
def test_every_panel_of_a_run_has_data(stack: Stack, agent: str, nothing: set[str]) -> None:
    """What a run did not do is the only thing that is not shown; together these runs did everything."""
    wanted = [key for key in PANELS if key.startswith("run/")]
    assert nothing - {"run/tools"} <= set(empty(stack, wanted, chosen_run(stack, agent))) <= nothing


def attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    return {each["key"]: _plain(each["value"]) for each in span["attributes"]}


def _plain(value: Mapping[str, Any]) -> Any:
    """As the log store spells it: everything as text, lists as JSON."""
    ((kind, content),) = value.items()
    if kind == "arrayValue":
        return [_plain(each) for each in content["values"]]
    if kind == "doubleValue":
        return float(content)
    return str(content).lower() if kind == "boolValue" else str(content)


def _spelled(text: str, like: Any) -> Any:
    if isinstance(like, list):
        return json.loads(text)
    return float(text) if isinstance(like, float) else text


@pytest.mark.parametrize("agent", [ONE_TURN, "chat-streamed"])
def test_the_three_signals_of_a_turn_agree(stack: Stack, agent: str) -> None:
    """The log record's ids lead to its span, both have the same facts, and the counters have counted just this turn."""
    turn = record(stack, s.EVENT_OTEL_AGENT_MODEL_TURN, agent)
    spans = backends.spans(backends.trace(stack, int(turn["trace_id"], 16)))
    (span,) = [each for each in spans if each["spanId"] == turn["span_id"]]
    facts = attributes(span)
    assert len(facts) > 20
    assert facts == {name: _spelled(turn[name], value) for name, value in facts.items()}
    assert {name for name in turn if name.startswith(("gen_ai.", "otel_agent."))} <= set(facts)

    def counted(name: str) -> float | None:
        return backends.metric_value(stack, f'sum({name}{{gen_ai_agent_name="{agent}", service_name="{SERVICE}"}})')

    assert counted("otel_agent_turns_total") == 1
    assert counted("gen_ai_client_inference_usage_output_tokens_total") == float(turn[s.GEN_AI_USAGE_OUTPUT_TOKENS])
    assert counted("gen_ai_client_inference_usage_input_tokens_total") == float(turn[s.GEN_AI_USAGE_INPUT_TOKENS])
    assert counted("gen_ai_client_inference_duration_seconds_sum") == pytest.approx(float(turn[s.OTEL_AGENT_DURATION]))


def test_a_run_is_one_trace(stack: Stack) -> None:
    """Turns and tools hang below the run's span, to which the run's record belongs."""
    run = record(stack, s.EVENT_OTEL_AGENT_AGENT_RUN, "refund-denied")
    spans = backends.spans(backends.trace(stack, int(run["trace_id"], 16)))
    (root,) = [span for span in spans if not span.get("parentSpanId")]
    assert root["spanId"] == run["span_id"]
    names = sorted(span["name"] for span in spans)
    assert names == ["chat claude-sonnet-4-6"] * 3 + ["execute_tool issue_refund"] * 2 + ["invoke_agent refund-denied"]
    assert {span["parentSpanId"] for span in spans if span is not root} == {root["spanId"]}


def test_exemplars_lead_to_traces(stack: Stack) -> None:
    """Each trace that an exemplar names is in Jaeger, with the very span."""
    query = 'gen_ai_client_inference_duration_seconds_bucket{service_name="otel-agent-demo"}'
    now = time.time()
    answer = fetch_json(f"{stack.prometheus}/api/v1/query_exemplars", query=query, start=str(now - 600), end=str(now))
    labels = [each["labels"] for series in answer["data"] for each in series["exemplars"]]
    assert len(labels) > 5
    for each in labels:
        found = backends.spans(backends.trace(stack, int(each["trace_id"], 16)))
        assert each["span_id"] in {span["spanId"] for span in found}


def test_every_record_is_in_the_log_store(stack: Stack) -> None:
    """As many runs as the demo has, each with the service's name and the id of its instance."""
    runs = backends.log_lines(stack, f'event_name:="{s.EVENT_OTEL_AGENT_RUN_STARTED}"')
    assert sorted(run[s.GEN_AI_AGENT_NAME] for run in runs) == sorted(scenario.name for scenario in SCENARIOS)
    assert {SERVICE} == {run[s.SERVICE_NAME] for run in runs}
    assert 1 == len({run[s.SERVICE_INSTANCE_ID] for run in runs})
