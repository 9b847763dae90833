"""Panels that show exactly what an alert reads, its threshold drawn in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboards.alerts import ALERTS
from dashboards.meaning import Alert, Arrival, Drift, Fill, Share, Tally
from dashboards.panels import Metrics, Panel
from dashboards.queries import kept
from dashboards.thresholds import Thresholds

_ALERTS: Final[Mapping[str, Alert]] = {alert.key: alert for alert in ALERTS}


def panel(key: str, title: str, description: str, thresholds: Thresholds, unit: str = "percentunit") -> Panel:
    """The panel of the alert ``key``; the description ends with the alert's name and what to do."""
    alert = _ALERTS[key]
    limits = thresholds.limits[key]
    name = alert.panel.partition("/")[2]
    text = f"{description} Alert {alert.name}: {alert.act}"
    return Panel(name, title, text, unit, "lines", _queries(alert), limit=limits.threshold)


def _queries(alert: Alert) -> tuple[Metrics, ...]:
    match alert.means:
        case Share() | Fill():
            return (kept(alert.key, "ratio", alert.by),)
        case Drift():
            return kept(alert.key, "ratio", alert.by, "now"), kept(alert.key, "before", alert.by, "before")
        case Tally():
            return (kept(alert.key, "count", alert.by),)
        case Arrival():
            return (kept(alert.key, "seen", alert.by),)
        case _:
            raise ValueError(f"{alert.key} records nothing to show")
