"""Record → attributes, as a table made once from the facts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from otel_agent.records import Record, facts

Value: TypeAlias = str | int | float | bool | tuple[str, ...]
Attributes: TypeAlias = dict[str, Value]


@cache
def names(record: type[Record]) -> Mapping[str, str]:
    """Field name to attribute name."""
    return {field: fact.name for field, fact in facts(record).items()}


@cache
def start_names(record: type[Record]) -> Mapping[str, str]:
    """The same for the facts that are known before the call."""
    return {field: fact.name for field, fact in facts(record).items() if fact.start}


def attributes_of(record: Record) -> Attributes:
    """Attributes of all facts that are there; an absent fact has no attribute, never a placeholder."""
    table = names(type(record))
    return {table[field]: value for field, value in record.__dict__.items() if value is not None}


def start_attributes(record: type[Record], values: Mapping[str, Value | None]) -> Attributes:
    """Attributes of the start facts among ``values`` (field name to value)."""
    table = start_names(record)
    return {table[field]: value for field, value in values.items() if value is not None and field in table}
