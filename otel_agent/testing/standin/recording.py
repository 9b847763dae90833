"""What was asked, and how the answer went."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from otel_agent.testing.standin.request import Request


@dataclass(slots=True)
class Exchange:
    """A request and the fate of its answer. `outcome` is None while the answer is on its way."""

    request: Request
    status: int = 0
    script: str = ""
    position: int = 0
    events_sent: int = 0
    outcome: str | None = None
    _done: threading.Event = field(default_factory=threading.Event, repr=False)

    def sent(self, events: int) -> None:
        """So many chunks have left."""
        self.events_sent = events

    def ended(self, how: str) -> None:
        """The answer ended: `whole`, `cut` by the script, or `client_gone`."""
        self.outcome = how
        self._done.set()

    def wait(self, timeout: float = 10.0) -> str | None:
        """The outcome, waiting for it if need be."""
        self._done.wait(timeout)
        return self.outcome


class Recording:
    """The newest exchanges, bounded in number and in body bytes; `dropped` counts those that were let go."""

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._lock = threading.Lock()
        self._kept: deque[Exchange] = deque()
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._bytes = 0
        self.total = 0
        self.dropped = 0

    def add(self, exchange: Exchange) -> None:
        """Keep an exchange, letting the oldest go where there is no more room."""
        with self._lock:
            self._kept.append(exchange)
            self._bytes += len(exchange.request.body)
            while len(self._kept) > 1 and self._is_over():
                self._bytes -= len(self._kept.popleft().request.body)
                self.dropped += 1

    def next_number(self) -> int:
        """The number of the request that comes now, from 1."""
        with self._lock:
            self.total += 1
            return self.total

    def exchanges(self) -> tuple[Exchange, ...]:
        """Oldest first."""
        with self._lock:
            return tuple(self._kept)

    def clear(self) -> None:
        """Forget every exchange."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def _is_over(self) -> bool:
        return len(self._kept) > self._max_requests or self._bytes > self._max_bytes
