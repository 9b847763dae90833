"""Canonical bytes of a value: RFC 8785 JSON, and a written rule for what JSON cannot hold.

===============================  ==================================================================================
value                            becomes
===============================  ==================================================================================
``None``, ``bool``, ``str``      itself; text is not normalised, so two Unicode normal forms of one word differ
``int``                          itself within +-(2**53 - 1), else marker ``integer``
``float``                        as RFC 8785 writes doubles, so ``1.0`` equals ``1`` and ``-0.0`` equals ``0``; NaN and
                                 the infinities: marker ``nonfinite``
``list``, ``tuple``              array (named tuples too)
``dict``                         object, key order irrelevant; a key that is no string: marker ``key``
``set``, ``frozenset``           array, sorted by the canonical bytes of its members
``bytes``, ``bytearray``         string: standard base64
``datetime``, ``date``, ``time``  string: ``isoformat()``; a time zone of a foreign class: marker ``type``
``Decimal``, ``UUID``            string: their own spelling (``1.10`` differs from ``1.1``); NaN: marker ``nonfinite``
``Enum`` member                  its value, by these rules
dataclass, pydantic model        object of its declared fields by name (a root model: its root)
subclass of a plain type         the plain type underneath; methods it overrides are not called
lone surrogate in a string       marker ``surrogate``
more than 64 levels              marker ``depth``
a container inside itself        marker ``cycle``
more than 1 MiB canonical        marker ``size``; so is what has more than that many characters when each value counts
                                 sixteen more, which bounds how many values are walked through
anything else                    marker ``type``
===============================  ==================================================================================

No object of the caller's is copied, pickled, compared or turned into a string, and no method or property of it is called: fields are
read from where the instance stores them.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import fields as dataclass_fields
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum
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

PREFIX: Final = "uncanonical:"


class Marker(str):
    """Stands where a digest would, and says why there is none. A type of its own, so that a value spelled alike is not mistaken for it."""

    __slots__ = ()


class Uncanonical(Exception):
    """Raised by :func:`plain`; ``reason`` is the last part of a marker."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.marker: Final = Marker(PREFIX + reason)


_HUGE: Final = Marker(PREFIX + "size")


def is_marker(digest: str) -> bool:
    """True for a marker read back as a plain string. Two equal markers say nothing about the values behind them."""
    return digest.startswith(PREFIX)


def canonical(value: Any) -> bytes | Marker:
    """Canonical bytes of ``value``, or the marker that says why it has none."""
    if type(value) is Marker:
        return value
    data = _fast(value)
    return _slow(value) if data is None else data


def members(value: Any) -> tuple[bytes, dict[str, bytes]] | None:
    """What :func:`canonical` gives for an object and for each of its members, sorted by name, each written once.

    ``None`` where the fast path does not serve.
    """
    if type(value) is not dict or not 0 <= _weight(value, MAX_DEPTH) <= MAX_BYTES:
        return None
    parts = {name: _quoted(member) if type(member) is str else _encode(member) for name, member in sorted(value.items())}
    whole = "{" + ",".join([f"{_quoted(name)}:{part}" for name, part in parts.items()]) + "}"
    if (not whole.isascii() and _beyond.search(whole) is not None) or len(data := whole.encode()) > MAX_BYTES:
        return None
    return data, {name: part.encode() for name, part in parts.items()}


# The fast path. `json` writes what RFC 8785 asks for as long as there are no floats, integers are safe, keys are strings, and code
# point order is UTF-16 order, which holds below the surrogates. tests/unit/test_canonical.py holds it against the library.


