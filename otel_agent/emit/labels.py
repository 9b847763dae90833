"""Bounds on metric labels: open values are capped, effort is folded.

The Python SDK itself bounds only the number of streams per instrument; an agent that makes up model or tool names would fill that with
noise. Every label that is not a closed set therefore takes at most a fixed number of distinct values, then one overflow value.
"""

from __future__ import annotations

from typing import Final

from otel_agent.fields import OTHER
from otel_agent.tally import tally

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
