"""Raw responses (``with_raw_response``, ``with_streaming_response``): the wrapper reaches the caller untouched.

A body that has been read already is parsed from its bytes by us; one that has not is waited for: the caller's ``parse()`` or ``close()``
tells. A body read through byte or line iterators is not seen, and the record says that usage is missing.
"""

from __future__ import annotations

import json
import weakref
from typing import Any, Final

from otel_agent import guard
from otel_agent.instrument import streams
from otel_agent.instrument.calls import Call
from otel_agent.protocol import ResponseFacts
from otel_agent.records.closed import StreamEnd

_waiting: Final[weakref.WeakKeyDictionary[Any, tuple[Call, weakref.finalize[Any, Any]]]] = weakref.WeakKeyDictionary()
"""Calls whose raw response has not been read yet, with what ends them when the response dies unread."""

MAX_BODY: Final = 32 * 1024 * 1024
"""Bytes of a body that we parse a second time; a longer one is recorded without usage."""


def watch(response: Any, call: Call) -> None:
    """Take a raw response: read its facts now if its body is there, else wait for the caller to read it."""
    call.read_headers(response.http_response)
    body = body_of(response.http_response)
    if body is not None:
        return call.succeed(body)
    _waiting[response] = (call, weakref.finalize(response, _finish, call, "abandoned"))
    return None


def _taken(response: Any) -> Call | None:
    """The call of a waiting response, which from now on outlives it: a stream parsed from it may be read long after."""
    call, finalizer = _waiting.pop(response, (None, None))
    if finalizer is not None:
        finalizer.detach()
    return call


def parsed(response: Any, result: Any, stream_types: tuple[type, ...]) -> None:
    """The caller parsed a waiting response into ``result``."""
    call = _taken(response)
    if call is None:
        return
    if isinstance(result, stream_types):
        streams.tap(result, call)
    else:
        call.succeed(result)


def closed(response: Any) -> None:
    """The caller closed a waiting response."""
    call = _taken(response)
    if call is None:
        return
    body = body_of(response.http_response)
    if body is None:
        _finish(call, "closed")
    else:
        call.succeed(body)


def body_of(http_response: Any) -> Any:
    """The JSON body, when its bytes are in memory already; ``None`` else. Never reads from the network."""
    content = getattr(http_response, "_content", None)
    if not isinstance(content, bytes) or len(content) > MAX_BODY:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _finish(call: Call, end: StreamEnd) -> None:
    guard.run("raw.end", call.finish, ResponseFacts(), end)
