"""Counts what a protobuf body would expand to, before it is expanded.

An empty span is two bytes on the wire and two hundred in memory, so a bound on bytes alone is none on memory. The walk reads field
headers only, and only on the way down to the records; it stops soon after the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

Path = tuple[frozenset[int], ...]
"""Field numbers on the way from the request to its records, one set a level."""

_VARINT: Final = 0
_BYTES: Final = 2
_FIXED: Final = {1: 8, 5: 4}


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    """A value and what follows it. Raises ``ValueError`` on bytes that are none."""
    value = shift = 0
    while at < end and shift < 64:
        byte = body[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError


def _next(body: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Number of the field at ``at``, where its bytes begin and end (nowhere for numbers), and where the next one is."""
    tag, at = _varint(body, at, end)
    kind = tag & 7
    if kind == _VARINT:
        after = _varint(body, at, end)[1]
        return tag >> 3, after, after, after
    if kind == _BYTES:
        size, at = _varint(body, at, end)
        return tag >> 3, at, at + size, at + size
    after = at + _FIXED[kind]
    return tag >> 3, after, after, after


def _fields(body: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Fields of one message until its end, or until bytes that are none: the parser will refuse those."""
    while at < end:
        try:
            number, start, stop, at = _next(body, at, end)
        except (ValueError, KeyError):
            return
        if at > end:
            return
        yield number, start, stop


def count(body: bytes, path: Path, limit: int) -> int:
    """Fields met on the way down ``path``, the records among them; at most ``limit`` and one."""
    total = 0
    waiting = [(0, len(body), 0)]
    while waiting:
        at, end, level = waiting.pop()
        for number, start, stop in _fields(body, at, end):
            total += 1
            if total > limit:
                return total
            if number in path[level] and level + 1 < len(path):
                waiting.append((start, stop, level + 1))
    return total
