"""JSON bytes and server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

DONE = b"data: [DONE]\n\n"


def encode(value: Any) -> bytes:
    """Compact UTF-8 JSON; a lone surrogate, which UTF-8 cannot hold, is escaped."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def named(event: str, payload: Any) -> bytes:
    """An event with a name, as Anthropic and OpenAI Responses send it."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), encode(payload))


def typed(payload: dict[str, Any]) -> bytes:
    """An event named after its payload's `type`."""
    return named(str(payload["type"]), payload)


def unnamed(payload: Any) -> bytes:
    """An event without a name, as chat completions send it."""
    return b"data: %b\n\n" % encode(payload)


def pieces(text: str, size: int) -> Iterator[str]:
    """The text in pieces of `size` characters; nothing for an empty text."""
    return (text[start : start + size] for start in range(0, len(text), max(1, size)))
