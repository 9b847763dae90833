"""The guard on the export side: wraps an exporter, and lets through what the allow-list names.

Other instrumentations in the process may write prompts, answers and reasoning into their spans, and an exporter sees all scopes. These
wrappers cover every place a string can hide in the SDK's own objects: attributes of spans, events, links, resources, scopes, data points
and exemplars; names; status messages; trace state; log bodies. A host that owns its SDK wraps its own exporters with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from opentelemetry._logs import LogRecord
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics.export import (
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, Status

from otel_agent import guard, semconv
from otel_agent.allowlist import EVENT_NAMES, SEVERITIES, Allowlist, Checks, load
from otel_agent.tally import tally

T = TypeVar("T")
Result = TypeVar("Result", SpanExportResult, LogRecordExportResult, MetricExportResult)
Told = Callable[[bool], object]
"""Is told of each export whether it was taken."""
About = Callable[[Resource], Resource]
"""The resource to export in the place of another."""
Values = Mapping[str, Any]

EXCEPTION_TYPE: Final = "exception.type"
NO_SCOPE: Final = InstrumentationScope("other")


def kept(attributes: Values | None, checks: Checks, place: str) -> dict[str, Any]:
    """The attributes that ``checks`` allow; the rest is counted under ``place``."""
    given = attributes or {}
    found = {key: value for key, value in given.items() if (check := checks.get(key)) is not None and check(value)}
    if len(found) < len(given):
        tally("removed", place, len(given) - len(found))
    return found


class Filter:
    """One allow-list applied to the SDK's objects. Each method returns a new object; the host's own are not touched."""

    def __init__(self, rules: Allowlist, about: About | None = None) -> None:
        self._rules = rules
        self._about = about
        self._resources: dict[int, tuple[Resource, Resource]] = {}

    def resource(self, resource: Resource) -> Resource:
        """A resource without unlisted attributes (a process's command line may hold secrets). Remembered, since there are few."""
        resource = resource if self._about is None else self._about(resource)
        known = self._resources.get(id(resource))
        if known is None or known[0] is not resource:
            known = (resource, Resource(kept(resource.attributes, self._rules.resource, "resource"), self._schema(resource.schema_url)))
            self._resources[id(resource)] = known
        return known[1]

    def _schema(self, url: str | None) -> str | None:
        return url if url and (url == semconv.SCHEMA_URL or self._rules.schema_url(url)) else None

    def scope(self, scope: InstrumentationScope | None) -> InstrumentationScope:
        """A scope's name within its pattern, without attributes."""
        if scope is None:
            return NO_SCOPE
        schema = self._schema(scope.schema_url)
        if self._rules.is_own(scope.name):
            return InstrumentationScope(scope.name, scope.version if self._rules.scope_version(scope.version or "") else None, schema)
        return InstrumentationScope(self._rules.foreign_scope(scope.name), None, schema)

    def span(self, span: ReadableSpan) -> ReadableSpan:
        """A span with listed attributes, its name checked, no messages, no trace state."""
        scope = span.instrumentation_scope
        own = scope is not None and self._rules.is_own(scope.name)
        rules = self._rules
        attributes = kept(span.attributes, rules.own.span if own else rules.foreign.span, "span")
        operation = attributes.get(semconv.GEN_AI_OPERATION_NAME)
        return ReadableSpan(
            name=rules.own_span(span.name, operation) if own else rules.foreign_span(span.name),
            context=bare(span.context),
            parent=bare(span.parent),
            resource=self.resource(span.resource),
            attributes=attributes,
            events=[self._event(event) for event in span.events if event.name in EVENT_NAMES],
            links=[Link(linked) for link in span.links if (linked := bare(link.context)) is not None],
            kind=span.kind,
            status=Status(span.status.status_code),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=self.scope(scope),
        )

    def _event(self, event: Event) -> Event:
        checks = {EXCEPTION_TYPE: self._rules.exception_type}
        return Event(event.name, kept(event.attributes, checks, "event"), event.timestamp)

    def log(self, item: ReadableLogRecord) -> ReadableLogRecord | None:
        """A log record with listed attributes and no body; ``None`` when our own scope has no such event."""
        scope, record, rules = item.instrumentation_scope, item.log_record, self._rules
        own = scope is not None and rules.is_own(scope.name)
        name = record.event_name
        if own and not rules.own.event_name(name):
            tally("removed", "log")
            return None
        cleaned = LogRecord(
            timestamp=record.timestamp,
            observed_timestamp=record.observed_timestamp,
            severity_number=record.severity_number,
            severity_text=record.severity_text if record.severity_text in SEVERITIES else None,
            attributes=kept(record.attributes, rules.own.log if own else rules.foreign.log, "log"),
            event_name=name if own or (name and rules.foreign_name(name)) else None,
        )
        cleaned.trace_id, cleaned.span_id, cleaned.trace_flags = record.trace_id, record.span_id, record.trace_flags
        return ReadableLogRecord(cleaned, self.resource(item.resource), self.scope(scope))

    def metrics(self, data: MetricsData) -> MetricsData:
        """Metric data with listed names, labels and our own descriptions."""
        return MetricsData([self._resource_metrics(each) for each in data.resource_metrics])

    def _resource_metrics(self, each: ResourceMetrics) -> ResourceMetrics:
        scopes = [self._scope_metrics(scope) for scope in each.scope_metrics]
        return ResourceMetrics(self.resource(each.resource), scopes, self._schema(each.schema_url) or "")

    def _scope_metrics(self, each: ScopeMetrics) -> ScopeMetrics:
        own = self._rules.is_own(each.scope.name)
        found = [cleaned for metric in each.metrics if (cleaned := self._metric(metric, own)) is not None]
        return ScopeMetrics(self.scope(each.scope), found, self._schema(each.schema_url) or "")

    def _metric(self, metric: Metric, own: bool) -> Metric | None:
        rules = self._rules
        if not (rules.own.metric_name if own else rules.foreign.metric_name)(metric.name):
            tally("removed", "metric")
            return None
        checks = rules.own.metric if own else rules.foreign.metric
        unit = metric.unit or ""
        unit, description = rules.metric_text.get(metric.name, (unit if rules.unit(unit) else "", ""))
        points = [_point(point, checks) for point in metric.data.data_points]
        data: Any = metric.data
        return Metric(metric.name, description, unit, replace(data, data_points=points))


def _point(point: Any, checks: Checks) -> Any:
    exemplars = [replace(exemplar, filtered_attributes={}) for exemplar in point.exemplars]
    return replace(point, attributes=kept(point.attributes, checks, "point"), exemplars=exemplars)


def bare(context: SpanContext | None) -> SpanContext | None:
    """A span context without trace state, which any upstream may have filled."""
    return None if context is None else SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)


