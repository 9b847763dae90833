"""Measuring in one run: the same providers, the same response, short blocks in turn, a ratio per round, the median of those.

Three ways to make the same calls: *bare*, *observed*, and *by hand*, where a request and a tool emit with the OTel SDK what observation
emits, at the same place. The floor is what that adds to the bare act; measured alone, in a tight loop, it would run on warmer caches than
any application has.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any, NamedTuple, Self
from unittest.mock import patch

import anthropic
from anthropic._base_client import SyncAPIClient
from anthropic.types import Message, RawMessageStreamEvent
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import get_current_span, set_span_in_context
from pydantic import TypeAdapter

import otel_agent
from otel_agent.emit.sums import Sums
from otel_agent.instrument import runtime
from otel_agent.records.metrics import METRICS, Metric
from otel_agent.sdk import Memory
from otel_agent.testing import TEST_KEY


class DropSpans(SpanProcessor):
    """An export pipeline that costs nothing, so that what is left is the SDK's and ours."""


class DropLogs(LogRecordProcessor):
    """The same for log records."""

    def on_emit(self, log_record: Any) -> None:
        """Drop it."""

    def shutdown(self) -> None:
        """Nothing to stop."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing to flush."""
        return True


class Providers:
    """Real SDK providers whose exporters drop everything, and a record of what one call emits."""

    def __init__(self) -> None:
        self.tracer = TracerProvider(shutdown_on_exit=False)
        self.tracer.add_span_processor(DropSpans())
        self.reader = InMemoryMetricReader()
        self.meter = MeterProvider([self.reader], shutdown_on_exit=False)
        self.logger = LoggerProvider(shutdown_on_exit=False)
        self.logger.add_log_record_processor(DropLogs())


RESPONSE = Message.model_validate(
    {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6",
        "content": [
            {"type": "thinking", "thinking": "hm " * 200, "signature": "sig" * 40},
            {"type": "text", "text": "Let me look that up for you. " * 4},
            {"type": "tool_use", "id": "toolu_01", "name": "find_order", "input": {"order": "A-1041"}},
        ],
        "stop_reason": "tool_use", "stop_sequence": None,
        "usage": {
            "input_tokens": 2000, "output_tokens": 300, "cache_read_input_tokens": 1500, "cache_creation_input_tokens": 100,
            "output_tokens_details": {"thinking_tokens": 150}, "service_tier": "standard",
        },
    }
)  # fmt: skip
RESPONSE._request_id = "req_01"  # as the SDK does with what comes over the wire
TOOLS = [
    {"name": f"tool_{at}", "description": "d" * 200, "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    for at in range(5)
] + [{"name": "find_order", "description": "d", "input_schema": {"type": "object"}}]  # fmt: skip


def message(at: int) -> dict[str, Any]:
    """A message of a tool loop."""
    if at % 2 == 0:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"tu_{at - 1}", "content": f"row {at} " * 30}]}
    blocks = [
        {"type": "text", "text": f"step {at}"},
        {"type": "tool_use", "id": f"tu_{at}", "name": "find_order", "input": {"order": f"A-{at}"}},
    ]
    return {"role": "assistant", "content": blocks}


def events(chunks: int) -> list[Any]:
    """A stream of ``chunks`` text deltas, as the SDK's own objects."""
    usage = {"input_tokens": 2000, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    opening = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    raw = [
        {"type": "message_start", "message": opening},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"piece {at} "}} for at in range(chunks)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": chunks}},
        {"type": "message_stop"},
    ]
    adapter: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    return [adapter.validate_python(event) for event in raw]


