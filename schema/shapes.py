"""A record field as an attribute: its name, what its values may be, and whether it is always there.

A *fragment* is the JSON Schema of one field without ``null``; a *shape* is the same in OpenTelemetry's terms. Both are
read from the pydantic models, so nothing about a field is written down twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Literal

from otel_agent.fields import MAX_ITEMS
from otel_agent.records import RECORDS, Fact, Record, facts

Type = Literal["string", "int", "double", "bool", "string[]"]

_SCALARS: Final[Mapping[str, Type]] = {"integer": "int", "number": "double", "boolean": "bool"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What the values of one attribute may be. A string has either ``values`` (a closed set) or a ``pattern``."""

    type: Type
    values: tuple[str, ...] = ()
    pattern: str = ""

    def spec(self) -> dict[str, Any]:
        """The shape as the allow-list writes it."""
        bound: dict[str, Any] = {"max_items": MAX_ITEMS} if self.type == "string[]" else {}
        if self.values:
            return {"type": self.type, "enum": list(self.values)} | bound
        return {"type": self.type} | ({"pattern": self.pattern} if self.pattern else {}) | bound


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of one record."""

    name: str
    shape: Shape
    brief: str
    required: bool
    """Whether every record of the kind has it."""
    start: bool
    fragment: Mapping[str, Any]


def shape(fragment: Mapping[str, Any]) -> Shape:
    """The shape of a fragment. Raises ``TypeError`` for one that could hold anything else than the five types."""
    kind = fragment.get("type")
    if kind == "array":
        item = shape(fragment["items"])
        if item.type != "string":
            raise TypeError(f"array of {item.type}")
        return replace(item, type="string[]")
    if kind == "string":
        return _text(fragment)
    scalar = _SCALARS.get(str(kind))
    if scalar is None:
        raise TypeError(f"no attribute type for {fragment}")
    return Shape(scalar)


def _text(fragment: Mapping[str, Any]) -> Shape:
    values = tuple(fragment["enum"]) if "enum" in fragment else (fragment["const"],) if "const" in fragment else ()
    pattern = fragment.get("pattern", "")
    if not values and not pattern:
        raise TypeError(f"free text: {fragment}")
    return Shape("string", values, pattern)


def _fragment(field: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """A field's schema without ``null``, title and default; whether ``null`` was one of its choices."""
    choices = field.get("anyOf", [field])
    kept = [choice for choice in choices if choice.get("type") != "null"]
    if len(kept) != 1:
        raise TypeError(f"a choice of {len(kept)} types: {field}")
    return {key: value for key, value in kept[0].items() if key not in ("title", "default")}, len(kept) < len(choices)


@cache
def attributes(record: type[Record]) -> tuple[Attribute, ...]:
    """All attributes of a record, in the order of its fields."""
    properties = record.model_json_schema()["properties"]
    return tuple(_attribute(properties[field], fact) for field, fact in facts(record).items())


def _attribute(field: Mapping[str, Any], fact: Fact) -> Attribute:
    fragment, optional = _fragment(field)
    return Attribute(fact.name, shape(fragment), fact.brief, not optional, fact.start, fragment)


def merged(records: Iterable[type[Record]]) -> dict[str, Attribute]:
    """Attributes of several records by name, sorted. Closed sets unite; else two shapes are a ``ValueError``."""
    found: dict[str, Attribute] = {}
    for record in records:
        for attribute in attributes(record):
            before = found.setdefault(attribute.name, attribute)
            found[attribute.name] = replace(before, shape=_united(attribute.name, before.shape, attribute.shape))
    return dict(sorted(found.items()))


def _united(name: str, one: Shape, other: Shape) -> Shape:
    if one.values and other.values and one.type == other.type:
        return replace(one, values=tuple(dict.fromkeys((*one.values, *other.values))))
    if one != other:
        raise ValueError(f"{name} has two shapes: {one} and {other}")
    return one


SPAN_RECORDS: Final = tuple(record for record in RECORDS if record.span_operation)
