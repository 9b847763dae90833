"""Reads ``thresholds.yml``: the numbers users edit, checked against what each alert needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import yaml

from dashboards import names
from dashboards.alerts import ALERTS
from dashboards.meaning import Alert, Amount, Limits, Override, Share, amounts

FILE: Final = Path(__file__).with_name("thresholds.yml")

_DURATIONS: Final = ("window", "baseline", "hold", "keep")
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_KNOWN: Final = frozenset(field.name for field in fields(Limits))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All numbers: limits by the alert's key, how often rules are evaluated, and where Grafana answers."""

    limits: Mapping[str, Limits]
    evaluate_every: str
    grafana_url: str

    def hurried(self, window: str, baseline: str, every: str) -> Thresholds:
        """The same alerts over short windows and without holding: for a test that cannot wait an hour."""
        quick = {key: replace(limit, window=window, baseline=baseline, hold="0s", keep="0s") for key, limit in self.limits.items()}
        return replace(self, limits=quick, evaluate_every=every)


def seconds(duration: str) -> int:
    """A Prometheus duration of one unit in seconds. Raises ``ValueError`` for anything else."""
    found = re.fullmatch(r"(\d+)([smhdw])", duration)
    if found is None:
        raise ValueError(f"{duration} is not a duration such as 30s, 5m, 1h or 1d")
    return int(found[1]) * _SECONDS[found[2]]


def load(file: Path = FILE) -> Thresholds:
    """The file's numbers. Raises ``ValueError`` naming the alert and the number that is missing, unknown or impossible."""
    content = yaml.safe_load(file.read_text())
    given: dict[str, dict[str, Any]] = content["alerts"]
    _same_keys(given, (alert.key for alert in ALERTS))
    limits = {alert.key: _limits(alert, {**content["defaults"], **given[alert.key]}) for alert in ALERTS}
    seconds(content["evaluate_every"])
    return Thresholds(limits, content["evaluate_every"], content["grafana_url"].rstrip("/"))


def _same_keys(given: Iterable[str], wanted: Iterable[str]) -> None:
    odd = set(given) ^ set(wanted)
    if odd:
        raise ValueError(f"alerts and their numbers do not match: {', '.join(sorted(odd))}")


def _limits(alert: Alert, numbers: Mapping[str, Any]) -> Limits:
    unknown = set(numbers) - _KNOWN
    if unknown:
        raise ValueError(f"{alert.key} has unknown numbers: {', '.join(sorted(unknown))}")
    overrides = tuple(_override(alert, entry) for entry in numbers.get("overrides", ()))
    limits = Limits(**{"severity": alert.severity, **numbers, "overrides": overrides})
    _check(alert, limits)
    return limits


def _override(alert: Alert, entry: Mapping[str, Any]) -> Override:
    foreign = set(entry["where"]) - set(alert.by)
    if foreign or not isinstance(alert.means, Share):
        raise ValueError(f"{alert.key} cannot be overridden by {', '.join(sorted(entry['where']))}")
    return Override(tuple(sorted(entry["where"].items())), entry["threshold"])


def _check(alert: Alert, limits: Limits) -> None:
    for name in _DURATIONS:
        seconds(getattr(limits, name))
    for name in alert.means.needs:
        if getattr(limits, name) is None:
            raise ValueError(f"{alert.key} needs {name}")
    for amount in amounts(alert.means):
        if amount.above:
            _check_edge(alert, amount, limits.edge)


def _check_edge(alert: Alert, amount: Amount, edge: float | None) -> None:
    """A limit between two edges cannot be counted, and one at or above the highest can never be passed by enough to see."""
    for name in amount.metrics:
        edges = names.metric(name).buckets
        if edge not in edges[:-1]:
            raise ValueError(f"{alert.key}: edge {edge} is not one of {name}'s bucket edges below the highest, {edges[:-1]}")
