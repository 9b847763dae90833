"""A request that is streamed: the SDK's stream, read to its end."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class BrokenStream(ConnectionError):
    """The stream ended before the reply was whole."""


class Gathering(Protocol):
    """One reply as it comes."""

    def take(self, event: Any) -> None:
        """The next event."""

    def whole(self) -> Any:
        """The reply; ``None`` while it is not whole."""


class Last:
    """A reply that the last event brings: ``final`` takes it out, and finds none in any other."""

    def __init__(self, final: Callable[[Any], Any]) -> None:
        self._final = final
        self._event: Any = None

    def take(self, event: Any) -> None:
        """Keep the newest."""
        self._event = event

    def whole(self) -> Any:
        """The reply in it."""
        return self._final(self._event)


@dataclass(frozen=True, slots=True)
class Streaming:
    """``gather``: begins a reply. ``on_event``: shown each of the SDK's events as it comes."""

    gather: Callable[[], Gathering]
    on_event: Callable[[Any], object] | None = None

    def reply(self, opened: Any) -> Any:
        """The whole reply at the end of what a client opened; an awaitable of it where the client is asynchronous."""
        waits = inspect.isawaitable(opened) or hasattr(opened, "__aenter__")
        return self._awaited(opened) if waits else self._read(opened)

    def _read(self, opened: Any) -> Any:
        gathered = self.gather()
        with opened as events:
            for event in events:
                self._take(gathered, event)
        return _whole(gathered)

    async def _awaited(self, opened: Any) -> Any:
        gathered = self.gather()
        async with await opened if inspect.isawaitable(opened) else opened as events:
            async for event in events:
                self._take(gathered, event)
        return _whole(gathered)

    def _take(self, gathered: Gathering, event: Any) -> None:
        gathered.take(event)
        if self.on_event is not None:
            self.on_event(event)


def _whole(gathered: Gathering) -> Any:
    reply = gathered.whole()
    if reply is None:
        raise BrokenStream
    return reply
