"""*Pipeline health*: whether what the other boards show can be trusted."""

from __future__ import annotations

from typing import Final

from dashboards import names, promql
from dashboards import queries as q
from dashboards.alerts import ALERTS
from dashboards.boards import alerted
from dashboards.panels import Board, Metrics, Panel, Row
from dashboards.thresholds import Thresholds
from otel_agent import semconv as s

SILENT: Final = next(alert for alert in ALERTS if alert.key == "collector_silent")


def board(thresholds: Thresholds) -> Board:
    """The Pipeline health board."""
    return Board(
        "pipeline",
        "Agents: pipeline health",
        "From the application to the stores: what came in, what was kept out, what waits and what was lost.",
        q.VARIABLES[:1],
        (_collector(thresholds), _guard(thresholds), _rules()),
    )


def _collector(thresholds: Thresholds) -> Row:
    exporter, receiver = ("exporter",), ("receiver",)
    return Row("Collector", (
        Panel("collectors", "Collectors reporting", "Collectors that report, by job. "
              f"Alert {SILENT.name}: {SILENT.act}",
              "short", "lines", (Metrics(f"count by (job) ({promql.selector(names.UPTIME)})", "{{job}}"),)),
        Panel("accepted", "Taken in", "Spans, points and log records a minute that receivers accepted.",
              "cpm", "lines", q.pipeline_per_minute(names.ACCEPTED, receiver)),
        alerted.panel("intake_refused", "Refused", "Items that receivers refused, mostly for want of memory.", thresholds, "short"),
        Panel("sent", "Sent on", "Spans, points and log records a minute that reached a backend.",
              "cpm", "lines", q.pipeline_per_minute(names.SENT, exporter)),
        alerted.panel("export_lost", "Given up", "Items lost for good: refused by the backend, or the queue was "
        "full.", thresholds, "short"),
        alerted.panel("queue_filling", "Fill of the sending queues", "A queue that fills means that a backend is slow or "
        "down.", thresholds),
        Panel("memory", "Memory of the collector", "Resident memory by job. Near the limiter's limit, receivers begin to refuse.",
              "bytes", "lines", (Metrics(f"max by (job) ({promql.selector(names.MEMORY)})", "{{job}}"),)),
    ))  # fmt: skip


def _guard(thresholds: Thresholds) -> Row:
    removed, events = names.GUARD_REMOVED, s.METRIC_OTEL_AGENT_SELF_EVENTS
    return Row("Guard and instrumentation", (
        Panel("removed", "Kept out by the collector's guard", "Parts a minute that the guard removed, by place. A jump means that some "
              "instrumentation sends content; find it before someone widens the guard.",
              "cpm", "bars",
              (Metrics(f"60 * sum by (place) (rate({promql.selector(removed)}[{q.RATE}]))", "{{place}}"),), stacked=True),
        Panel("own_kinds", "What the instrumentation could not keep", "Events by kind: failure (our fault), unfit, unknown (a new type "
              "from a provider), dropped (a bound was reached), removed (kept out).",
              "short", "bars", (q.occurred(events, (s.OTEL_AGENT_SELF_KIND,)),), stacked=True),
        alerted.panel("own_failures", "Failures of the instrumentation", "Failures and drops by place.", thresholds, "short"),
    ))  # fmt: skip


def _rules() -> Row:
    return Row("Rules and alerts", (
        Panel("rule_failures", "Rules that failed", "Rule evaluations a minute that failed. Above zero, alerts may be missing.",
              "cpm", "lines", q.pipeline_per_minute((names.RULE_FAILURES,), ("job",))),
        Panel("alerts_dropped", "Alerts that were not delivered", "Notifications a minute that Prometheus could not hand to Alertmanager.",
              "cpm", "lines", q.pipeline_per_minute((names.ALERTS_DROPPED,), ("job",))),
    ))  # fmt: skip