def _filter(rules: Allowlist | None, about: About | None) -> Filter:
    return Filter(load() if rules is None else rules, about)


def _tell(told: Told | None, export: Callable[[], Result]) -> Result:
    """Export, and tell whether it was taken; an exporter that raises has not taken it."""
    taken = False
    try:
        result = export()
        taken = result.name == "SUCCESS"
    finally:
        if told is not None:
            told(taken)
    return result


def _each(place: str, function: Any, items: Sequence[T]) -> list[T]:
    """Filter one by one: an item that cannot be filtered is not exported, and does not take the batch with it."""
    return [found for item in items if (found := guard.run(place, function, item)) is not None]


class GuardedSpanExporter(SpanExporter):
    """A span exporter behind the guard. ``rules``: an allow-list, by default the one shipped with the package."""

    def __init__(
        self, exporter: SpanExporter, rules: Allowlist | None = None, *, told: Told | None = None, about: About | None = None
    ) -> None:
        self._exporter = exporter
        self._filter = _filter(rules, about)
        self._told = told

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Filter, then export. Nothing goes on unfiltered."""
        return _tell(self._told, lambda: self._exporter.export(_each("export.span", self._filter.span, spans)))

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the exporter."""
        return self._exporter.force_flush(timeout_millis)


class GuardedLogExporter(LogRecordExporter):
    """A log record exporter behind the guard."""

    def __init__(
        self, exporter: LogRecordExporter, rules: Allowlist | None = None, *, told: Told | None = None, about: About | None = None
    ) -> None:
        self._exporter = exporter
        self._filter = _filter(rules, about)
        self._told = told

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Filter, then export. Nothing goes on unfiltered."""
        return _tell(self._told, lambda: self._exporter.export(_each("export.log", self._filter.log, batch)))

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the exporter, as far as it can be."""
        return self._exporter.force_flush(timeout_millis)


class GuardedMetricExporter(MetricExporter):
    """A metric exporter behind the guard."""

    def __init__(
        self, exporter: MetricExporter, rules: Allowlist | None = None, *, told: Told | None = None, about: About | None = None
    ) -> None:
        super().__init__(exporter._preferred_temporality, exporter._preferred_aggregation)  # noqa: SLF001 - no public reader exists
        self._exporter = exporter
        self._filter = _filter(rules, about)
        self._told = told

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        """Filter, then export. Nothing goes on unfiltered."""
        return _tell(self._told, lambda: self._export(metrics_data, timeout_millis, **kwargs))

    def _export(self, metrics_data: MetricsData, timeout_millis: float, **kwargs: Any) -> MetricExportResult:
        data = guard.run("export.metric", self._filter.metrics, metrics_data)
        if data is None:
            return MetricExportResult.FAILURE
        return self._exporter.export(data, timeout_millis, **kwargs)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown(timeout_millis, **kwargs)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Flush the exporter."""
        return self._exporter.force_flush(timeout_millis)
