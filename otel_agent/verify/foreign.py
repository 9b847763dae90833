"""Plays the part of other instrumentations: spans, log records and metrics of foreign scopes with text wherever OTLP can hold it.

Sent through the global providers and without our export guard, so that only what the pipeline itself has stands in the way.
"""

from __future__ import annotations

from typing import Any, Final

from opentelemetry import metrics, trace
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Status, StatusCode, TraceState

from otel_agent.testing.canaries import Canaries
from otel_agent.verify import tools

SCOPE: Final = "opentelemetry.instrumentation.openai_v2"
KEPT: Final = "http.request.method"
"""The one label that the view of these metrics keeps; what it drops goes into exemplars."""

ATTRIBUTES: Final = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result", "gen_ai.request.model", "input.value", "output.value", "llm.prompts.0.content", "traceloop.entity.input",
)  # fmt: skip
"""Where instrumentations in use put text, and one place where text does not belong but fits."""


def resource(plant: Canaries) -> dict[str, str]:
    """Attributes of a resource, as a process detector adds them."""
    return {"process.command_line": plant["foreign.resource.attribute"], "note": plant["foreign.resource.attribute"]}


def play(plant: Canaries) -> None:
    """Emit one of everything."""
    spans(plant)
    with trace.get_tracer(SCOPE).start_as_current_span("GET"):
        logs(plant)
        measurements(plant)


def _values(plant: Canaries, name: str) -> dict[str, Any]:
    """Attributes by key: text, and lists of text."""
    text = plant[name]
    return {**dict.fromkeys(ATTRIBUTES, text), "list": [text, text], text: "in a key"}


def spans(plant: Canaries) -> None:
    """Spans with text in names, attributes, events, links, status, trace state and scope."""
    links = [Link(SpanContext(7, 7, is_remote=False), _values(plant, "foreign.link.attribute"))]
    within = trace.set_span_in_context(NonRecordingSpan(_stated(trace.get_current_span().get_span_context(), plant)))
    about = (plant["foreign.scope.version"], None, plant["foreign.scope.schema_url"], {"note": plant["foreign.scope.attribute"]})
    tracer = trace.get_tracer(SCOPE, *about)
    for name in ("chat", f"chat {plant['foreign.span.name']}", plant["foreign.span.name"]):
        with tracer.start_as_current_span(name, within, links=links, attributes=_values(plant, "foreign.span.attribute")) as span:
            _fill(span, plant)
    trace.get_tracer(plant["foreign.scope.name"]).start_span("chat").end()


def _stated(caller: SpanContext, plant: Canaries) -> SpanContext:
    """The caller with a trace state, which its spans inherit. A trace state takes no commas, so the bare token is written."""
    plant["foreign.span.trace_state"]
    state = TraceState([("note", plant.token("foreign.span.trace_state"))])
    return SpanContext(caller.trace_id, caller.span_id, is_remote=True, trace_flags=caller.trace_flags, trace_state=state)


def _fill(span: Any, plant: Canaries) -> None:
    span.add_event("gen_ai.choice", _values(plant, "foreign.event.attribute"))
    span.add_event(plant["foreign.event.name"])
    span.record_exception(ValueError(plant["foreign.exception.message"]))
    try:
        tools.raise_in_source(ValueError("x"), plant["foreign.exception.stacktrace"])
    except ValueError as error:
        span.record_exception(error)
    span.set_status(Status(StatusCode.ERROR, plant["foreign.status.message"]))


def logs(plant: Canaries) -> None:
    """Log records with text in bodies, plain and nested, attributes, event names and severity."""
    logger = get_logger(SCOPE)
    nested: Any = {"role": "assistant", "content": [{"type": "thinking", "text": plant["foreign.log.nested_body"]}]}
    bodies: tuple[Any, ...] = (plant["foreign.log.body"], nested, plant["foreign.log.body"].encode())
    for body in bodies:
        logger.emit(
            LogRecord(
                body=body,
                severity_number=SeverityNumber.INFO,
                severity_text=plant["foreign.log.severity_text"],
                attributes=_values(plant, "foreign.log.attribute"),
                event_name=plant["foreign.log.event_name"],
            )
        )


def measurements(plant: Canaries) -> None:
    """Metrics with text in descriptions, units, labels and exemplars. A unit has at most 63 characters."""
    meter = metrics.get_meter(SCOPE)
    plant["foreign.metric.unit"]
    unit = f"maybe {plant.token('foreign.metric.unit')} so"
    counter = meter.create_counter("http.client.verified", unit, plant["foreign.metric.description"])
    counter.add(1, {KEPT: plant["foreign.metric.label"], "note": plant["foreign.metric.exemplar"]})
    histogram = meter.create_histogram("http.client.request.duration", "s", plant["foreign.metric.description"])
    histogram.record(0.1, {KEPT: plant["foreign.metric.label"], "note": plant["foreign.metric.exemplar"]})
