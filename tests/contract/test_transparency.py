"""Every way to call, with and without us: the same bytes out, the same object back, exactly one record of it."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from otel_agent.testing import Capture, Standin, capture

from .drivers import Driver
from .ways import WAYS, Way

# Oldest openai: it serialises unknown parts of its own models with a warning.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

EVERY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


async def made(driver: Driver, way: Way, times: int = 1) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """What the caller gets and what goes over the wire, from a fresh provider."""
    with Standin(seed="same") as standin:
        way.prepare(standin, times)
        client = driver.client(way.sdk, standin)
        got = [item for _ in range(times) for item in await way.call(driver, client)]
        return got, [wire(request) for request in standin.requests]


FREE = {"host"}
"""Headers that may differ: the port, and the trace header that the anthropic SDK itself sends whenever a span is current."""


def wire(request: Any) -> tuple[Any, ...]:
    """A request as it was sent."""
    headers = [(name, value) for name, value in request.headers if name.lower() not in FREE]
    return request.method, request.target, headers, request.body


def dumped(model: pydantic.BaseModel) -> Any:
    """All that a model holds. Some models of old SDKs cannot be serialised by newer pydantic; their representation says as much."""
    try:
        return model.model_dump(mode="json", warnings=False)
    except TypeError:
        return repr(model)


def content(value: Any) -> Any:
    """A value that can be compared: models by everything they hold."""
    if isinstance(value, pydantic.BaseModel):
        return type(value), dumped(value), getattr(value, "_request_id", None)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return type(value), {name: content(inner) for name, inner in vars(value).items()}
    return value


def subset(record: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """The facts of ``record`` that are wanted."""
    return {name: record.get(name) for name in wanted}


@EVERY
async def test_the_caller_and_the_provider_see_no_difference(driver: Driver, way: Way) -> None:
    """Cases 002, 003, 006, 007, 021, 041: objects, types, chunks, headers and bodies are those of the bare SDK, also the second time."""
    bare = await made(driver, way, times=2)
    with capture() as telemetry:
        observed = await made(driver, way, times=2)
    assert [*map(content, observed[0])] == [*map(content, bare[0])]
    assert observed[1] == bare[1]
    assert len(telemetry.turns) == 2 * way.turns


@EVERY
async def test_one_record_with_the_facts(
    driver: Driver, way: Way, standin: Standin, telemetry: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    """Cases 002, 003, 007, 023, 027, 082, 086: one span and one log record a call, equal in what they say, and no line in the log."""
    way.prepare(standin)
    await way.call(driver, driver.client(way.sdk, standin))
    assert len(telemetry.turns) == way.turns
    last = telemetry.turns[-1]
    assert subset(last, way.facts) == way.facts
    assert not [name for name in way.absent if name in last]
    spans = [span for span in telemetry.spans if span["kind"] == "CLIENT"]
    assert [span["attributes"] for span in spans] == telemetry.turns
    assert spans[-1]["name"] == f"{last['gen_ai.operation.name']} {last['gen_ai.request.model']}"
    assert spans[-1]["status"] == "UNSET"
    records = [record for record in telemetry.records if record["event"] == "otel_agent.model_turn"]
    assert [record["span_id"] for record in records] == [span["span_id"] for span in spans]
    assert telemetry.total("otel_agent.turns") == way.turns
    assert telemetry.points("otel_agent.self.events") == []
    assert [record for record in caplog.records if record.name.startswith(("otel_agent", "opentelemetry"))] == []
