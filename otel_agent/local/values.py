"""OTLP attribute values as plain Python ones: scalars and arrays of strings; everything nested is :data:`NESTED`."""

from __future__ import annotations

import json
from typing import Any, Final

NESTED: Final = object()
"""Stands for a map, bytes, an absent value or an array of anything but strings: no rule accepts it."""

MANY: Final = 1024
"""More entries than this in one array of one record are no telemetry; they are dropped unread, so that no body is slow to walk."""

_SCALARS: Final = frozenset({"string_value", "int_value", "double_value", "bool_value"})
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def plain(value: Any) -> object:
    """The plain value of an ``AnyValue``."""
    kind = value.WhichOneof("value")
    if kind in _SCALARS:
        return getattr(value, kind)
    if kind == "array_value":
        return _strings(value.array_value.values)
    return NESTED


def _strings(values: Any) -> object:
    if len(values) > MANY:
        return NESTED
    found = []
    for value in values:
        if value.WhichOneof("value") != "string_value":
            return NESTED
        found.append(value.string_value)
    return found


def as_json(attributes: Any) -> str | None:
    """Guarded attributes as a JSON object; ``None`` when there are none. The last of several equal keys wins."""
    return _encode({pair.key: plain(pair.value) for pair in attributes}) if attributes else None
