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
                                 sixteen more, which bounds how many values are walked through; arrays and objects in
                                 a set count once more for being sorted
anything else                    marker ``type``
===============================  ==================================================================================

No object of the caller's is copied, pickled, compared or turned into a string, and no method or property of it is called: fields are
read from where the instance stores them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import rfc8785

from otel_agent.plain_values import HUGE, MAX_BYTES, MAX_DEPTH, MAX_INT, MAX_MEMBERS, PREFIX, VALUE, Marker, Reading, Uncanonical

__all__ = ["HUGE", "MAX_BYTES", "MAX_DEPTH", "PREFIX", "Marker", "Uncanonical", "canonical", "encoder", "is_marker", "members", "weighed"]


def is_marker(digest: str) -> bool:
    """True for a marker read back as a plain string. Two equal markers say nothing about the values behind them."""
    return digest.startswith(PREFIX)


def canonical(value: Any) -> bytes | Marker:
    """Canonical bytes of ``value``, or the marker that says why it has none."""
    return weighed(value)[0]


def weighed(value: Any) -> tuple[bytes | Marker, int]:
    """:func:`canonical` of ``value``, and what of it was walked through: characters and :data:`VALUE` for each value."""
    if type(value) is Marker:
        return value, VALUE
    weight = _weight(value, MAX_DEPTH)
    if weight > MAX_BYTES:
        return HUGE, weight
    data = _fast(value) if weight >= 0 else None
    return _slow(value) if data is None else (data, weight)


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
    text = _encode(value)
    if not text.isascii() and _beyond.search(text) is not None:
        return None
    data = text.encode()
    return data if len(data) <= MAX_BYTES else HUGE


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
    if len(value) > MAX_MEMBERS:
        return MAX_BYTES + 1
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
    if len(value) > MAX_MEMBERS:
        return MAX_BYTES + 1
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


def _slow(value: Any) -> tuple[bytes | Marker, int]:
    reading = Reading()
    try:
        data: bytes = rfc8785.dumps(reading.plain(value))
    except Uncanonical as refusal:
        return refusal.marker, MAX_BYTES - reading.left
    return data if len(data) <= MAX_BYTES else HUGE, MAX_BYTES - reading.left
