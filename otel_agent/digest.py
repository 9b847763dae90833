"""Keyed digests: the only thing kept of a value.

``hmac-sha256:<key id>:<hex>`` is HMAC-SHA-256 under a key of the deployment. For a value it is taken over its canonical bytes
(:mod:`otel_agent.canonical` holds the rule), for visible text over the UTF-8 bytes of the text itself, so that text can be digested piece
by piece as it comes. There is no unkeyed mode: an unkeyed hash of a customer number is found by trying them all. Beside a digest stands a
size band, never a length. What has no canonical bytes gets a marker, ``uncanonical:<reason>``.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from otel_agent import fields, guard
from otel_agent.canonical import HUGE, MAX_BYTES, PREFIX, Marker, canonical, members, weighed

MIN_KEY: Final = 16
MAX_TOGETHER: Final = MAX_BYTES
"""What is walked through of one call's arguments, each digested on its own, while the caller waits."""
_FAILED: Final = (Marker(PREFIX + "type"), MAX_BYTES)
_NO_NAME: Final = (None, fields.OTHER)
_BLOCK: Final = 64
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


class ArgumentDigests(NamedTuple):
    """Digests of the arguments a tool's schema declares, sorted by name. ``undeclared`` is ``None`` when there is no schema."""

    names: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    undeclared: int | None = None


