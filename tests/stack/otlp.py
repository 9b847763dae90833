"""Raw OTLP for tests of the pipeline: no SDK between the test and the wire, so anything can be put anywhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from tests.stack.http_client import fetch

Request = ExportTraceServiceRequest | ExportMetricsServiceRequest | ExportLogsServiceRequest

PATHS: Mapping[type, str] = {
    ExportTraceServiceRequest: "/v1/traces",
    ExportMetricsServiceRequest: "/v1/metrics",
    ExportLogsServiceRequest: "/v1/logs",
}
OWN_SCOPE = "otel_agent"
CUMULATIVE = 2


def any_value(value: Any) -> AnyValue:
    """Python value to OTLP: bool before int, lists of any of them."""
    if isinstance(value, AnyValue):
        return value
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[any_value(item) for item in value]))
    return AnyValue(string_value=value)


def attributes(values: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]


def resource(service: str) -> Resource:
    return Resource(attributes=attributes({"service.name": service}))


def scope(name: str) -> InstrumentationScope:
    return InstrumentationScope(name=name)


def span(trace: int, number: int, name: str, facts: Mapping[str, Any], parent: int = 0) -> Span:
    """A span that ended now; ids are numbers for readability."""
    now = time.time_ns()
    return Span(
        trace_id=trace.to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        parent_span_id=parent.to_bytes(8, "big") if parent else b"",
        name=name,
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=now - 1_000_000,
        end_time_unix_nano=now,
        attributes=attributes(facts),
    )


def traces(service: str, spans: Sequence[Span], scope_name: str = OWN_SCOPE) -> ExportTraceServiceRequest:
    by_scope = ScopeSpans(scope=scope(scope_name), spans=spans)
    return ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource(service), scope_spans=[by_scope])])


def record(event: str, facts: Mapping[str, Any], trace: int = 0) -> LogRecord:
    now = time.time_ns()
    return LogRecord(
        time_unix_nano=now,
        observed_time_unix_nano=now,
        severity_number=9,  # type: ignore[arg-type]
        severity_text="INFO",
        event_name=event,
        trace_id=trace.to_bytes(16, "big") if trace else b"",
        attributes=attributes(facts),
    )


def logs(service: str, records: Sequence[LogRecord], scope_name: str = OWN_SCOPE) -> ExportLogsServiceRequest:
    by_scope = ScopeLogs(scope=scope(scope_name), log_records=records)
    return ExportLogsServiceRequest(resource_logs=[ResourceLogs(resource=resource(service), scope_logs=[by_scope])])


def counter(name: str, value: int, facts: Mapping[str, Any], start: int) -> Metric:
    """A cumulative, monotonic sum with one point."""
    point = NumberDataPoint(start_time_unix_nano=start, time_unix_nano=time.time_ns(), as_int=value, attributes=attributes(facts))
    total = Sum(data_points=[point], aggregation_temporality=CUMULATIVE, is_monotonic=True)  # type: ignore[arg-type]
    return Metric(name=name, unit="{turn}", sum=total)


def metrics(service: str, items: Sequence[Metric], scope_name: str = OWN_SCOPE) -> ExportMetricsServiceRequest:
    by_scope = ScopeMetrics(scope=scope(scope_name), metrics=items)
    return ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(resource=resource(service), scope_metrics=[by_scope])])


def send(base: str, request: Request, headers: Mapping[str, str] | None = None) -> None:
    """POST one request; raises when it is not accepted."""
    content = {"Content-Type": "application/x-protobuf", **(headers or {})}
    fetch(base + PATHS[type(request)], request.SerializeToString(), content)
