"""HTTP connections that are given up: a request must begin within a time, whatever trickles in meanwhile.

uvicorn bounds the pause between two requests, until the first byte of the second; a connection that says nothing at all, or a header
a byte at a time, would hold its place for ever, and there are only so many.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SPARE: Final = 64
"""Connections beyond the limit that get an answer, which says so."""


class PatientProtocol(H11Protocol):
    """Looks at its connection every ``patience`` seconds, and closes it when no request has begun since the last time."""

    patience: ClassVar[float] = 30.0
    _look: asyncio.TimerHandle | None = None
    _seen: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look; beyond the limit and those that are still told of it, hang up."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency + SPARE:
            transport.abort()
            return
        self._look = self.loop.call_later(self.patience, self._judge)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _judge(self) -> None:
        answered = self.cycle is None or self.cycle.response_complete
        if answered and self.cycle is self._seen:
            self.transport.close()
            return
        self._seen = self.cycle
        self._look = self.loop.call_later(self.patience, self._judge)
