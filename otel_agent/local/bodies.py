"""Bodies to messages: bounded decompression, then protobuf or JSON, each with bounded nesting.

OTLP's JSON is proto3 JSON with two differences: trace and span ids are hexadecimal, and enumerations are numbers
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
"""

from __future__ import annotations

import binascii
import json
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.json_format import Error as JsonError
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError, Message

from otel_agent.local.refusals import ENCODING, MALFORMED, TOO_DEEP, TOO_LARGE, Refused

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"

_WINDOW: Final[Mapping[str, int]] = {"gzip": 31, "deflate": 15}
_PLAIN: Final = frozenset({"", "identity"})
_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})
_GZIP_MAGIC: Final = b"\x1f\x8b"

_UNREADABLE: Final = (JsonError, ValueError, TypeError, AttributeError, KeyError, OverflowError)
"""What the JSON readers raise on bodies of the wrong shape."""

MAX_MEMBERS: Final = 64
"""Compressed members in one body, at the most: what follows one is copied to read the next."""

MAX_JSON_VALUES: Final = 1_000_000
"""Values in one JSON body, at the most: as Python objects they take some fifty times the room of ``[],``."""


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """Decompress at most ``limit`` bytes; stops there, so a bomb costs no more than an honest body."""
    if encoding in _PLAIN:
        return body
    if encoding not in _WINDOW:
        raise Refused(ENCODING)
    inflated = bytearray()
    members = 0
    while body:
        members += 1
        if members > MAX_MEMBERS:
            raise Refused(TOO_LARGE)
        try:
            body = _inflate_member(body, _WINDOW[encoding], limit, inflated)
        except zlib.error:
            raise Refused(MALFORMED) from None
    return bytes(inflated)


def _inflate_member(body: bytes, window: int, limit: int, inflated: bytearray) -> bytes:
    """Append one compressed member to ``inflated``; what follows it."""
    stream = zlib.decompressobj(window)
    inflated += stream.decompress(body, limit + 1 - len(inflated))
    if len(inflated) > limit:
        raise Refused(TOO_LARGE)
    if not stream.eof:
        raise Refused(MALFORMED)
    return stream.unused_data


def gunzip_if_marked(body: bytes, limit: int) -> bytes:
    """Decompress a gRPC message that is gzip. No protobuf message begins with gzip's first byte: its wire type is invalid."""
    return inflate(body, "gzip", limit) if body.startswith(_GZIP_MAGIC) else body


def from_protobuf(body: bytes, kind: type[Message], max_depth: int) -> Message:
    """Parse protobuf. Its runtime refuses nesting over 100 by itself, whatever ``max_depth`` says."""
    del max_depth
    message = kind()
    try:
        message.ParseFromString(body)
    except DecodeError:
        raise Refused(MALFORMED) from None
    return message


def from_json(body: bytes, kind: type[Message], max_depth: int) -> Message:
    """Parse OTLP JSON; unknown fields are ignored, as the protocol asks."""
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MAX_JSON_VALUES:
        raise Refused(TOO_LARGE)
    message = kind()
    try:
        document = json.loads(body.decode("utf-8"))
        if not isinstance(document, dict):
            raise Refused(MALFORMED)
        converted = _with_binary_ids(document, max_depth)
        ParseDict(converted, message, ignore_unknown_fields=True, max_recursion_depth=max_depth)
    except RecursionError:
        raise Refused(TOO_DEEP) from None
    except _UNREADABLE:
        raise Refused(MALFORMED) from None
    return message


def _with_binary_ids(value: Any, depth: int) -> Any:
    """The same document with hexadecimal ids in base64, where proto3 JSON expects it; ``depth`` levels at the most."""
    if depth < 0:
        raise Refused(TOO_DEEP)
    if isinstance(value, list):
        return [_with_binary_ids(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {key: _base64(item) if key in _IDS else _with_binary_ids(item, depth - 1) for key, item in value.items()}
    return value


def _base64(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused(MALFORMED)
    try:
        return b64encode(binascii.unhexlify(value)).decode("ascii")
    except ValueError:
        raise Refused(MALFORMED) from None


READERS: Final = {PROTOBUF: from_protobuf, JSON: from_json}
