"""The ingest guard: takes out of an OTLP request, in place, everything the allow-list does not name.

The last wall before the disk. It walks every place of the three signals where a string can hide; what it removes is counted by
*place*, a word of the closed set :data:`PLACES`. A *rejected* record is one that is dropped whole and must be reported to the
sender as such; a removed attribute is not. Numbers, flags and ids of the right length stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_agent.allowlist import EVENT_NAMES, SEVERITIES, Allowlist, Checks
from otel_agent.local.values import MANY, plain
from otel_agent.records import AgentRun, facts

Removed = Counter[str]

PLACES: Final = frozenset({
    "resource.attribute", "resource.entity_ref", "schema_url", "scope.name", "scope.version", "scope.attribute",
    "span", "span.name", "span.attribute", "span.trace_state", "span.status_message", "span.parent_id", "span.event",
    "span.event.attribute", "span.link", "span.link.attribute", "span.link.trace_state",
    "log", "log.body", "log.attribute", "log.event_name", "log.severity_text", "log.id",
    "metric", "metric.text", "metric.metadata", "point.attribute", "point.bucket", "exemplar", "exemplar.attribute", "exemplar.id",
})  # fmt: skip

TRACE_ID: Final = 16
SPAN_ID: Final = 8
OPERATION: Final = facts(AgentRun)["operation"].name
EXCEPTION_TYPE: Final = "exception.type"
FEW: Final = 16


def drop(items: Any, doomed: list[int]) -> int:
    """Delete by index, in order of size: many single deletions in a long array would cost its length each."""
    if len(doomed) <= FEW:
        for index in reversed(doomed):
            del items[index]
        return len(doomed)
    gone = set(doomed)
    order = iter(range(len(items)))
    items.sort(key=lambda _: next(order) in gone)
    del items[len(items) - len(doomed) :]
    return len(doomed)


def keep(items: Any, fits: Callable[[Any], bool]) -> int:
    """Delete what does not fit; the number deleted."""
    doomed = [index for index, item in enumerate(items) if not fits(item)]
    return drop(items, doomed) if doomed else 0


def _attributes(attributes: Any, checks: Checks, place: str, removed: Removed) -> None:
    if len(attributes) > MANY:
        removed[place] += len(attributes)
        del attributes[:]
        return
    doomed = []
    for index, pair in enumerate(attributes):
        check = checks.get(pair.key)
        if check is None or not check(plain(pair.value)):
            doomed.append(index)
    if doomed:
        removed[place] += drop(attributes, doomed)


def _clear(message: Any, field: str, place: str, removed: Removed) -> None:
    if getattr(message, field):
        message.ClearField(field)
        removed[place] += 1


def _empty(message: Any, field: str, place: str, removed: Removed) -> None:
    count = len(getattr(message, field))
    if count:
        message.ClearField(field)
        removed[place] += count


def _too_many(message: Any, field: str, place: str, removed: Removed) -> None:
    if len(getattr(message, field)) > MANY:
        _empty(message, field, place, removed)


def _schema_url(message: Any, allowed: Allowlist, removed: Removed) -> None:
    if message.schema_url and not allowed.schema_url(message.schema_url):
        _clear(message, "schema_url", "schema_url", removed)


def _resource(group: Any, allowed: Allowlist, removed: Removed) -> None:
    _attributes(group.resource.attributes, allowed.resource, "resource.attribute", removed)
    _empty(group.resource, "entity_refs", "resource.entity_ref", removed)
    _schema_url(group, allowed, removed)


def _scope(group: Any, allowed: Allowlist, removed: Removed) -> bool:
    """Clean the scope of one group; whether it is the project's own."""
    scope = group.scope
    own = allowed.is_own(scope.name)
    if not own and (name := allowed.foreign_scope(scope.name)) != scope.name:
        scope.name = name
        removed["scope.name"] += 1
    if not own or not allowed.scope_version(scope.version):
        _clear(scope, "version", "scope.version", removed)
    _empty(scope, "attributes", "scope.attribute", removed)
    _schema_url(group, allowed, removed)
    return own


def _known_ids(message: Any) -> bool:
    """Both ids have their length and are not all zero, which the protocol calls invalid."""
    trace_id, span_id = message.trace_id, message.span_id
    return len(trace_id) == TRACE_ID and len(span_id) == SPAN_ID and any(trace_id) and any(span_id)


def _ids(message: Any, place: str, removed: Removed) -> None:
    """Both ids or none: bytes of another length could be anything."""
    if (message.trace_id or message.span_id) and not _known_ids(message):
        message.ClearField("trace_id")
        message.ClearField("span_id")
        removed[place] += 1


def _event(event: Any, allowed: Allowlist, removed: Removed) -> None:
    _attributes(event.attributes, {EXCEPTION_TYPE: allowed.exception_type}, "span.event.attribute", removed)


def _link(link: Any, removed: Removed) -> None:
    _empty(link, "attributes", "span.link.attribute", removed)
    _clear(link, "trace_state", "span.link.trace_state", removed)


def _span_name(span: Any, own: bool, allowed: Allowlist, removed: Removed) -> None:
    if own:
        operation = next((plain(pair.value) for pair in span.attributes if pair.key == OPERATION), None)
        name = allowed.own_span(span.name, operation)
    else:
        name = allowed.foreign_span(span.name)
    if name != span.name:
        span.name = name
        removed["span.name"] += 1


