"""Long lives, hard ends, and values that spoil a batch."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import openai
import pytest

import otel_agent
from otel_agent.testing import Standin, capture
from otel_agent.testing.standin import RawBlock, Reply, Text, ToolUse

from .receiving import Collector, wait_until
from .starting import PROGRAMS, PYTHON, environment, ok, program

CHAT: Any = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "Where?"}]}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_has_left_its_start_and_its_finished_calls(provider: Standin, collector: Collector) -> None:
    """Case 101: found as started and never finished; no span is exported twice."""
    delays = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_BLRP_SCHEDULE_DELAY": "50"}
    command = [PYTHON, str(PROGRAMS / "crashing.py"), provider.url()]
    with subprocess.Popen(command, env=environment(collector.http, **delays)) as running:
        try:
            turns = collector.wait_for("model_turn", 2, 60)
            (started,) = collector.wait_for("run_started", 1)
            wait_until(lambda: len(collector.spans) == 2)
        finally:
            running.kill()
    assert {turn["otel_agent.run.id"] for turn in turns} == {started["otel_agent.run.id"]}
    assert collector.facts("agent_run") == []
    ids = [span["spanId"] for span in collector.spans]
    assert len(ids) == len(set(ids)) == 2


def test_nothing_is_kept_of_ten_thousand_runs(collector: Collector) -> None:
    """Cases 077, 078: maps empty, threads none more, memory flat, a third of the runs failing and a third cancelled."""
    said = json.loads(ok(program("endurance", 10_000, env=environment(collector.http), seconds=300)).out)
    assert said["left"] == {"runs": 0, "waiting": 0, "taps": 0, "raw": 0, "threads": 0}
    assert said["sizes"][-1] - said["sizes"][2] < 12_000_000, said["sizes"]
    reasons = [run["otel_agent.run.end_reason"] for run in collector.facts("agent_run")]
    assert {"error", "cancelled", "answered"} == set(reasons)


def test_setting_up_again_and_again_starts_no_threads(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 078: a hundred set-ups and ends."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.http)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    before = threading.active_count()
    for _ in range(20):
        for _ in range(5):
            otel_agent.instrument()
        otel_agent.uninstrument()
    assert threading.active_count() <= before + 1


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> Iterator[Collector]:
    """Our own providers, exporting in this process."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.http)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "64")
    monkeypatch.setenv("OTEL_AGENT_DIGEST_KEY", "0123456789abcdef")
    otel_agent.instrument()
    yield collector
    otel_agent.uninstrument()


def test_one_bad_name_does_not_take_the_batch_with_it(own: Collector, provider: Standin) -> None:
    """Case 094: a lone surrogate as a tool's name, an id and a model, among ten good calls."""
    bad = {"type": "function", "id": "call_\ud83e", "function": {"name": "\ud83e", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [bad]}
    provider.script("bad", [Reply([RawBlock({"openai.chat": message})], model="gpt-\ud83e")])
    with openai.OpenAI(base_url=f"{provider.url()}/v1", api_key="none") as client:
        for number in range(11):
            url = f"{provider.url('bad')}/v1" if number == 5 else f"{provider.url()}/v1"
            client.with_options(base_url=url).chat.completions.create(**CHAT)
    assert otel_agent.flush(20.0)
    assert len(own.spans) == len(own.facts("model_turn")) == 11
    assert {turn["otel_agent.usage.state"] for turn in own.facts("model_turn")} <= {"complete", "missing"}


def test_a_length_limit_cuts_no_structure(own: Collector, provider: Standin) -> None:
    """Case 102: limit 64 and ten tools: arrays of whole names. A digest is longer than that, and is cut as the host asked."""
    names = [f"find_order_number_{number}" for number in range(10)]
    provider.script("*", [Reply([ToolUse(name, {"order": "A1"}) for name in names])])
    tools: Any = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]
    with openai.OpenAI(base_url=f"{provider.url()}/v1", api_key="none") as client:
        client.chat.completions.create(tools=tools, **CHAT)
    assert otel_agent.flush(20.0)
    for attributes in (own.spans[0]["attributes"], own.facts("model_turn")[0]):
        assert attributes["otel_agent.tools.offered_names"] == names
        assert attributes["otel_agent.response.tool_call_names"] == names
        assert not any(isinstance(value, str) and value[:1] in "{[" for value in attributes.values())


def test_ten_thousand_model_names_are_a_bounded_number_of_series(provider: Standin) -> None:
    """Case 104: our own cap, one overflow value, and every call still counted."""
    from otel_agent import adapters
    from otel_agent.instrument import calls

    provider.script("*", lambda request: Reply([Text("Yes.")]))
    assert adapters.lookup("post", "/chat/completions") is not None
    with capture() as telemetry:
        for number in range(10_000):
            call = calls.begin(object.__new__(Nobody), "post", "/chat/completions", {**CHAT, "model": f"model-{number}"})
            assert call is not None
            call.succeed({"model": f"model-{number}", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
        points = telemetry.points("otel_agent.turns")
        assert sum(point["value"] for point in points) == 10_000
        assert len({point["attributes"]["gen_ai.request.model"] for point in points}) == 201
        assert "_OTHER" in {point["attributes"]["gen_ai.request.model"] for point in points}
        assert telemetry.total("otel_agent.self.events", otel_agent__self__kind="dropped", otel_agent__self__place="label") > 0
        assert len(telemetry.turns) == 10_000


class Nobody:
    """Stands for a client."""

    _base_url = "http://provider.test/v1"
