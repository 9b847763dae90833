"""One record, three signals: a span (structure and time), metric points, and one log record (the audit line)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.context import Context, get_value, set_value
from opentelemetry.metrics import Meter
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode, Tracer, get_current_span, set_span_in_context

from otel_agent import guard, semconv
from otel_agent.emit.forms import Attributes, Facts, defaults, form
from otel_agent.emit.metrics import Meters
from otel_agent.records import ModelTurn, Record

OURS: Final = "otel-agent-spans"
"""Context key of the note that :func:`beside_host` leaves."""

_ERROR: Final = Status(StatusCode.ERROR)


@dataclass(slots=True)
class Started:
    """A record whose span has begun. ``context`` is the context in which the observed code runs, with this span current."""

    record: type[Record]
    span: Span
    context: Context
    attributes: Attributes


def beside_host(span: Span, parent: Context) -> Context:
    """``parent`` with a note of which current span is ours and which one the host would see in its place."""
    current, noted = get_current_span(parent), get_value(OURS, parent)
    host = noted[1] if isinstance(noted, tuple) and noted[0] is current else current
    return set_value(OURS, (span, host), parent)


def host_span(context: Context | None = None) -> tuple[Span, Span] | None:
    """Our current span and the host's in its place; ``None`` outside our spans."""
    noted = get_value(OURS, context)
    return noted if isinstance(noted, tuple) else None


class Emitter:
    """Takes facts of a record only, and lets none out that its form does not know; there is no call that takes a free attribute."""

    def __init__(self, tracer: Tracer, meter: Meter, logger: Logger, *, label_limit: int = 200, older_metrics: bool = False) -> None:
        self._tracer = tracer
        self._logger = logger
        self._meters = Meters(meter, label_limit, older_metrics)

    def begin(self, record: type[Record], subject: str | None, values: Facts, parent: Context, since: int | None = None) -> Started:
        """Start the span of a record to come, with every fact a sampler may need.

        ``subject`` ends the span's name (model, tool, agent); ``values`` are the facts known now. ``since``: nanoseconds
        of the clock at which it began, where that is over.
        """
        attributes = {**defaults(record, "begin"), **form(record, "begin").of(values)}
        operation = str(attributes.get(semconv.GEN_AI_OPERATION_NAME) or record.span_operation)
        name = f"{operation} {subject}" if subject else operation
        kind = SpanKind.CLIENT if record is ModelTurn else SpanKind.INTERNAL
        # A sampler or span processor of the host's that raises must not cost the record, here or at the end. What one adds to the
        # attributes it is shown is the span's, not the record's, hence the copy.
        span = guard.run("emit.span", self._tracer.start_span, name, parent, kind, attributes.copy(), None, since)
        if span is None:
            return Started(record, INVALID_SPAN, parent, attributes)
        return Started(record, span, set_span_in_context(span, beside_host(span, parent)), attributes)

    def finish(self, started: Started, values: Facts) -> None:
        """End the span and emit the metrics and the log record. Called once per :class:`Started`.

        ``values`` are the facts not given at the beginning; those that were may be given again.
        """
        record = started.record
        made = guard.run("emit.form", form(record, "finish").of, values)
        if made is None:  # a mistake of ours, which leaves no record; the span must not stay open
            guard.run("emit.span", started.span.end)
            return
        added = {**defaults(record, "finish"), **made}
        attributes = {**started.attributes, **added}  # before the span, which may be the host's, is shown any
        guard.run("emit.span", _end, started.span, added)
        self._emit(record, attributes, started.context)

    def event(self, record: type[Record], values: Facts, context: Context) -> None:
        """Emit a record that has no span of its own: metrics and a log record."""
        self._emit(record, {**defaults(record, "event"), **form(record, "event").of(values)}, context)

    def _emit(self, record: type[Record], attributes: Attributes, context: Context) -> None:
        # Each signal for itself: a meter that fails must not cost the audit line, nor a logger the sums of the run.
        guard.run("emit.metrics", self._meters.record, record, attributes, context)
        guard.run(
            "emit.log",
            self._logger.emit,
            timestamp=time.time_ns(),
            context=context,
            severity_number=SeverityNumber.INFO,
            attributes=attributes,
            event_name=record.event_name,
        )


def _end(span: Span, added: Attributes) -> None:
    if span.is_recording():
        span.set_attributes(added)
        if semconv.ERROR_TYPE in added:
            span.set_status(_ERROR)
    span.end()
