"""A request as it goes out: recognising, by its bytes, messages that were sent before.

Comparing objects costs a visit to each dictionary and list of the history, which have left the processor's caches since the last turn:
half a microsecond a message and more. The bytes lie in one piece and have just been written. So a conversation keeps a :class:`Mark`, a
hash over the bytes of its settled messages, and a request whose bytes give the same hash repeats those messages. The bytes themselves are
not kept: they hold all that was sent.

The hash is the interpreter's own (SipHash, 64 bits, under a random key of the process), so it leaves the process nowhere and says nothing.
What cannot be read here (another encoding, a body that is no JSON object, large texts) is compared as objects, at their cost.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, Self

from otel_agent.stored import instance_dict

MAX_HEAD: Final = 4096
"""Bytes in which the array of messages must begin. The SDKs write it among the first members."""

MAX_MEAN: Final = 4096
"""Bytes per message up to which hashing them costs less than comparing objects."""

# All repetitions are possessive: they never try again, so the time is linear in the bytes, whatever these are.
_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_FLAT: Final = rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+"
_MEMBER: Final = _STRING + rb"\s*+:\s*+(?:" + _STRING + rb"|[^\"{}\[\],]++|\[" + _FLAT + rb"\]|\{" + _FLAT + rb"\})\s*+,\s*+"
_HEAD: Final = rb"\s*+\{\s*+(?:(?!%(array)b)" + _MEMBER + rb")*+%(array)b\s*+:\s*+\[\s*+"
_HEADS: Final = {array: re.compile(_HEAD % {b"array": b'"%b"' % array.encode()}, re.DOTALL) for array in ("messages", "input")}
"""Up to the first message, past members whose values hold no containers of containers."""
_BRACKET: Final = re.compile(_FLAT + rb"([{}\[\]])", re.DOTALL)
_NEXT: Final = re.compile(rb"\s*+,\s*+(?=\{)")
_OPENING: Final = frozenset(b"{[")


class Mark(NamedTuple):
    """The bytes of so many leading messages, from the first one's first to the last one's last."""

    messages: int
    length: int
    hash: int


class Wire:
    """The body of one request."""

    __slots__ = ("_hashes", "_start", "_view", "data")

    def __init__(self, data: bytes, start: int) -> None:
        self.data = data
        self._view = memoryview(data)
        self._start = start
        self._hashes: dict[int, int] = {}

    @classmethod
    def of(cls, request: Any, array: str) -> Self | None:
        """The body of an HTTP request of an SDK's; ``array``: the member that holds the messages. ``None`` where it cannot be used."""
        own = instance_dict(request)
        data = None if own is None else own.get("_content")  # the property of the same name raises where the body is a stream
        if type(data) is not bytes or (head := _HEADS[array].match(data, 0, MAX_HEAD)) is None or data[head.end() : head.end() + 1] != b"{":
            return None
        return cls(data, head.end())

    def repeats(self, mark: Mark) -> bool:
        """Whether this request begins with the very messages of ``mark``."""
        end = self._start + mark.length
        return self.data[end : end + 1] in (b",", b"]", b" ", b"\n") and self._hash(mark.length) == mark.hash

    def mark(self, messages: int, known: Mark | None) -> Mark | None:
        """A mark over the first ``messages``, reading on from ``known``, which this request must repeat. ``None`` where there is none."""
        done, at = (0, self._start) if known is None else (known.messages, self._next(self._start + known.length))
        limit = self._start + messages * MAX_MEAN
        while at is not None and (end := self._end(at, limit)) is not None:
            done += 1
            if done == messages:
                return Mark(messages, end - self._start, self._hash(end - self._start))
            at = self._next(end)
        return None

    def _hash(self, length: int) -> int:
        found = self._hashes.get(length)
        if found is None:
            found = self._hashes[length] = hash(self._view[self._start : self._start + length])
        return found

    def _next(self, end: int) -> int | None:
        """Where the message begins that follows one that ends at ``end``."""
        comma = _NEXT.match(self.data, end)
        return None if comma is None else comma.end()

    def _end(self, at: int, limit: int) -> int | None:
        """The end of the object that begins at ``at``: the bracket that closes its first one. ``None`` when it is beyond ``limit``."""
        depth = 0
        while (bracket := _BRACKET.match(self.data, at, limit)) is not None:
            at = bracket.end()
            depth += 1 if self.data[at - 1] in _OPENING else -1
            if depth == 0:
                return at
        return None
