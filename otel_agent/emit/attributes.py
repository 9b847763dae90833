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
def defaults(record: type[Record]) -> Mapping[str, Value]:
    """What a record says without having been told, by attribute name."""
    table = names(record)
    optional = {field: info.default for field, info in record.model_fields.items() if not info.is_required()}
    return {table[field]: default for field, default in optional.items() if default is not None}


@cache
def start_names(record: type[Record]) -> Mapping[str, str]:
    """Field name to attribute name, for the facts that are known before the call."""
    return {field: fact.name for field, fact in facts(record).items() if fact.start}


def attributes_of(record: Record) -> Attributes:
    """Attributes of all facts that are there; an absent fact has no attribute, never a placeholder.

    Most fields of a record were never set, so only those that were are looked at.
    """
    kind, values = type(record), record.__dict__
    table = names(kind)
    attributes = dict(defaults(kind))
    for field in record.__pydantic_fields_set__:
        value = values[field]
        if value is not None:
            attributes[table[field]] = value
    return attributes


def start_attributes(record: type[Record], values: Mapping[str, Value | None]) -> Attributes:
    """Attributes of the start facts among ``values`` (field name to value)."""
    table = start_names(record)
    return {table[field]: value for field, value in values.items() if value is not None and field in table}
