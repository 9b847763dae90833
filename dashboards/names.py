"""From the vocabulary's dotted names to the names that Prometheus gives them, and what each of them may be asked.

A *series* is a name in Prometheus. A metric of the vocabulary has one (counter) or three (histogram); the pipeline's own series
come from the collector and from Prometheus itself, and are listed here because no record declares them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from otel_agent.records.metrics import METRICS, Metric

Part = Literal["value", "count", "sum", "bucket"]

SERVICE: Final = "service.name"
"""A resource attribute: a label only where Prometheus promotes it, which our configuration does."""

_UNITS: Final[Mapping[str, str]] = {"s": "_seconds"}
_SUFFIXES: Final[Mapping[Part, str]] = {"value": "_total", "count": "_count", "sum": "_sum", "bucket": "_bucket"}
_BY_NAME: Final[Mapping[str, Metric]] = {metric.name: metric for metric in METRICS}
_ALLOWED: Final = Path(__file__).resolve().parents[1] / "schema" / "allowlist.json"

_SIGNALS: Final = ("spans", "metric_points", "log_records")


def _signals(stem: str) -> tuple[str, ...]:
    return tuple(f"{stem}_{signal}" for signal in _SIGNALS)


ACCEPTED: Final = _signals("otelcol_receiver_accepted")
REFUSED: Final = _signals("otelcol_receiver_refused")
SENT: Final = _signals("otelcol_exporter_sent")
SEND_FAILED: Final = _signals("otelcol_exporter_send_failed")
ENQUEUE_FAILED: Final = _signals("otelcol_exporter_enqueue_failed")
QUEUE_SIZE: Final = "otelcol_exporter_queue_size"
QUEUE_CAPACITY: Final = "otelcol_exporter_queue_capacity"
INCOMING: Final = "otelcol_processor_incoming_items"
OUTGOING: Final = "otelcol_processor_outgoing_items"
UPTIME: Final = "otelcol_process_uptime"
MEMORY: Final = "otelcol_process_memory_rss"
GUARD_REMOVED: Final = "otel_agent_guard_removed"
RULE_FAILURES: Final = "prometheus_rule_evaluation_failures_total"
ALERTS_DROPPED: Final = "prometheus_notifications_dropped_total"

PIPELINE: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys((*ACCEPTED, *REFUSED), ("job", "receiver")),
    **dict.fromkeys((*SENT, *SEND_FAILED, *ENQUEUE_FAILED, QUEUE_SIZE, QUEUE_CAPACITY), ("job", "exporter")),
    **dict.fromkeys((INCOMING, OUTGOING), ("job", "processor")),
    **dict.fromkeys((UPTIME, MEMORY), ("job",)),
    GUARD_REMOVED: ("job", "place"),
    **dict.fromkeys((RULE_FAILURES, ALERTS_DROPPED), ("job",)),
}
"""Series that the pipeline makes about itself, without the suffixes that depend on how they travel, and the labels we read."""

_PIPELINE_SUFFIXES: Final[Mapping[str, str]] = {UPTIME: "(_seconds)?(_total)?", MEMORY: "(_bytes)?"}
_EXACT: Final = (QUEUE_SIZE, QUEUE_CAPACITY, RULE_FAILURES, ALERTS_DROPPED)


def metric(name: str) -> Metric:
    """The declaration of a metric. Raises ``ValueError`` for a name that the records do not declare."""
    if name not in _BY_NAME:
        raise ValueError(f"no record declares the metric {name}")
    return _BY_NAME[name]


def series(name: str, part: Part = "value") -> str:
    """The series of one part of a metric: ``value`` of a counter; ``count``, ``sum`` or ``bucket`` of a histogram."""
    declared = metric(name)
    if (part == "value") != (declared.kind == "counter"):
        raise ValueError(f"{name} is a {declared.kind} and has no {part}")
    return label(name) + _UNITS.get(declared.unit, "") + _SUFFIXES[part]


def label(attribute: str) -> str:
    """An attribute's name as a label."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", attribute)


def pipeline_selector(name: str) -> str:
    """What selects a pipeline series under any of its spellings: scraped without unit and ``_total``, pushed over OTLP with them."""
    if name in _EXACT:
        return name
    return f'__name__=~"{name}{_PIPELINE_SUFFIXES.get(name, "(_total)?")}"'


def attributes(name: str) -> tuple[str, ...]:
    """What a metric, or a series of the pipeline, can be filtered and grouped by."""
    return PIPELINE[name] if name in PIPELINE else (*metric(name).attributes, SERVICE)


@cache
def _specs() -> Mapping[str, Mapping[str, object]]:
    specs: Mapping[str, Mapping[str, object]] = json.loads(_ALLOWED.read_text())["own"]["metric"]["attributes"]
    return specs


def values(attribute: str) -> tuple[str, ...] | None:
    """The label values an attribute can have, when they are a closed set."""
    spec = _specs().get(attribute, {})
    if spec.get("type") == "bool":
        return ("true", "false")
    members = spec.get("enum")
    return tuple(str(member) for member in members) if isinstance(members, list) else None
