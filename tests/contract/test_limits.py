"""What is kept stays small: maps are emptied, attributes are short, lengths beside digests are bands."""

from __future__ import annotations

import gc
import json
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_agent
from otel_agent import history
from otel_agent.instrument import raw, state, streams
from otel_agent.settings import Settings
from otel_agent.testing import TEST_KEY, Capture, Standin, capture
from otel_agent.testing.standin import Reply, Text, ToolUse

from .drivers import Driver
from .streams import settle
from .ways import MESSAGES

TEN: dict[str, Any] = {
    "tools": [{"name": f"tool_number_{number}", "input_schema": {"type": "object", "properties": {}}} for number in range(10)]
}


async def test_maps_are_empty_in_the_end(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 077: runs of which a third fail and a third are cancelled, tools never answered, streams left lying: nothing stays behind."""
    standin.script("*", [Reply([ToolUse("tool_number_1", {}), Text("Oslo")])], after="repeat")
    messages = driver.client("anthropic", standin).messages
    for number in range(30):
        error = (None, ValueError, KeyboardInterrupt)[number % 3]
        try:
            with otel_agent.agent_run("many"):
                await driver.step(await driver.done(messages.create(stream=True, **MESSAGES, **TEN)))
                await driver.done(messages.create(**MESSAGES, **TEN))
                if error is not None:
                    raise error
        except (ValueError, KeyboardInterrupt):
            continue
    await settle()
    assert (len(state._WAITING), len(streams._taps), len(raw._waiting)) == (0, 0, 0)
    assert len(telemetry.runs) == 30
    assert len(telemetry.turns) == 60


async def test_a_finished_run_holds_no_messages(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 077: log records that wait for an exporter keep their context, and with it nothing of the conversation."""
    standin.script("*", [Reply([Text("Oslo")])])
    with otel_agent.agent_run("brief"):
        await driver.done(driver.client("anthropic", standin).messages.create(**MESSAGES))
        assert [found for found in gc.get_objects() if type(found) is history.Line]
    await settle()
    assert not [found for found in gc.get_objects() if type(found) is history.Line]
    assert len(telemetry.runs) == 1


@pytest.mark.parametrize("error", [None, ValueError])
def test_a_run_leaves_nothing_to_the_garbage_collector(error: type[Exception] | None) -> None:
    """It goes when the last that knows of it does: a process of many runs is not stopped to look for them."""
    find = otel_agent.tool("find", effect="read")(lambda number: number)
    otel_agent.instrument(TracerProvider(), MeterProvider(), LoggerProvider(), settings=Settings(digest_key=TEST_KEY))
    gc.collect()
    gc.disable()
    before = set(map(id, gc.get_objects()))
    try:
        with suppress(ValueError), otel_agent.agent_run("brief") as active:
            find(1)
            if error is not None:
                raise error
        del active
        assert not [found for found in gc.get_objects() if type(found) is state.Run and id(found) not in before]
    finally:
        gc.enable()
        otel_agent.uninstrument()


def test_a_run_remembers_no_more_than_it_must(telemetry: Capture) -> None:
    """Case 077: a run of a great many distinct calls is bounded, and says what it let go."""
    from otel_agent import repeats

    find = otel_agent.tool("find")(lambda number: number)
    with pytest.MonkeyPatch.context() as patch, otel_agent.agent_run("busy"):
        patch.setattr(repeats, "MAX_CALLS", 5)
        for number in range(8):
            find(number)
    assert telemetry.total("otel_agent.self.events", otel_agent__self__kind="dropped") == 3


async def test_a_limit_on_attributes_breaks_nothing(driver: Driver, standin: Standin) -> None:
    """Case 102: ten tools under a limit of 64 characters are ten whole names; no attribute is a JSON text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(span_limits=SpanLimits(max_attribute_length=64))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    standin.script("*", [Reply([Text("Oslo")])])
    with capture() as telemetry:
        otel_agent.instrument(provider, telemetry._memory.meter, telemetry._memory.logger, settings=Settings(digest_key=TEST_KEY))
        await driver.done(driver.client("anthropic", standin).messages.create(**MESSAGES, **TEN))
    (span,) = exporter.get_finished_spans()
    assert span.attributes["otel_agent.tools.offered_names"] == tuple(tool["name"] for tool in TEN["tools"])
    texts = [value for value in span.attributes.values() if isinstance(value, str)]
    assert not [text for text in texts if text[:1] in '[{"']
    assert json.loads(json.dumps(dict(span.attributes)))


def test_no_exact_length_beside_a_digest(telemetry: Capture) -> None:
    """Case 065: arguments of different lengths have the same band, and no other number tells them apart."""
    find = otel_agent.tool("find")(lambda pin: None)
    find("1234")
    find("123456789")
    one, other = telemetry.tools
    different = {name for name in one if one[name] != other.get(name)}
    assert different == {"otel_agent.tool.arguments_digest", "otel_agent.tool.argument_digests", "otel_agent.duration"}


def test_digests_can_be_switched_off() -> None:
    """Case 064: without digests there are none, and everything else is there."""
    with capture(settings=Settings(digests=False)) as telemetry, otel_agent.agent_run("plain"):
        find = otel_agent.tool("find")(lambda pin: pin)
        assert find("1234") == "1234"
        assert not [name for name in telemetry.tools[0] if "digest" in name]
        assert telemetry.tools[0]["otel_agent.tool.outcome"] == "ok"