def encoder(sort_keys: bool) -> Callable[[Any], str]:
    """The interpreter's own encoder made once instead of at each call, which halves the cost of a small value; else the public one."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _public_encoder(sort_keys)
    chunks = make(None, None, _quoted, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(chunks(value, 0))


def _public_encoder(sort_keys: bool) -> Callable[[Any], str]:
    return json.JSONEncoder(sort_keys=sort_keys, ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


_quoted: Final = json.encoder.encode_basestring
_encode: Final = encoder(sort_keys=True)
_beyond: Final = re.compile("[\ud800-\U0010ffff]")


def _fast(value: Any) -> bytes | Marker | None:
    weight = _weight(value, MAX_DEPTH)
    if not 0 <= weight <= MAX_BYTES:
        return None if weight < 0 else _HUGE
    text = _encode(value)
    if not text.isascii() and _beyond.search(text) is not None:
        return None
    data = text.encode()
    return data if len(data) <= MAX_BYTES else _HUGE


def _weight(value: Any, depth: int) -> int:
    """Characters and :data:`VALUE` for each value: counted no further than the limit. Negative when the fast path does not apply."""
    kind = type(value)
    if kind is str:
        return VALUE + len(value)
    if kind is int:
        return VALUE if -MAX_INT <= value <= MAX_INT else -1
    if value is None or kind is bool:
        return VALUE
    if depth == 0:
        return -1
    if kind is dict:
        return _dict_weight(value, depth - 1)
    return _list_weight(value, depth - 1) if kind is list else -1


def _dict_weight(value: dict[Any, Any], depth: int) -> int:
    weight = VALUE
    for key, member in value.items():
        part = VALUE + len(member) if type(member) is str else _weight(member, depth)
        if part < 0 or type(key) is not str:
            return -1
        weight += part + len(key)
        if weight > MAX_BYTES:
            break
    return weight


def _list_weight(value: list[Any], depth: int) -> int:
    weight = VALUE
    for member in value:
        part = VALUE + len(member) if type(member) is str else _weight(member, depth)
        if part < 0:
            return -1
        weight += part
        if weight > MAX_BYTES:
            break
    return weight


# The slow path: a plain copy by the rule above, then the library.


def plain(value: Any) -> Any:
    """``value`` in dictionaries, lists and plain values by the rule above. Raises :class:`Uncanonical`."""
    return _Reading().plain(value)


def _slow(value: Any) -> bytes | Marker:
    try:
        data: bytes = rfc8785.dumps(plain(value))
    except Uncanonical as refusal:
        return refusal.marker
    return data if len(data) <= MAX_BYTES else _HUGE


_surrogate: Final = re.compile("[\ud800-\udfff]")


class _Reading:
    """One walk through a value: which containers are open, and how much may still come."""

    __slots__ = ("left", "open")

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.left = MAX_BYTES

    def plain(self, value: Any) -> Any:
        self.spend(VALUE)
        kind = type(value)
        rule = _RULES.get(kind) or _inherited(kind)
        if rule is None:
            raise Uncanonical("type")
        return rule(self, value)

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
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
        self.spend(len(value))
        if not value.isascii() and _surrogate.search(value) is not None:
            raise Uncanonical("surrogate")
        return value

    def array(self, container: Any, members: Iterable[Any]) -> Any:
        return self.within(container, lambda: [self.plain(member) for member in members])

    def object(self, container: Any, members: Iterable[tuple[Any, Any]]) -> Any:
        return self.within(container, lambda: {self.key(name): self.plain(member) for name, member in members})

    def key(self, name: Any) -> str:
        if not issubclass(type(name), str):
            raise Uncanonical("key")
        return self.text(str.__str__(name))


Rule = Callable[[_Reading, Any], Any]


def _itself(_reading: _Reading, value: Any) -> Any:
    return value


def _integer(_reading: _Reading, value: int) -> int:
    exact = int.__int__(value)
    if not -MAX_INT <= exact <= MAX_INT:
        raise Uncanonical("integer")
    return exact


def _float(_reading: _Reading, value: float) -> float:
    exact = float.__float__(value)
    if exact - exact != 0.0:
        raise Uncanonical("nonfinite")
    return exact


def _set(reading: _Reading, value: Any) -> Any:
    members = reading.array(value, frozenset.__iter__(value) if issubclass(type(value), frozenset) else set.__iter__(value))
    return sorted(members, key=rfc8785.dumps)


def _moment(reading: _Reading, value: datetime | time) -> str:
    if type(value.tzinfo) not in (type(None), timezone, ZoneInfo):
        raise Uncanonical("type")
    return reading.text(value.isoformat())


def _decimal(reading: _Reading, value: Decimal) -> str:
    if not value.is_finite():
        raise Uncanonical("nonfinite")
    return reading.text(str(value))


def _bytes(reading: _Reading, value: bytes | bytearray) -> str:
    reading.spend(len(value))
    return b64encode(value).decode()


def _enum(reading: _Reading, value: Enum) -> Any:
    return reading.plain(_member(value, "_value_"))


def _dataclass(reading: _Reading, value: Any) -> Any:
    return reading.object(value, ((each.name, _member(value, each.name)) for each in dataclass_fields(type(value))))


def _model(reading: _Reading, value: BaseModel) -> Any:
    names = type(value).model_fields
    members = [(name, _member(value, name)) for name in names]
    return reading.object(value, [*members, *extra(value).items()])


def _root_model(reading: _Reading, value: Any) -> Any:
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
    list: lambda reading, value: reading.array(value, list.__iter__(value)),
    tuple: lambda reading, value: reading.array(value, tuple.__iter__(value)),
    dict: lambda reading, value: reading.object(value, dict.items(value)),
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

# In order: an enum may be a string or a number as well, and a model's class may be a dataclass.
_INHERITED: Final[tuple[tuple[type, Rule], ...]] = (
    (Enum, _enum),
    (RootModel, _root_model),
    (BaseModel, _model),
    *((kind, _RULES[kind]) for kind in (int, float, str, list, tuple, dict, set, frozenset)),
)


def _inherited(kind: type) -> Rule | None:
    """The rule of a class by its ancestors: their list is read, no ``__instancecheck__`` or ``__class__`` of a proxy is asked."""
    ancestors = kind.__mro__
    for ancestor, rule in _INHERITED:
        if ancestor in ancestors:
            return rule
    return _dataclass if any("__dataclass_fields__" in owner.__dict__ for owner in ancestors) else None