def _span(span: Any, own: bool, allowed: Allowlist, removed: Removed) -> None:
    _attributes(span.attributes, allowed.own.span if own else allowed.foreign.span, "span.attribute", removed)
    _span_name(span, own, allowed, removed)
    _clear(span, "trace_state", "span.trace_state", removed)
    if span.parent_span_id and len(span.parent_span_id) != SPAN_ID:
        _clear(span, "parent_span_id", "span.parent_id", removed)
    if span.status.message:
        _clear(span.status, "message", "span.status_message", removed)
    _too_many(span, "events", "span.event", removed)
    _too_many(span, "links", "span.link", removed)
    if span.events:
        removed["span.event"] += keep(span.events, lambda event: event.name in EVENT_NAMES)
        for event in span.events:
            _event(event, allowed, removed)
    if span.links:
        removed["span.link"] += keep(span.links, _known_ids)
        for link in span.links:
            _link(link, removed)


def guard_traces(request: ExportTraceServiceRequest, allowed: Allowlist, removed: Removed) -> int:
    """Clean a trace request; the number of spans rejected (ids of the wrong length)."""
    rejected = 0
    for group in request.resource_spans:
        _resource(group, allowed, removed)
        for scoped in group.scope_spans:
            own = _scope(scoped, allowed, removed)
            rejected += keep(scoped.spans, _known_ids)
            for span in scoped.spans:
                _span(span, own, allowed, removed)
    removed["span"] += rejected
    request.DiscardUnknownFields()
    return rejected


def _log(record: Any, own: bool, allowed: Allowlist, removed: Removed) -> None:
    _attributes(record.attributes, allowed.own.log if own else allowed.foreign.log, "log.attribute", removed)
    if record.HasField("body"):
        record.ClearField("body")
        removed["log.body"] += 1
    if record.severity_text not in SEVERITIES:
        _clear(record, "severity_text", "log.severity_text", removed)
    if not own and not allowed.foreign_name(record.event_name):
        _clear(record, "event_name", "log.event_name", removed)
    _ids(record, "log.id", removed)


def guard_logs(request: ExportLogsServiceRequest, allowed: Allowlist, removed: Removed) -> int:
    """Clean a logs request; the number of records rejected (events the project's own scope does not have)."""
    rejected = 0
    for group in request.resource_logs:
        _resource(group, allowed, removed)
        for scoped in group.scope_logs:
            own = _scope(scoped, allowed, removed)
            if own:
                rejected += keep(scoped.log_records, lambda record: allowed.own.event_name(record.event_name))
            for record in scoped.log_records:
                _log(record, own, allowed, removed)
    removed["log"] += rejected
    request.DiscardUnknownFields()
    return rejected


def points(metric: Any) -> Iterable[Any]:
    """The data points of a metric of any kind."""
    kind = metric.WhichOneof("data")
    return getattr(metric, kind).data_points if kind else ()


def _buckets(point: Any, removed: Removed) -> None:
    for holder in (point, getattr(point, "positive", None), getattr(point, "negative", None)):
        for field in ("bucket_counts", "explicit_bounds"):
            if hasattr(holder, field):
                _too_many(holder, field, "point.bucket", removed)


def _point(point: Any, checks: Checks, removed: Removed) -> None:
    _attributes(point.attributes, checks, "point.attribute", removed)
    _buckets(point, removed)
    if not hasattr(point, "exemplars"):
        return
    _too_many(point, "exemplars", "exemplar", removed)
    for exemplar in point.exemplars:
        _empty(exemplar, "filtered_attributes", "exemplar.attribute", removed)
        _ids(exemplar, "exemplar.id", removed)


def _own_text(metric: Any, allowed: Allowlist) -> tuple[str, str]:
    return allowed.metric_text.get(metric.name, ("", ""))


def _foreign_text(metric: Any, allowed: Allowlist) -> tuple[str, str]:
    return (metric.unit if allowed.unit(metric.unit) else "", "")


def _metric(metric: Any, own: bool, allowed: Allowlist, removed: Removed) -> None:
    text = _own_text(metric, allowed) if own else _foreign_text(metric, allowed)
    if (metric.unit, metric.description) != text:
        metric.unit, metric.description = text
        removed["metric.text"] += 1
    _empty(metric, "metadata", "metric.metadata", removed)
    checks = allowed.own.metric if own else allowed.foreign.metric
    for point in points(metric):
        _point(point, checks, removed)


def _rejected_points(metrics: Any, own: bool, allowed: Allowlist) -> int:
    """Drop metrics of unknown name; the number of points that went with them."""
    named = allowed.own.metric_name if own else allowed.foreign.metric_name
    doomed = [index for index, metric in enumerate(metrics) if not named(metric.name)]
    lost = sum(len(list(points(metrics[index]))) for index in doomed)
    drop(metrics, doomed)
    return lost


def guard_metrics(request: ExportMetricsServiceRequest, allowed: Allowlist, removed: Removed) -> int:
    """Clean a metrics request; the number of data points rejected (metrics of unknown name)."""
    rejected = 0
    for group in request.resource_metrics:
        _resource(group, allowed, removed)
        for scoped in group.scope_metrics:
            own = _scope(scoped, allowed, removed)
            rejected += _rejected_points(scoped.metrics, own, allowed)
            for metric in scoped.metrics:
                _metric(metric, own, allowed, removed)
    removed["metric"] += rejected
    request.DiscardUnknownFields()
    return rejected