@dataclass(frozen=True)
class Digester:
    """Digests under one key. Shared between threads: it holds nothing that changes."""

    key: bytes = field(repr=False)
    key_id: str
    _inner: Any = field(init=False, repr=False, compare=False)
    _outer: Any = field(init=False, repr=False, compare=False)
    _head: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.key) < MIN_KEY:
            raise ValueError(f"the digest key needs at least {MIN_KEY} bytes")
        if re.fullmatch(fields.KEY_ID, self.key_id) is None:
            raise ValueError("the key id is one word of lower-case letters, digits, _ and -, at most 32")
        block = _padded(self.key)
        object.__setattr__(self, "_inner", hashlib.sha256(block.translate(_INNER)))
        object.__setattr__(self, "_outer", hashlib.sha256(block.translate(_OUTER)))
        object.__setattr__(self, "_head", f"hmac-sha256:{self.key_id}:")

    @classmethod
    def of_key(cls, key: bytes, key_id: str | None = None) -> Digester:
        """For a configured key. Without a key id one is derived from the key, one way, so that equal keys are told by equal ids."""
        return cls(key, key_id or "k" + hmac.digest(key, b"otel_agent key id", "sha256").hex()[:12])

    @classmethod
    def ephemeral(cls) -> Digester:
        """With a random key: digests show repeats inside this process and promise nothing beyond it."""
        return cls(secrets.token_bytes(32), "ephemeral-" + secrets.token_hex(4))

    @property
    def is_ephemeral(self) -> bool:
        """True when digests of another process cannot match."""
        return self.key_id.startswith("ephemeral-")

    def digest(self, value: Any) -> str:
        """Digest of a value, or a marker. Never raises."""
        return self.digest_with_band(value)[0]

    def digest_with_band(self, value: Any) -> tuple[str, int | None]:
        """Digest and size band of the canonical bytes; a marker has no band. Never raises."""
        data = guard.run("digest", canonical, value)
        if type(data) is bytes:
            return self._head + self.mac(data).hex(), fields.size_band(len(data))
        return (str.__str__(data) if type(data) is Marker else PREFIX + "type"), None

    def digest_text(self, text: str) -> str:
        """Digest of visible text: what :class:`AnswerDigest` gives for the same text in pieces. ``""`` has one too."""
        try:
            return self.written(self.mac(text.encode()))
        except UnicodeEncodeError:
            return PREFIX + "surrogate"

    def call(self, arguments: Any, declared_names: Collection[str] | None) -> tuple[str, int | None, ArgumentDigests]:
        """:meth:`digest_with_band` and :meth:`arguments` of the same arguments, writing each once where that can be. Never raises."""
        found = None if declared_names is None else guard.run("digest", members, arguments)
        if found is None or declared_names is None:
            return *self.digest_with_band(arguments), self.arguments(arguments, declared_names)
        whole, parts = found
        given = [name for name in parts if name in declared_names]
        kept = tuple([name for name in given if fields.tool_name(name) not in _NO_NAME][: fields.MAX_ITEMS])
        digests = tuple([self.written(self.mac(parts[name])) for name in kept])
        return self.written(self.mac(whole)), fields.size_band(len(whole)), ArgumentDigests(kept, digests, len(parts) - len(given))

    def arguments(self, arguments: Any, declared_names: Collection[str] | None) -> ArgumentDigests:
        """Digests by name for the arguments that the schema declares; the rest is counted, since a model's own name is text."""
        if declared_names is None or not issubclass(type(arguments), dict):
            return ArgumentDigests()
        given = [name for name in dict.keys(arguments) if type(name) is str and name in declared_names]
        kept = sorted(name for name in given if fields.tool_name(name) not in _NO_NAME)[: fields.MAX_ITEMS]
        digests = tuple(self._each([dict.__getitem__(arguments, name) for name in kept]))
        return ArgumentDigests(tuple(kept), digests, dict.__len__(arguments) - len(given))

    def _each(self, values: list[Any]) -> Iterator[str]:
        """Digest of each; ``uncanonical:size`` from where more was walked through than :data:`MAX_TOGETHER`."""
        left = MAX_TOGETHER
        for value in values:
            data, spent = (guard.run("digest", weighed, value) or _FAILED) if left > 0 else (HUGE, 0)
            left -= spent
            yield str.__str__(data) if isinstance(data, Marker) else self.written(self.mac(data))

    def mac(self, data: bytes) -> bytes:
        """HMAC-SHA-256 of ``data``: 32 bytes.

        Two copied states cost half of what ``hmac.digest`` does, which looks the hash up and pads the key each time.
        """
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(data)
        outer.update(inner.digest())
        made: bytes = outer.digest()
        return made

    def opened(self) -> Any:
        """A running inner hash, to be fed with ``update`` and given to :meth:`closed`."""
        return self._inner.copy()

    def closed(self, inner: Any) -> bytes:
        """The HMAC of what a running hash was fed; it may be fed further."""
        outer = self._outer.copy()
        outer.update(inner.digest())
        return bytes(outer.digest())

    def written(self, mac: bytes) -> str:
        """A digest as records hold it."""
        return self._head + mac.hex()


def _padded(key: bytes) -> bytes:
    """The key as RFC 2104 puts it before the data: two copies of the padded hash state are then enough for every digest."""
    short = key if len(key) <= _BLOCK else hashlib.sha256(key).digest()
    return short.ljust(_BLOCK, b"\0")


class AnswerDigest:
    """Running digest and size of an answer's visible text; an :class:`otel_agent.protocol.Answer`. Keeps no text.

    However the text was cut, the result is :meth:`Digester.digest_text` of the whole.
    """

    __slots__ = ("_digester", "_feed", "_inner", "_length", "_torn")

    def __init__(self, digester: Digester) -> None:
        self._digester = digester
        self._inner = digester.opened()
        self._feed = self._inner.update
        self._length = 0
        self._torn = False

    def update(self, text: str) -> None:
        """Add a piece of visible text."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            self._torn = True
            return
        self._feed(data)
        self._length += len(data)

    def result(self) -> tuple[str, int | None] | None:
        """Digest and size band so far; ``None`` when there was no text, a marker when a surrogate stood alone (a pair cut in two too)."""
        if self._torn:
            return PREFIX + "surrogate", None
        if self._length == 0:
            return None
        return self._digester.written(self._digester.closed(self._inner)), fields.size_band(self._length)
