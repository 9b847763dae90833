"""OTLP metrics that hold every metric of the vocabulary with every value of its closed attributes, and the pipeline's own series."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dashboards.names import PIPELINE, values
from otel_agent.records.metrics import METRICS, Metric

GAUGES: Final = ("otelcol_exporter_queue_size", "otelcol_exporter_queue_capacity", "otelcol_process_memory_rss", "otelcol_process_uptime")
OPEN: Final[Mapping[str, tuple[str, ...]]] = {
    "error.type": ("", "rate_limit_error"),
    "gen_ai.request.reasoning.level": ("", "high"),
    "gen_ai.response.model": ("m-2026-01-01", "m-2026-06-01"),
    "otel_agent.tool.cycle": ("2",),
    "otel_agent.self.place": ("adapter.response",),
}


def request(start: int, now: int, amount: int) -> Mapping[str, Any]:
    """An OTLP/JSON request: every counter at ``amount``, every histogram with ``amount`` observations in every bucket."""
    resource = {"attributes": [_attribute("service.name", "shop"), _attribute("service.instance.id", "shop-1")]}
    metrics = [*(_metric(metric, start, now, amount) for metric in METRICS), *_pipeline(start, now, amount)]
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"scope": {"name": "otel_agent"}, "metrics": metrics}]}]}


def _attribute(name: str, value: str) -> Mapping[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def _combinations(metric: Metric) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """Each closed attribute takes each of its values once while the others keep their first: enough to be selected by any matcher."""
    options = [[(name, value) for value in values(name) or OPEN.get(name, ("x",))] for name in metric.attributes]
    longest = max(map(len, options), default=0)
    for number in range(longest):
        chosen = [option[number % len(option)] for option in options]
        yield tuple(_attribute(name, value) for name, value in chosen if value)
    for rest in itertools.product(*(option[:2] for option in options[:2])):
        yield tuple(_attribute(name, value) for name, value in rest if value)


def _times(start: int, now: int) -> Mapping[str, Any]:
    return {"startTimeUnixNano": str(start), "timeUnixNano": str(now)}


def _metric(metric: Metric, start: int, now: int, amount: int) -> Mapping[str, Any]:
    unique = {str(attributes): attributes for attributes in _combinations(metric)}
    points = [{**_times(start, now), "attributes": list(attributes)} for attributes in unique.values()]
    base = {"name": metric.name, "unit": metric.unit}
    if metric.kind == "counter":
        return {**base, "sum": _sum([{**point, "asInt": str(amount)} for point in points])}
    count = amount * (len(metric.buckets) + 1)
    counts = [str(amount)] * (len(metric.buckets) + 1)
    shape = {"count": str(count), "sum": float(count), "bucketCounts": counts, "explicitBounds": list(metric.buckets)}
    return {**base, "histogram": {"aggregationTemporality": 2, "dataPoints": [{**point, **shape} for point in points]}}


def _sum(points: list[dict[str, Any]]) -> Mapping[str, Any]:
    return {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": points}


def _pipeline(start: int, now: int, amount: int) -> Iterator[Mapping[str, Any]]:
    """Pushed over OTLP these series get their suffixes, so both spellings are met between here and a scrape."""
    for name, labels in PIPELINE.items():
        attributes = [_attribute(label, "x") for label in labels if label != "job"]
        point = {**_times(start, now), "asInt": str(amount), "attributes": attributes}
        yield {"name": name, **({"gauge": {"dataPoints": [point]}} if name in GAUGES else {"sum": _sum([point])})}
