"""Recorded facts as plain dictionaries, by field name, whichever way they came.

The local store names a fact by its record field (``input_tokens``), a log record by its attribute; everything in this
room reads fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from otel_agent.records import ModelTurn, Record, TextStep, ToolExecution, background, facts

Row = Mapping[str, Any]


@cache
def _fields(record: type[Record]) -> dict[str, str]:
    return {fact.name: field for field, fact in facts(record).items()}


def by_field(record: type[Record], row: Row) -> dict[str, Any]:
    """``row`` with attribute names replaced by field names; absent facts (``None``) left out."""
    fields = _fields(record)
    return {fields.get(name, name): value for name, value in row.items() if value is not None}


def turns_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Model turns in the order of their numbers; those outside a run stay in the order given. A background turn is one."""
    turns = background.once(by_field(ModelTurn, row) for row in rows)
    return sorted(turns, key=lambda turn: turn.get("turn", 0))


def tools_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Tool executions, in the order given."""
    return [by_field(ToolExecution, row) for row in rows]


def steps_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Text steps, in the order given."""
    return [by_field(TextStep, row) for row in rows]


def total(rows: Iterable[Row], field: str) -> int | None:
    """Sum of a count over the rows that have it; ``None`` when none has: absent is not zero."""
    found = [row[field] for row in rows if field in row]
    return sum(found) if found else None


def share(part: int | None, whole: int | None) -> float | None:
    """``part`` of ``whole``, to four places; ``None`` where it cannot be said."""
    return None if part is None or not whole else round(part / whole, 4)
