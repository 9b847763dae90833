"""What queries may name, taken from the records alone: a second opinion on what the builders check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dashboards.alerts import ALERTS, RATIOS
from dashboards.names import PIPELINE, values
from otel_agent.records.metrics import METRICS, Metric
from tests.dashboards.promql_names import Selection, read

RESOURCE: Final = frozenset({"service_name", "job", "instance"})
OWN: Final = frozenset({"alertname", "alertstate", "severity", "summand"})
RECORDED: Final = re.compile(r"otel_agent:(\w+):(whole|part|ratio|volume|before|count|seen)")
PARTS: Final[Mapping[str, tuple[str, ...]]] = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


def _under(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _series(metric: Metric) -> Iterator[str]:
    unit = "_seconds" if metric.unit == "s" else ""
    return (_under(metric.name) + unit + part for part in PARTS[metric.kind])


LABELS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(map(_under, metric.attributes)) | RESOURCE | ({"le"} if name.endswith("_bucket") else set())
    for metric in METRICS
    for name in _series(metric)
} | {name: frozenset(labels) for name, labels in PIPELINE.items()}
RECORDED_LABELS: Final[Mapping[str, frozenset[str]]] = {entry.key: frozenset(map(_under, entry.by)) for entry in (*ALERTS, *RATIOS)}
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    _under(attribute): closed
    for metric in METRICS
    for attribute in metric.attributes
    if (closed := values(attribute)) is not None
}  # fmt: skip


def undeclared(expr: str) -> list[str]:
    """Every name in the query that nobody declares, and every value outside its closed set."""
    names = read(expr)
    known = [labels for selection in names.selections if (labels := _labels(selection)) is not None]
    odd = [str(selection) for selection in names.selections if _labels(selection) is None]
    odd += [f"{selection.metric}{{{label}}}" for selection in names.selections for label in _odd_labels(selection)]
    odd += [f"{label}={value}" for selection in names.selections for label, value in _odd_values(selection)]
    allowed = frozenset().union(*known) | OWN
    return odd + sorted(names.grouped - allowed)


def _labels(selection: Selection) -> frozenset[str] | None:
    """The labels a selection can have; ``None`` for a metric nobody declares. Pipeline series are selected by their name as a label."""
    metric = selection.metric or next((value for label, _, value in selection.matchers if label == "__name__"), "")
    metric = re.sub(r"\([^)]*\)\?", "", metric)
    if found := RECORDED.fullmatch(metric):
        return RECORDED_LABELS.get(found[1])
    return LABELS.get(metric)


def _odd_labels(selection: Selection) -> list[str]:
    known = _labels(selection) or frozenset()
    return [label for label, _, _ in selection.matchers if label not in known and label != "__name__"]


def _odd_values(selection: Selection) -> Iterator[tuple[str, str]]:
    for label, sign, value in selection.matchers:
        members = value.split("|") if "~" in sign else [value]
        for member in members:
            if label in VALUES and member and not member.startswith("$") and member not in VALUES[label]:
                yield label, member
