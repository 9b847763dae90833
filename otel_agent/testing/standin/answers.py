"""From a step to what is sent: a status, headers, and either a body or paced chunks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from otel_agent.testing.standin.rendering import Format
from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import (
    Answerable,
    Body,
    BreakOff,
    Chopped,
    Failure,
    Held,
    RawStream,
    Reply,
    SlowReply,
    StreamError,
)
from otel_agent.testing.standin.wire.frames import encode

EVENT_STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that are flushed together, `wait` seconds after the chunk before, and not before `gate` is set."""

    data: bytes
    wait: float = 0.0
    gate: threading.Event | None = None
    gate_timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent. `chunks` makes it a chunked answer; without, `body` goes out with its length.

    `cut` breaks the connection before the answer is complete: after the last chunk, or in the middle of the body.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    chunks: Iterable[Chunk] | None = None
    before: float = 0.0
    cut: bool = False


class Desk(Protocol):
    """What turns steps into answers for one request."""

    request: Request
    format: Format
    request_id: str

    def render(self, reply: Reply) -> bytes | Iterator[bytes]:
        """A reply as a body, or as events when the request asks for a stream."""


def answer(step: Answerable, desk: Desk) -> Answer:
    """What a step sends to that request."""
    return _ANSWERS[type(step)](step, desk)


def _reply(step: Reply, desk: Desk) -> Answer:
    rendered = desk.render(step)
    headers = tuple(step.headers.items())
    if isinstance(rendered, bytes):
        return Answer(rendered, headers=headers)
    return Answer(content_type=EVENT_STREAM, headers=headers, chunks=map(Chunk, rendered))


def _failure(step: Failure, desk: Desk) -> Answer:
    body = desk.format.error_body(step, _message(step, desk.request), desk.request_id)
    return Answer(encode(body), step.status, headers=tuple({**_retry(step), **step.headers}.items()))


def _retry(step: Failure) -> Mapping[str, str]:
    """Both headers that SDKs read; they take no zero, so the shortest wait is a millisecond."""
    if step.retry_after is None:
        return {}
    return {"retry-after": f"{step.retry_after:g}", "retry-after-ms": f"{max(1, step.retry_after * 1000):g}"}


def _message(step: Failure, request: Request) -> str:
    words = step.message or _USUAL_MESSAGES.get(step.status, "Internal server error")
    return f"{words} (in: {request.last_user_text})" if step.echo_request else words


_USUAL_MESSAGES: Mapping[int, str] = {
    400: "The request is invalid.",
    401: "invalid x-api-key",
    403: "Your account may not use this resource.",
    404: "The requested resource could not be found.",
    408: "Request timed out.",
    413: "Request exceeds the maximum size.",
    429: "This request would exceed your rate limit.",
    529: "Overloaded",
}


def _body(step: Body, _desk: Desk) -> Answer:
    sent = step.content if isinstance(step.content, bytes) else encode(step.content)
    return Answer(sent, step.status, step.content_type, tuple(step.headers.items()))


def _raw_stream(step: RawStream, _desk: Desk) -> Answer:
    chunks = [Chunk(data) for data in step.chunks]
    return Answer(b"", step.status, step.content_type, tuple(step.headers.items()), chunks)


def _slow(step: SlowReply, desk: Desk) -> Answer:
    inner = answer(step.step, desk)
    paced = None if inner.chunks is None else _paced(inner.chunks, step)
    return replace(inner, chunks=paced, before=inner.before + step.before)


def _paced(chunks: Iterable[Chunk], step: SlowReply) -> Iterator[Chunk]:
    last = len(step.delays) - 1
    for index, chunk in enumerate(chunks):
        yield replace(chunk, wait=chunk.wait + (step.delays[min(index, last)] if step.delays else 0.0))


def _broken(step: BreakOff, desk: Desk) -> Answer:
    inner = answer(step.step, desk)
    kept = None if inner.chunks is None else islice(inner.chunks, step.after_events)
    return replace(inner, chunks=kept, cut=not step.clean or kept is None)


def _stream_error(step: StreamError, desk: Desk) -> Answer:
    inner = answer(step.step, desk)
    if inner.chunks is None:
        return inner
    return replace(inner, chunks=_then(islice(inner.chunks, step.after_events), Chunk(desk.format.error_event(step))))


def _then(chunks: Iterable[Chunk], last: Chunk) -> Iterator[Chunk]:
    yield from chunks
    yield last


def _chopped(step: Chopped, desk: Desk) -> Answer:
    inner = answer(step.step, desk)
    if inner.chunks is None:
        return inner
    whole = b"".join(chunk.data for chunk in inner.chunks)
    return replace(inner, chunks=[Chunk(whole[at : at + step.size]) for at in range(0, len(whole), step.size)])


def _held(step: Held, desk: Desk) -> Answer:
    inner = answer(step.step, desk)
    return inner if inner.chunks is None else replace(inner, chunks=_gated(inner.chunks, step))


def _gated(chunks: Iterable[Chunk], step: Held) -> Iterator[Chunk]:
    for index, chunk in enumerate(chunks):
        held = index == step.at_event
        yield replace(chunk, gate=step.gate, gate_timeout=step.timeout) if held else chunk


_ANSWERS: Mapping[type[Answerable], Callable[[Any, Desk], Answer]] = {
    Reply: _reply,
    Failure: _failure,
    Body: _body,
    RawStream: _raw_stream,
    SlowReply: _slow,
    BreakOff: _broken,
    StreamError: _stream_error,
    Chopped: _chopped,
    Held: _held,
}
