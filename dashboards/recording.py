"""Meanings as recording rules and alert expressions: amounts are recorded once, alerts and panels read the recorded series.

``otel_agent:KEY:KIND``, where KIND is ``whole``, ``part``, ``ratio``, ``volume``, ``before`` (the baseline's ratio), ``count`` or
``seen``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboards import names, promql
from dashboards.meaning import Alert, Always, Amount, Arrival, Drift, Fill, Limits, Ratio, Share, Silence, Tally, amounts
from dashboards.thresholds import seconds


@dataclass(frozen=True, slots=True)
class Record:
    """One recording rule."""

    name: str
    expr: str


def recorded(key: str, kind: str) -> str:
    """The name under which a part of an alert or ratio is recorded."""
    return f"otel_agent:{key}:{kind}"


def records(alert: Alert, limits: Limits) -> Iterator[Record]:
    """The recording rules of one alert, in the order in which they must be evaluated."""
    for what in amounts(alert.means):
        for name in what.metrics:
            promql.check_groups(name, alert.by)
    match alert.means:
        case Share(part, whole):
            yield from _ratio(alert.key, alert.by, part, whole, limits)
        case Drift(part, whole, volume):
            yield from _ratio(alert.key, alert.by, part, whole, limits)
            if volume != whole:
                yield Record(recorded(alert.key, "volume"), promql.amount(volume, alert.by, limits.window))
            yield Record(recorded(alert.key, "before"), _before(alert.key, limits))
        case Tally(amount):
            yield Record(recorded(alert.key, "count"), promql.amount(amount, alert.by, limits.window, limits.edge))
        case Arrival(amount):
            yield Record(recorded(alert.key, "seen"), promql.amount(amount, alert.by, limits.window))
        case Fill(size, capacity):
            fill = f"{promql.selector(size)} / {promql.selector(capacity)}"
            yield Record(recorded(alert.key, "ratio"), f"max by ({promql.grouping(alert.by)}) ({fill})")


def ratio_records(ratio: Ratio) -> Iterator[Record]:
    """The recording rules of a ratio that has no alert."""
    limits = Limits(ratio.window, "0s", "0s", "1d", "none")
    yield from _ratio(ratio.key, ratio.by, ratio.part, ratio.whole, limits)


def _ratio(key: str, by: Sequence[str], part: Amount, whole: Amount, limits: Limits) -> Iterator[Record]:
    wholes, parts = recorded(key, "whole"), recorded(key, "part")
    yield Record(wholes, promql.amount(whole, by, limits.window, limits.edge))
    # A part that never occurred has no series; it is zero wherever the whole is known.
    yield Record(parts, f"{promql.amount(part, by, limits.window, limits.edge)} or 0 * {wholes}")
    yield Record(recorded(key, "ratio"), f"{parts} / ({wholes} > 0)")


def _before(key: str, limits: Limits) -> str:
    """The baseline's ratio: both sums run over the same evaluations, so how many there were cancels out."""
    span = f"[{limits.baseline}] offset {limits.window}"
    return f"sum_over_time({recorded(key, 'part')}{span}) / (sum_over_time({recorded(key, 'whole')}{span}) > 0)"


def expression(alert: Alert, limits: Limits, every: str) -> str:
    """The alert's condition over the recorded series."""
    key = alert.key
    match alert.means:
        case Share(below=below):
            expr = f"{_beyond(key, limits, '<' if below else '>')} and {recorded(key, 'whole')} >= {limits.minimum:g}"
        case Drift(_, whole, volume, falling):
            counted = recorded(key, "whole" if volume == whole else "volume")
            expr = f"{_drifted(key, limits, falling=falling)} and {_enough(counted, limits, every)}"
        case Tally():
            expr = f"{recorded(key, 'count')} >= {limits.threshold:g}"
        case Arrival(_, attribute):
            expr = _arrived(alert, attribute, limits)
        case Fill():
            expr = f"{recorded(key, 'ratio')} > {limits.threshold:g}"
        case Silence(gauge):
            groups, series = promql.grouping(alert.by), promql.selector(gauge)
            expr = f"group by ({groups}) (last_over_time({series}[{limits.window}])) unless group by ({groups}) ({series})"
        case Always():
            expr = "vector(1)"
    return expr


def _beyond(key: str, limits: Limits, sign: str) -> str:
    """The ratio beyond its threshold, groups with a threshold of their own beyond that one."""
    ratio = recorded(key, "ratio")
    if not limits.overrides:
        return f"{ratio} {sign} {limits.threshold:g}"
    own = [(f"{ratio}{{{_equal(override.where)}}}", override.threshold) for override in limits.overrides]
    rest = f"({ratio} unless ({' or '.join(series for series, _ in own)})) {sign} {limits.threshold:g}"
    return f"({' or '.join([rest, *(f'{series} {sign} {limit:g}' for series, limit in own)])})"


def _equal(where: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{names.label(attribute)}={json.dumps(value)}" for attribute, value in where)


def _drifted(key: str, limits: Limits, *, falling: bool) -> str:
    ratio, before = recorded(key, "ratio"), recorded(key, "before")
    if falling:
        return f"{ratio} < {limits.factor:g} * ({before} >= {limits.floor:g})"
    return f"{ratio} > {limits.factor:g} * clamp_min({before}, {limits.floor:g})"


def _enough(volume: str, limits: Limits, every: str) -> str:
    """The volume reaches the minimum now and over the baseline, whose recorded windows overlap: each event is seen window/every times."""
    overlap = max(1, seconds(limits.window) // seconds(every))
    earlier = f"sum_over_time({volume}[{limits.baseline}] offset {limits.window}) / {overlap}"
    return f"{volume} >= {limits.minimum:g} and {earlier} >= {limits.minimum:g}"


def _arrived(alert: Alert, attribute: str, limits: Limits) -> str:
    seen = recorded(alert.key, "seen")
    earlier = f"max_over_time({seen}[{limits.baseline}] offset {limits.window}) > 0"
    group = promql.grouping(name for name in alert.by if name != attribute)
    return f"{seen} >= {limits.minimum:g} unless ({earlier}) and on ({group}) ({earlier})"
