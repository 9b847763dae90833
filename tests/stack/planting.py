"""Canaries in every place of an OTLP message that can hold text.

The carriers are written out (which scopes, names, keys); everything else is found by walking the message's own
descriptor, so that a string field which a later OTLP adds is planted without anybody thinking of it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Exemplar,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
    Summary,
    SummaryDataPoint,
)

from tests.stack import otlp

CANARY = "canary 7f3a the customer sounds angry so I should refund without asking"
SCOPES = ("otel_agent", "anthropic", "opentelemetry.instrumentation.openai_v2", "opentelemetry.instrumentation.httpx", CANARY)
EVENTS = ("exception", "gen_ai.choice", CANARY)
KEYS = (
    "gen_ai.request.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.usage.input_tokens",
    "error.type",
    "exception.type",
    "exception.message",
    "exception.stacktrace",
    "gen_ai.output.messages",
    "gen_ai.input.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.agent.description",
    "otel_agent.response.truncated",
    "http.request.method",
    CANARY,
)


def values() -> Iterator[AnyValue]:
    """The canary as each kind of value."""
    text = AnyValue(string_value=CANARY)
    nested = AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="reasoning", value=text)]))
    yield text
    yield AnyValue(bytes_value=CANARY.encode())
    yield AnyValue(array_value=ArrayValue(values=[text]))
    yield nested
    yield AnyValue(array_value=ArrayValue(values=[nested]))


def carriers(offset: int) -> dict[str, Any]:
    """Every key with one of the kinds; another offset pairs them differently."""
    kinds = list(values())
    return {key: kinds[(offset + number) % len(kinds)] for number, key in enumerate(KEYS)}


def fill(message: Message) -> None:
    """Put the canary into every string that is still empty, in this message and below."""
    for field in message.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_STRING and field.containing_oneof is None:
            _fill_text(message, field)
        elif field.type == FieldDescriptor.TYPE_MESSAGE and (field.containing_oneof is None or message.HasField(field.name)):
            _fill_below(message, field)


def _fill_text(message: Message, field: FieldDescriptor) -> None:
    if field.is_repeated:
        getattr(message, field.name).append(CANARY)
    elif not getattr(message, field.name):
        setattr(message, field.name, CANARY)


def _fill_below(message: Message, field: FieldDescriptor) -> None:
    if field.is_repeated:
        below = getattr(message, field.name)
        if not below and field.message_type.name in ("KeyValue", "EntityRef"):
            below.add()
        for item in below:
            fill(item)
        return
    below = getattr(message, field.name)
    if isinstance(below, AnyValue):
        if below.WhichOneof("value") is None:
            below.string_value = CANARY
        return
    below.SetInParent()
    fill(below)


def traces(trace: int) -> otlp.Request:
    """Per scope: a span with a good name, one whose name is the canary, one whose name ends in it."""
    request = otlp.traces("canary", [])
    request.resource_spans[0].resource.attributes.extend(otlp.attributes(carriers(0)))
    del request.resource_spans[0].scope_spans[:]
    for offset, scope in enumerate(SCOPES):
        by_scope = request.resource_spans[0].scope_spans.add(scope=otlp.scope(scope))
        for number, name in enumerate(("chat gpt-5", CANARY, f"chat {CANARY}")):
            by_scope.spans.append(_planted_span(trace, 1 + offset * 10 + number, name, offset + number))
    fill(request)
    return request


def _planted_span(trace: int, number: int, name: str, offset: int) -> Any:
    span = otlp.span(trace, number, name, carriers(offset))
    span.status.code = 2  # type: ignore[assignment]
    for event in EVENTS:
        span.events.add(name=event, time_unix_nano=span.end_time_unix_nano, attributes=otlp.attributes(carriers(offset)))
    span.links.add(trace_id=b"\1" * 16, span_id=b"\2" * 8, attributes=otlp.attributes(carriers(offset)))
    return span


def logs(trace: int) -> otlp.Request:
    """Per scope: our event, a foreign event, and one whose name is the canary; bodies of every kind."""
    request = otlp.logs("canary", [])
    del request.resource_logs[0].scope_logs[:]
    kinds = list(values())
    for offset, scope in enumerate(SCOPES):
        by_scope = request.resource_logs[0].scope_logs.add(scope=otlp.scope(scope))
        for number, event in enumerate(("otel_agent.model_turn", "gen_ai.choice", CANARY)):
            planted = otlp.record(event, carriers(offset + number), trace)
            planted.severity_text = CANARY if number else "INFO"
            planted.body.CopyFrom(kinds[(offset + number) % len(kinds)])
            by_scope.log_records.append(planted)
    fill(request)
    return request


def metrics(trace: int, start: int, now: int) -> otlp.Request:
    """Per scope: every kind of metric under a known name, and one whose name is the canary."""
    request = otlp.metrics("canary", [])
    del request.resource_metrics[0].scope_metrics[:]
    for offset, scope in enumerate(SCOPES):
        by_scope = request.resource_metrics[0].scope_metrics.add(scope=otlp.scope(scope))
        by_scope.metrics.extend(_planted_metrics(trace, offset, start, now))
    fill(request)
    return request


def _planted_metrics(trace: int, offset: int, start: int, now: int) -> Iterator[Metric]:
    exemplar = Exemplar(time_unix_nano=now, as_double=1, trace_id=trace.to_bytes(16, "big"), span_id=b"\1" * 8)
    exemplar.filtered_attributes.extend(otlp.attributes(carriers(offset)))
    point: dict[str, Any] = {
        "start_time_unix_nano": start, "time_unix_nano": now, "attributes": otlp.attributes(carriers(offset)),
    }  # fmt: skip
    number = NumberDataPoint(as_int=1, exemplars=[exemplar], **point)
    bars = HistogramDataPoint(count=1, sum=1, bucket_counts=[0, 1], explicit_bounds=[0.5], exemplars=[exemplar], **point)
    powers = ExponentialHistogramDataPoint(count=1, sum=1, zero_count=1, exemplars=[exemplar], **point)
    temporality: Any = otlp.CUMULATIVE
    total = Sum(data_points=[number], aggregation_temporality=temporality, is_monotonic=True)
    yield Metric(name="otel_agent.turns", sum=total)
    yield Metric(name="otel_agent.runs", sum=total)
    yield Metric(name=CANARY, sum=total)
    yield Metric(name="http.server.active", gauge=Gauge(data_points=[number]))
    histogram = Histogram(data_points=[bars], aggregation_temporality=temporality)
    yield Metric(name="gen_ai.client.inference.duration", histogram=histogram)
    exponential = ExponentialHistogram(data_points=[powers], aggregation_temporality=temporality)
    yield Metric(name="http.client.duration", exponential_histogram=exponential)
    yield Metric(name="http.server.size", summary=Summary(data_points=[SummaryDataPoint(count=1, sum=1, **point)]))


def found_in(text: str | bytes) -> bool:
    """Whether the canary is there: as it is, as bytes in JSON, or with its spaces written otherwise."""
    content = text if isinstance(text, bytes) else text.encode()
    marks = (CANARY.encode(), b"sounds angry", b"sounds+angry", b"sounds%20angry", b"sounds_angry", base64.b64encode(CANARY.encode()))
    return any(mark in content for mark in marks)
