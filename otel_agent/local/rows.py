"""Guarded OTLP requests as rows: one tuple per record, in the column order of :mod:`otel_agent.local.tables`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from otel_agent.local.tables import EXEMPLARS, LOGS, POINTS, SPANS
from otel_agent.local.values import as_json, plain

Row = tuple[object, ...]
Rows = dict[str, list[Row]]

SERVICE: Final = "service.name"
LARGEST: Final = 2**63 - 1

KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
STATUSES: Final = ("unset", "ok", "error")
TEMPORALITIES: Final = (None, "delta", "cumulative")
NO_VALUE: Final = 1
"""Data point flag: the series ended, there is no value."""


def _named(names: tuple[Any, ...], number: int) -> Any:
    return names[number] if 0 <= number < len(names) else names[0]


def _nanos(value: int) -> int | None:
    """A time as sent; ``None`` for 0, which means unknown, and for what no clock shows."""
    return value if 0 < value <= LARGEST else None


def _hex(value: bytes) -> str | None:
    return value.hex() if any(value) else None


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _sender(group: Any, scoped: Any, received: datetime) -> Row:
    attributes = group.resource.attributes
    service = next((plain(pair.value) for pair in attributes if pair.key == SERVICE), None)
    return (service if isinstance(service, str) else None, scoped.scope.name or None, as_json(attributes), received)


def _walk(groups: Iterable[Any], scopes: str, records: str, received: datetime) -> Iterator[tuple[Row, Any]]:
    for group in groups:
        for scoped in getattr(group, scopes):
            sender = _sender(group, scoped, received)
            for record in getattr(scoped, records):
                yield sender, record


def _events(span: Any) -> str | None:
    found = [
        {"name": event.name, "time_unix_nano": event.time_unix_nano, **{pair.key: plain(pair.value) for pair in event.attributes}}
        for event in span.events
    ]
    return json.dumps(found) if found else None


def _links(span: Any) -> str | None:
    found = [{"trace_id": link.trace_id.hex(), "span_id": link.span_id.hex()} for link in span.links]
    return json.dumps(found) if found else None


def _span(span: Any) -> Row:
    return (
        span.trace_id.hex(), span.span_id.hex(), _hex(span.parent_span_id), span.name, _named(KINDS, span.kind),
        _nanos(span.start_time_unix_nano), _nanos(span.end_time_unix_nano), _named(STATUSES, span.status.code),
        as_json(span.attributes), _events(span), _links(span),
    )  # fmt: skip


def span_rows(request: Any) -> Rows:
    """Rows of ``spans``."""
    return {SPANS: [_span(span) + sender for sender, span in _walk(request.resource_spans, "scope_spans", "spans", _now())]}


def _log(record: Any) -> Row:
    return (
        record.event_name or None, _nanos(record.time_unix_nano) or _nanos(record.observed_time_unix_nano),
        _hex(record.trace_id), _hex(record.span_id), record.severity_number, record.severity_text or None,
        as_json(record.attributes),
    )  # fmt: skip


def log_rows(request: Any) -> Rows:
    """Rows of ``logs``."""
    return {LOGS: [_log(record) + sender for sender, record in _walk(request.resource_logs, "scope_logs", "log_records", _now())]}


def _optional(message: Any, field: str) -> Any:
    return getattr(message, field) if message.HasField(field) else None


def _number(point: Any) -> float | None:
    kind = point.WhichOneof("value")
    return float(getattr(point, kind)) if kind else None


_EMPTY: Final = (None,) * 6


def _number_values(point: Any) -> Row:
    return (_number(point), None, None, None, None, None, None, *_EMPTY)


def _histogram_values(point: Any) -> Row:
    return (
        None, point.count, _optional(point, "sum"), _optional(point, "min"), _optional(point, "max"),
        list(point.bucket_counts), list(point.explicit_bounds), *_EMPTY,
    )  # fmt: skip


def _exponential_values(point: Any) -> Row:
    return (
        None, point.count, _optional(point, "sum"), _optional(point, "min"), _optional(point, "max"), None, None,
        point.scale, point.zero_count, point.positive.offset, list(point.positive.bucket_counts),
        point.negative.offset, list(point.negative.bucket_counts),
    )  # fmt: skip


def _summary_values(point: Any) -> Row:
    return (None, point.count, point.sum, None, None, None, None, *_EMPTY)


_VALUES: Final[Mapping[str, Any]] = {
    "gauge": _number_values,
    "sum": _number_values,
    "histogram": _histogram_values,
    "exponential_histogram": _exponential_values,
    "summary": _summary_values,
}
_NOTHING: Final = (None,) * 13


def _head(metric: Any, kind: str, data: Any) -> Row:
    temporality = _named(TEMPORALITIES, getattr(data, "aggregation_temporality", 0))
    return (metric.name, kind, metric.unit or None, temporality, getattr(data, "is_monotonic", None))


def _point(head: Row, kind: str, point: Any, attributes: str | None) -> Row:
    values = _NOTHING if point.flags & NO_VALUE else _VALUES[kind](point)
    return (*head, _nanos(point.start_time_unix_nano), _nanos(point.time_unix_nano), *values, attributes)


def _exemplar(name: str, exemplar: Any, attributes: str | None) -> Row:
    return (
        name, _number(exemplar), _nanos(exemplar.time_unix_nano), _hex(exemplar.trace_id), _hex(exemplar.span_id), attributes,
    )  # fmt: skip


def point_rows(request: Any) -> Rows:
    """Rows of ``points``, and of ``exemplars`` with their point's attributes."""
    rows: Rows = {POINTS: [], EXEMPLARS: []}
    for sender, metric in _walk(request.resource_metrics, "scope_metrics", "metrics", _now()):
        kind = metric.WhichOneof("data")
        if kind is None:
            continue
        data = getattr(metric, kind)
        head = _head(metric, kind, data)
        for point in data.data_points:
            attributes = as_json(point.attributes)
            rows[POINTS].append(_point(head, kind, point, attributes) + sender)
            exemplars = getattr(point, "exemplars", ())
            rows[EXEMPLARS].extend(_exemplar(metric.name, exemplar, attributes) + sender for exemplar in exemplars)
    return rows
