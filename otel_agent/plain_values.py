"""The slow path of :mod:`otel_agent.canonical`: a plain copy of a value, by the rule that is written there."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields as dataclass_fields
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

import rfc8785
from pydantic import BaseModel, RootModel

from otel_agent.stored import MISSING, extra, stored

MAX_DEPTH: Final = 64
MAX_BYTES: Final = 1 << 20
MAX_INT: Final = 2**53 - 1
VALUE: Final = 16
"""What a value counts beside its characters: so no more than 65,536 values are walked through while the caller waits."""

WRITTEN: Final = 4
"""What a character counts that is written to sort by: the library takes so much longer for it."""

MAX_MEMBERS: Final = MAX_BYTES // VALUE

PREFIX: Final = "uncanonical:"


class Marker(str):
    """Stands where a digest would, and says why there is none. A type of its own, so that a value spelled alike is not mistaken for it."""

    __slots__ = ()


class Uncanonical(Exception):
    """Raised by :class:`Reading`; ``reason`` is the last part of a marker."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.marker: Final = Marker(PREFIX + reason)


HUGE: Final = Marker(PREFIX + "size")


class Reading:
    """One walk through a value: which containers are open, and how much may still come."""

    __slots__ = ("left", "open")

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.left = MAX_BYTES

    def plain(self, value: Any) -> Any:
        """``value`` in dictionaries, lists and plain values. Raises :class:`Uncanonical`."""
        self.spend(VALUE)
        kind = type(value)
        rule = _BY_ID.get(id(kind)) or _inherited(kind)
        if rule is None:
            raise Uncanonical("type")
        return rule(self, value)

    def spend(self, size: int) -> None:
        """Count ``size``."""
        self.left -= size
        if self.left < 0:
            raise Uncanonical("size")

    def expect(self, values: int) -> None:
        """Refuse at once what could not be walked through."""
        if values * VALUE > self.left:
            raise Uncanonical("size")

    def within(self, container: Any, build: Callable[[], Any]) -> Any:
        """``build()`` with ``container`` open."""
        if id(container) in self.open:
            raise Uncanonical("cycle")
        if len(self.open) >= MAX_DEPTH:
            raise Uncanonical("depth")
        self.open.add(id(container))
        try:
            return build()
        finally:
            self.open.discard(id(container))

    def text(self, value: str) -> str:
        """``value``, unless a surrogate stands alone in it."""
        self.spend(len(value))
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Uncanonical("surrogate") from None
        return value

    def array(self, container: Any, length: int, members: Iterable[Any]) -> Any:
        """``members`` as a list. More than may still come are not begun with."""
        self.expect(length)
        return self.within(container, lambda: [self.plain(member) for member in members])

    def object(self, container: Any, length: int, members: Iterable[tuple[Any, Any]]) -> Any:
        """``members`` as a dictionary."""
        self.expect(length)
        return self.within(container, lambda: {self.key(name): self.plain(member) for name, member in members})

    def key(self, name: Any) -> str:
        """``name``, which must be a string."""
        if not issubclass(type(name), str):
            raise Uncanonical("key")
        return self.text(str.__str__(name))


Rule = Callable[[Reading, Any], Any]


def _itself(_reading: Reading, value: Any) -> Any:
    return value


def _integer(_reading: Reading, value: int) -> int:
    exact = int.__int__(value)
    if not -MAX_INT <= exact <= MAX_INT:
        raise Uncanonical("integer")
    return exact


def _float(_reading: Reading, value: float) -> float:
    exact = float.__float__(value)
    if exact - exact != 0.0:
        raise Uncanonical("nonfinite")
    return exact


def _set(reading: Reading, value: Any) -> Any:
    kind: Any = frozenset if issubclass(type(value), frozenset) else set
    members = reading.array(value, kind.__len__(value), kind.__iter__(value))
    return sorted(members, key=lambda member: _sorting(reading, member))


def _sorting(reading: Reading, member: Any) -> bytes:
    """What a set's member is sorted by. One that holds others is written at each level of sets around it, so each time is counted."""
    written: bytes = rfc8785.dumps(member)
    if type(member) in {list, dict}:
        reading.spend(WRITTEN * len(written))
    return written


def _moment(reading: Reading, value: datetime | time) -> str:
    if type(value.tzinfo) not in (type(None), timezone, ZoneInfo):
        raise Uncanonical("type")
    return reading.text(value.isoformat())


def _decimal(reading: Reading, value: Decimal) -> str:
    if not value.is_finite():
        raise Uncanonical("nonfinite")
    return reading.text(str(value))


def _bytes(reading: Reading, value: bytes | bytearray) -> str:
    reading.spend(len(value))
    return b64encode(value).decode()


def _enum(reading: Reading, value: Enum) -> Any:
    return reading.plain(_member(value, "_value_"))


def _dataclass(reading: Reading, value: Any) -> Any:
    named = dataclass_fields(type(value))
    return reading.object(value, len(named), ((each.name, _member(value, each.name)) for each in named))


def _model(reading: Reading, value: BaseModel) -> Any:
    declared = ((name, _member(value, name)) for name in type(value).model_fields)
    more = extra(value)
    return reading.object(value, len(more), chain(declared, more.items()))


def _root_model(reading: Reading, value: Any) -> Any:
    return reading.within(value, lambda: reading.plain(_member(value, "root")))


def _member(value: Any, name: str) -> Any:
    found = stored(value, name)
    if found is MISSING:
        raise Uncanonical("type")
    return found


_RULES: Final[dict[type, Rule]] = {
    type(None): _itself,
    bool: _itself,
    int: _integer,
    float: _float,
    str: lambda reading, value: reading.text(str.__str__(value)),
    list: lambda reading, value: reading.array(value, list.__len__(value), list.__iter__(value)),
    tuple: lambda reading, value: reading.array(value, tuple.__len__(value), tuple.__iter__(value)),
    dict: lambda reading, value: reading.object(value, dict.__len__(value), dict.items(value)),
    set: _set,
    frozenset: _set,
    bytes: _bytes,
    bytearray: _bytes,
    datetime: _moment,
    time: _moment,
    date: lambda reading, value: reading.text(value.isoformat()),
    Decimal: _decimal,
    UUID: lambda reading, value: reading.text(str(value)),
}

# By identity, since a class is hashed and compared by what its metaclass says.
_BY_ID: Final[dict[int, Rule]] = {id(kind): rule for kind, rule in _RULES.items()}

# In order: an enum may be a string or a number as well, and a model's class may be a dataclass.
_INHERITED: Final[tuple[tuple[type, Rule], ...]] = (
    (Enum, _enum),
    (RootModel, _root_model),
    (BaseModel, _model),
    *((kind, _RULES[kind]) for kind in (int, float, str, list, tuple, dict, set, frozenset)),
)


def _inherited(kind: type) -> Rule | None:
    """The rule of a class by its ancestors: their list is read, no ``__instancecheck__`` or ``__class__`` of a proxy is asked.

    Nor is anything that a metaclass defines.
    """
    ancestors = _ancestors(kind)
    known = {id(ancestor) for ancestor in ancestors}
    for ancestor, rule in _INHERITED:
        if id(ancestor) in known:
            return rule
    return _dataclass if any("__dataclass_fields__" in _namespace(owner) for owner in ancestors) else None


_ancestors: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__
_namespace: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
