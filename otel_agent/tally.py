"""Counts of what we met and could not keep: the only state the readers have.

Kinds are a closed set: ``failure`` (our own code raised; see :mod:`otel_agent.guard`), ``unfit`` (a string that fits no
prose-free type), ``unknown`` (a type, reason or event we do not know), ``dropped`` (a bound was reached), ``removed`` (taken out
by the export guard). Exported as the counter ``otel_agent.self.events``.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

Kind = Literal["failure", "unfit", "unknown", "dropped", "removed"]

_counts: Final[Counter[tuple[Kind, str]]] = Counter()


def tally(kind: Kind, place: str, amount: int = 1) -> None:
    """Add to one count. ``place`` is a word from our own code, never a value met. Never raises."""
    _counts[kind, place] += amount


def tallies() -> dict[tuple[Kind, str], int]:
    """A copy of all counts since the process began."""
    return dict(_counts)


def reset() -> None:
    """Forget all counts; for tests."""
    _counts.clear()
