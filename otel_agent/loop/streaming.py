"""A request that is streamed: the SDK's stream, read to its end."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class BrokenStream(ConnectionError):
    """The stream ended before the reply was whole."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """``final``: the whole reply, where an event brings it. ``on_event``: shown each of the SDK's events as it comes."""

    final: Callable[[Any], Any]
    on_event: Callable[[Any], object] | None = None

    def reply(self, opened: Any) -> Any:
        """The whole reply at the end of what a client opened; an awaitable of it where the client is asynchronous."""
        waits = inspect.isawaitable(opened) or hasattr(opened, "__aenter__")
        return self._awaited(opened) if waits else self._read(opened)

    def _read(self, opened: Any) -> Any:
        last = None
        with opened as events:
            for last in events:
                self._show(last)
        return self._whole(last)

    async def _awaited(self, opened: Any) -> Any:
        last = None
        async with await opened if inspect.isawaitable(opened) else opened as events:
            async for last in events:
                self._show(last)
        return self._whole(last)

    def _show(self, event: Any) -> None:
        if self.on_event is not None:
            self.on_event(event)

    def _whole(self, last: Any) -> Any:
        reply = self.final(last)
        if reply is None:
            raise BrokenStream
        return reply
