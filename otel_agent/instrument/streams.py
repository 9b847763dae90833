"""Taps on streams: the object the caller gets is the SDK's own, only its source of events passes through us.

Each event is handed on at once and untouched. Whatever ends the stream first (exhaustion, ``close``, an exception, cancellation, the
object's death) ends the call, once. Nothing here keeps the stream or its HTTP response alive.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from otel_agent import guard
from otel_agent.instrument.calls import Call
from otel_agent.protocol import SILENT, ResponseFacts, StreamAccumulator
from otel_agent.records.closed import StreamEnd

_taps: Final[weakref.WeakKeyDictionary[Any, StreamTap]] = weakref.WeakKeyDictionary()


class StreamTap:
    """Feeds one stream's events to an accumulator and ends its call."""

    __slots__ = ("__weakref__", "_accumulator", "_call", "_times")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._accumulator: StreamAccumulator = call.adapter.accumulator(call.facts, call.answer)
        self._times = call.stream_times()

    def feed(self, event: Any) -> None:
        """Read one event; runs under the guard, per chunk."""
        times = self._times
        times.chunks += 1
        phase = self._accumulator.feed(event)
        if phase is SILENT:
            self._call.notice(event)
        elif phase is not times.phase:
            times.enter(phase, self._call.now)

    def end(self, how: StreamEnd, error: BaseException | None = None) -> None:
        """The stream is over. Safe from finalisers, see :mod:`otel_agent.collected`."""
        guard.run("stream.end", self._end, how, error)

    def _end(self, how: StreamEnd, error: BaseException | None) -> None:
        self._times.close(self._call.now)
        failure = None if error is None else self._call.failure(error)
        facts = guard.run("stream.facts", self._accumulator.finish) or ResponseFacts()
        self._call.finish(facts, how, failure)

    def stop(self, complete: bool) -> None:
        """The source of events stopped: at its end, or by the exception that is under way."""
        if complete:
            return self.end("read")
        error = sys.exception()
        if error is None or issubclass(type(error), GeneratorExit):
            return self.end("abandoned")
        return self.end("cancelled" if issubclass(type(error), (asyncio.CancelledError, KeyboardInterrupt)) else "failed", error)


def tap(stream: Any, call: Call) -> None:
    """Put a tap on an SDK stream (sync or async). The stream's type, attributes and protocols stay as they are."""
    made = StreamTap(call)
    source = stream._iterator  # noqa: SLF001 - the one place between the bytes and every way to read them
    stream._iterator = _watch_async(source, made) if hasattr(source, "__anext__") else _watch(source, made)  # noqa: SLF001
    _taps[stream] = made
    # A generator that was never started runs no ``finally`` when it dies: this ends the call of a stream nobody read.
    weakref.finalize(stream, made.end, "abandoned")


def closed(stream: Any) -> None:
    """The caller closed ``stream``: a no-op when it had been read to its end, or is not ours."""
    made = _taps.get(stream)
    if made is not None:
        made.end("closed")


def _watch(source: Iterator[Any], made: StreamTap) -> Iterator[Any]:
    complete = False
    try:
        yield from guard.watched("stream.feed", source, made.feed)
        complete = True
    finally:
        made.stop(complete)


async def _watch_async(source: AsyncIterator[Any], made: StreamTap) -> AsyncIterator[Any]:
    complete = False
    try:
        async for event in guard.watched_async("stream.feed", source, made.feed):
            yield event
        complete = True
    finally:
        made.stop(complete)
