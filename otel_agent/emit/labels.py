"""Labels of metric points: open values are capped, effort is folded, and each combination is made once.

The Python SDK itself bounds only the number of streams per instrument; an agent that makes up model or tool names would fill that with
noise. Every label that is not a closed set therefore takes at most a fixed number of distinct values, then one overflow value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from otel_agent import semconv
from otel_agent.fields import OTHER
from otel_agent.tally import tally

LabelValues: TypeAlias = dict[str, Any]
"""Labels of a point. Shared between points: nobody may change one."""

OPEN_LABELS: Final = frozenset(
    {
        semconv.GEN_AI_REQUEST_MODEL, semconv.GEN_AI_RESPONSE_MODEL, semconv.GEN_AI_AGENT_NAME, semconv.GEN_AI_TOOL_NAME,
        semconv.SERVER_ADDRESS, semconv.ERROR_TYPE, semconv.GEN_AI_DATA_SOURCE_ID,
    }
)  # fmt: skip
"""Labels whose values are not a closed set."""

MOST_COMBINATIONS: Final = 4096
"""Combinations of values that one set of labels remembers before it starts anew."""

LEVELS: Final = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max", "default", "auto", "true", "false"})
"""Effort levels that metrics keep; any other spelling is kept on spans and is ``_OTHER`` here."""


class Labels:
    """Distinct values seen so far, per label."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: dict[str, set[object]] = {}

    def bound(self, label: str, value: object) -> object:
        """``value``, or :data:`OTHER` once ``label`` has had ``limit`` other values."""
        seen = self._seen.setdefault(label, set())
        if value in seen:
            return value
        if len(seen) >= self._limit:
            tally("dropped", "label")
            return OTHER
        seen.add(value)
        return value


def fold_level(value: object) -> object:
    """An effort level from the set that metrics keep."""
    folded = value.lower() if isinstance(value, str) else value
    return folded if folded in LEVELS else OTHER


class Combination(NamedTuple):
    """Labels, and what stands for them: equal for equal labels."""

    labels: LabelValues
    key: tuple[object, ...]


class LabelSet:
    """The labels of one or more metrics, made once for each combination of values: a run repeats the same few at every turn."""

    __slots__ = ("_bounds", "_known", "_more", "_names")

    def __init__(self, bounds: Labels, names: tuple[str, ...], more: LabelValues | None = None) -> None:
        """``names``: attributes that become labels where they are there. ``more``: labels that every point has."""
        self._bounds = bounds
        self._names = names
        self._more = more or {}
        self._known: dict[tuple[object, ...], Combination] = {}

    def of(self, attributes: Mapping[str, Any]) -> Combination:
        """The labels of a point about ``attributes``."""
        values = tuple(map(attributes.get, self._names))
        return self._known.get(values) or self._make(values)

    def _make(self, values: tuple[object, ...]) -> Combination:
        made = {name: self._bound(name, value) for name, value in zip(self._names, values, strict=True) if value is not None}
        made.update(self._more)
        combination = Combination(made, tuple(made.items()))
        if OTHER not in made.values():  # what a bound cut off is counted every time it occurs
            if len(self._known) >= MOST_COMBINATIONS:
                self._known.clear()
            self._known[values] = combination
        return combination

    def _bound(self, name: str, value: object) -> object:
        if name in OPEN_LABELS:
            return self._bounds.bound(name, value)
        return fold_level(value) if name == semconv.GEN_AI_REQUEST_REASONING_LEVEL else value
