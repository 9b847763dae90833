"""Measuring in one run: the same providers, the same response, blocks of calls in turn, medians, ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import anthropic
from anthropic._base_client import SyncAPIClient
from anthropic.types import Message, RawMessageStreamEvent
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import set_span_in_context
from pydantic import TypeAdapter

import otel_agent
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
        self.meter = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
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
        return self

    def __exit__(self, *error: object) -> None:
        SyncAPIClient.request = self._observed
        otel_agent.uninstrument()
        SyncAPIClient.request = self._original

    def block(self, observed: bool, measure: Callable[[], float]) -> Callable[[], float]:
        """``measure`` with or without us."""

        def run() -> float:
            SyncAPIClient.request = self._observed if observed else self._bare
            return measure()

        return run

    def floor(self, act: Callable[[], Any]) -> Floor:
        """What ``act`` emits, to be emitted by hand."""
        noted = Noted()
        memory = Memory()
        before = runtime.install(None)
        runtime.install(runtime.make(Recorded(memory.tracer, noted, memory.logger), otel_agent.Settings(digest_key=TEST_KEY)))
        SyncAPIClient.request = self._observed
        act()
        runtime.install(before)
        return Floor(self.providers, memory, noted.points)


class Recorded(NamedTuple):
    """Providers whose points are noted."""

    tracer: Any
    meter: Any
    logger: Any


class Noted:
    """A meter provider, meter and instrument in one, that notes every point."""

    def __init__(self, name: str = "", points: list[tuple[str, float, dict[str, Any]]] | None = None) -> None:
        self._name = name
        self.points: list[tuple[str, float, dict[str, Any]]] = [] if points is None else points

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
        self.points.append((self._name, value, attributes))

    record = add


class Floor:
    """The same spans, metric points and log records, made by hand with the OTel SDK."""

    def __init__(self, providers: Providers, memory: Memory, points: list[tuple[str, float, dict[str, Any]]]) -> None:
        self._tracer = providers.tracer.get_tracer("floor")
        self._logger = providers.logger.get_logger("floor")
        meter = providers.meter.get_meter("floor")
        self._spans = [(span.name, span.kind, dict(span.attributes or {})) for span in memory.spans()]
        self._logs = [(item.log_record.event_name, dict(item.log_record.attributes or {})) for item in memory.logs()]
        kinds = {metric.name: metric for metric in METRICS}
        made = {name: _instrument(meter, kinds[name]) for name, _, _ in points}
        self._points = [(made[name], value, attributes) for name, value, attributes in points]
        self.size = f"{len(self._spans)} spans of {_mean(self._spans)} attributes, {len(points)} points, {len(self._logs)} log records"

    def __call__(self) -> None:
        """Emit it once."""
        context = None
        for name, kind, attributes in self._spans:
            span = self._tracer.start_span(name, kind=kind, attributes=dict(attributes))
            context = set_span_in_context(span)
            span.end()
        for record, value, labels in self._points:
            record(value, dict(labels), context)
        for event, facts in self._logs:
            self._logger.emit(
                timestamp=time.time_ns(), context=context, severity_number=SeverityNumber.INFO, attributes=dict(facts), event_name=event
            )


def _mean(spans: list[Any]) -> int:
    return round(statistics.mean(len(attributes) for *_, attributes in spans))


def _instrument(meter: Any, metric: Metric) -> Callable[..., None]:
    if metric.kind == "counter":
        return meter.create_counter(metric.name, unit=metric.unit).add  # type: ignore[no-any-return]
    return meter.create_histogram(metric.name, unit=metric.unit, explicit_bucket_boundaries_advisory=metric.buckets).record  # type: ignore[no-any-return]


def timed(function: Callable[[], Any], repeat: int) -> float:
    """Microseconds of this thread's CPU time per call over one block: what other work on the machine takes does not count."""
    begun = time.thread_time()
    for _ in range(repeat):
        function()
    return (time.thread_time() - begun) / repeat * 1e6


def in_turn(functions: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The blocks in turn, so that a slow moment of the machine hits all of them; the lower quartile of each."""
    seen: dict[str, list[float]] = {name: [] for name in functions}
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, function in functions.items():
                seen[name].append(function())
            gc.collect(0)
    finally:
        gc.enable()
        gc.unfreeze()
    return {name: statistics.quantiles(values, n=4)[0] for name, values in seen.items()}


CLIENT = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:1")