class Rig:
    """The real client and wrapper around a ``request`` that answers at once: what differs between observed and bare is ours alone."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.providers = Providers()
        self._make = make
        self._original = SyncAPIClient.__dict__["request"]

        def request(client: Any, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None) -> Any:
            return make()

        self._bare: Any = request

    def __enter__(self) -> Self:
        SyncAPIClient.request = self._bare
        otel_agent.instrument(
            self.providers.tracer, self.providers.meter, self.providers.logger, settings=otel_agent.Settings(digest_key=TEST_KEY)
        )
        self._observed = SyncAPIClient.__dict__["request"]
        self.providers.reader.collect()  # as a pipeline does now and then; counters are added up from the first time on
        return self

    def __exit__(self, *error: object) -> None:
        SyncAPIClient.request = self._observed
        otel_agent.uninstrument()
        SyncAPIClient.request = self._original

    def bare(self) -> None:
        """From here on nobody watches."""
        SyncAPIClient.request = self._bare

    def observed(self) -> None:
        """From here on we do."""
        SyncAPIClient.request = self._observed

    def by_hand(self, emit: Floor) -> None:
        """From here on a request emits its turn by hand."""
        make = self._make

        def request(client: Any, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None) -> Any:
            made = make()
            emit("chat")
            return made

        SyncAPIClient.request = request

    def floor(self, act: Callable[[], Any]) -> Floor:
        """What ``act`` emits, to be emitted by hand."""
        noted = Noted()
        memory = Memory()
        before = runtime.install(None)
        runtime.install(runtime.make(Recorded(memory.tracer, noted, memory.logger), otel_agent.Settings(digest_key=TEST_KEY)))
        self.observed()
        with patch.object(Sums, "add", _at_once):
            act()
        runtime.install(before)
        return Floor(self.providers, memory, noted.points)


class Recorded(NamedTuple):
    """Providers whose points are noted."""

    tracer: Any
    meter: Any
    logger: Any


class Point(NamedTuple):
    """One metric point, and the span in whose context it was recorded."""

    name: str
    value: float
    labels: dict[str, Any]
    span: int


class Noted:
    """A meter provider, meter and instrument in one, that notes every point."""

    def __init__(self, name: str = "", points: list[Point] | None = None) -> None:
        self._name = name
        self.points: list[Point] = [] if points is None else points

    def get_meter(self, *_: Any, **__: Any) -> Noted:
        """Itself."""
        return self

    def create_counter(self, name: str, **_: Any) -> Noted:
        """An instrument that notes."""
        return Noted(name, self.points)

    create_histogram = create_counter

    def create_observable_counter(self, *_: Any, **__: Any) -> None:
        """Costs nothing per call."""

    def add(self, value: float, attributes: dict[str, Any], context: Any = None) -> None:
        """Note a point."""
        self.points.append(Point(self._name, value, attributes, get_current_span(context).get_span_context().span_id))

    record = add


@dataclass
class Unit:
    """What one record becomes: a span, its points and its log records."""

    name: str
    kind: Any
    attributes: dict[str, Any]
    points: list[tuple[Callable[..., None], float, dict[str, Any]]]
    logs: list[tuple[str | None, dict[str, Any]]]


class Floor:
    """The same spans, metric points and log records, made by hand with the OTel SDK: every point in the context of its span.

    Every counter is the SDK's own, as one writes it by hand; observation keeps some as :mod:`otel_agent.emit.sums`.
    """

    def __init__(self, providers: Providers, memory: Memory, points: list[Point]) -> None:
        self._tracer = providers.tracer.get_tracer("floor")
        self._logger = providers.logger.get_logger("floor")
        meter = providers.meter.get_meter("floor")
        kinds = {metric.name: metric for metric in METRICS}
        instruments = {point.name: _instrument(meter, kinds[point.name]) for point in points}
        units: dict[str, list[Unit]] = {}
        for span in memory.spans():
            at = span.get_span_context().span_id
            attributes = dict(span.attributes or {})
            own = [(instruments[point.name], point.value, point.labels) for point in points if point.span == at]
            logs = [item.log_record for item in memory.logs() if item.log_record.span_id == at]
            unit = Unit(span.name, span.kind, attributes, own, [(log.event_name, dict(log.attributes or {})) for log in logs])
            units.setdefault(span.name.partition(" ")[0], []).append(unit)
        self._next = {operation: cycle(each).__next__ for operation, each in units.items()}
        self.size = _size([unit for each in units.values() for unit in each])

    def __call__(self, operation: str) -> None:
        """Emit the next unit of ``operation``."""
        unit = self._next[operation]()
        span = self._tracer.start_span(unit.name, kind=unit.kind, attributes=dict(unit.attributes))
        context = set_span_in_context(span)
        span.end()
        for record, value, labels in unit.points:
            record(value, dict(labels), context)
        for event, facts in unit.logs:
            self._logger.emit(
                timestamp=time.time_ns(), context=context, severity_number=SeverityNumber.INFO, attributes=dict(facts), event_name=event
            )


def _at_once(sums: Sums, amount: float, labels: dict[str, Any], key: object, context: Any) -> None:
    """Stands in for :meth:`Sums.add` while points are noted: by hand each is a point on the SDK's own counter."""
    sums._send(amount, labels, context)


def _size(units: list[Unit]) -> str:
    width = round(statistics.mean(len(unit.attributes) for unit in units))
    points, logs = sum(len(unit.points) for unit in units), sum(len(unit.logs) for unit in units)
    return f"{len(units)} spans of {width} attributes, {points} points, {logs} log records"


def _instrument(meter: Any, metric: Metric) -> Callable[..., None]:
    if metric.kind == "counter":
        return meter.create_counter(metric.name, unit=metric.unit).add  # type: ignore[no-any-return]
    return meter.create_histogram(metric.name, unit=metric.unit, explicit_bucket_boundaries_advisory=metric.buckets).record  # type: ignore[no-any-return]


Measure = Callable[[Callable[[], Any], int], float]
"""``(act, how many times)``: what one act takes."""


def cpu_time(act: Callable[[], Any], repeat: int) -> float:
    """Microseconds of this thread's CPU time: what other work on the machine takes does not count."""
    begun = time.thread_time()
    for _ in range(repeat):
        act()
    return (time.thread_time() - begun) / repeat * 1e6


class Gauge(NamedTuple):
    """A way to measure, and how many rounds it needs."""

    measure: Measure
    rounds: int
    unit: str


CPU_TIME = Gauge(cpu_time, 60, "us")


def in_turn(blocks: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """The blocks in turn, so that a slow moment of the machine hits all of them; what each took, round by round."""
    seen: dict[str, list[float]] = {name: [] for name in blocks}
    for block in blocks.values():
        block()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, block in blocks.items():
                seen[name].append(block())
            gc.collect(0)
    finally:
        gc.enable()
        gc.unfreeze()
    return seen


CLIENT = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:1")
