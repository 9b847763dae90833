"""OTLP requests made by hand: spans, log records from record models, metrics; no SDK in between."""

from __future__ import annotations

import itertools
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from otel_agent.records import AgentRun, ModelTurn, Record, RunStarted, ToolExecution, facts

OWN = "otel_agent"
START = 1_800_000_000_000_000_000
SECOND = 1_000_000_000
_ids = itertools.count(1)


def any_value(value: Any) -> AnyValue:
    """A plain value as OTLP carries it."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, list | tuple):
        return AnyValue(array_value=ArrayValue(values=[any_value(item) for item in value]))
    return AnyValue(string_value=value)


def pairs(attributes: dict[str, Any]) -> list[KeyValue]:
    """Attributes as OTLP carries them."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def trace_id(number: int) -> bytes:
    """A trace id that counts."""
    return number.to_bytes(16, "big")


def span_id(number: int) -> bytes:
    """A span id that counts."""
    return number.to_bytes(8, "big")


TWENTY = {
    "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5.6-2026-08-01",
    "gen_ai.response.model": "gpt-5.6-2026-08-01", "server.address": "api.openai.com", "server.port": 443,
    "otel_agent.api": "responses", "otel_agent.provider.source": "derived", "otel_agent.run.id": "run-12", "otel_agent.run.turn": 3,
    "gen_ai.agent.name": "refunds", "gen_ai.request.max_tokens": 4096, "gen_ai.usage.input_tokens": 1200,
    "gen_ai.usage.output_tokens": 300, "gen_ai.usage.reasoning.output_tokens": 120, "gen_ai.response.finish_reasons": ["stop"],
    "otel_agent.response.truncated": False, "otel_agent.usage.state": "complete", "otel_agent.duration": 1.25,
    "gen_ai.response.id": "resp_0123456789abcdef",
}  # fmt: skip


def spans(count: int, first: int = 1, scope: str = OWN, attributes: dict[str, Any] | None = None) -> ExportTraceServiceRequest:
    """``count`` spans whose trace ids count up from ``first``."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.extend(pairs({"service.name": "shop"}))
    scoped = group.scope_spans.add()
    scoped.scope.name = scope
    given = pairs(TWENTY if attributes is None else attributes)
    for number in range(first, first + count):
        scoped.spans.add(
            trace_id=trace_id(number), span_id=span_id(number), name="chat gpt-5.6", kind=3, start_time_unix_nano=START,
            end_time_unix_nano=START + SECOND, attributes=given,
        )  # fmt: skip
    return request


def logs(*records: Record, trace: int = 0, at: int = START, scope: str = OWN) -> ExportLogsServiceRequest:
    """The audit lines of records, a second apart, each with a span id of its own."""
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.extend(pairs({"service.name": "shop"}))
    scoped = group.scope_logs.add()
    scoped.scope.name = scope
    for index, record in enumerate(records):
        given = {fact.name: getattr(record, field) for field, fact in facts(type(record)).items()}
        scoped.log_records.add(
            time_unix_nano=at + index * SECOND, event_name=record.event_name, severity_number=9, severity_text="INFO",
            trace_id=trace_id(trace or next(_ids)), span_id=span_id(next(_ids)),
            attributes=pairs({name: value for name, value in given.items() if value is not None}),
        )  # fmt: skip
    return request


def metrics(name: str = "otel_agent.turns", attributes: dict[str, Any] | None = None) -> ExportMetricsServiceRequest:
    """One counter of three points, one with an exemplar, and one histogram."""
    request = ExportMetricsServiceRequest()
    group = request.resource_metrics.add()
    group.resource.attributes.extend(pairs({"service.name": "shop"}))
    scoped = group.scope_metrics.add()
    scoped.scope.name = OWN
    counter = scoped.metrics.add(name=name)
    counter.sum.is_monotonic = True
    counter.sum.aggregation_temporality = 2
    given = pairs({"gen_ai.agent.name": "refunds"} if attributes is None else attributes)
    for number in range(3):
        point = counter.sum.data_points.add(as_int=number, time_unix_nano=START, start_time_unix_nano=START - SECOND, attributes=given)
    point.exemplars.add(as_int=2, time_unix_nano=START, trace_id=trace_id(7), span_id=span_id(7))
    histogram = scoped.metrics.add(name="gen_ai.client.inference.duration")
    histogram.histogram.aggregation_temporality = 2
    histogram.histogram.data_points.add(
        count=3, sum=4.5, min=0.5, max=2.5, bucket_counts=[1, 2, 0], explicit_bounds=[1.0, 5.0], time_unix_nano=START,
    )  # fmt: skip
    return request


def turn(run: str | None, number: int | None, **changes: Any) -> ModelTurn:
    """A turn that went well, but for ``changes``."""
    given: dict[str, Any] = {
        "run_id": run, "turn": number, "agent_name": "refunds", "operation": "chat", "api": "messages", "provider": "anthropic",
        "provider_source": "derived", "request_model": "claude-opus-5", "finish_reason": "stop", "truncated": False,
        "input_tokens": 1000, "output_tokens": 100, "usage_state": "complete", "duration": 0.5,
    }  # fmt: skip
    return ModelTurn(**{**given, **changes})


def tool(run: str | None, number: int | None, name: str = "get_order", **changes: Any) -> ToolExecution:
    """A tool execution that went well, but for ``changes``."""
    given: dict[str, Any] = {"run_id": run, "turn": number, "agent_name": "refunds", "tool": name, "outcome": "ok", "duration": 0.1}
    return ToolExecution(**{**given, **changes})


def started(run: str, agent: str = "refunds") -> RunStarted:
    """The beginning of a run."""
    return RunStarted(run_id=run, agent_name=agent)


def ended(run: str, agent: str = "refunds", **changes: Any) -> AgentRun:
    """The end of a run that answered, but for ``changes``."""
    given: dict[str, Any] = {
        "run_id": run, "agent_name": agent, "end_reason": "answered", "turns": 2, "tool_calls": 1, "tool_failures": 0,
        "truncated_turns": 0, "duration": 3.5, "input_tokens": 2000, "output_tokens": 200,
    }  # fmt: skip
    return AgentRun(**{**given, **changes})
