"""Admission: how much may be in flight between a sender and the disk, in requests and in bytes.

A request holds one *ticket* from its first byte to its answer. What does not fit is refused at once and may be sent again:
memory stays bounded, and the sender learns of it.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from otel_agent.local.refusals import BUSY, Refused


class Admission:
    """The count of what is in flight. Thread-safe."""

    def __init__(self, *, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self.requests = 0
        self.bytes = 0

    def change(self, requests: int, size: int) -> None:
        """Add to both counts; what would go over a limit raises :class:`Refused`. Giving back never does."""
        with self._lock:
            if requests + size > 0 and (self.requests + requests > self._max_requests or self.bytes + size > self._max_bytes):
                raise Refused(BUSY)
            self.requests += requests
            self.bytes += size

    def ticket(self) -> Ticket:
        """A place for one request. Raises :class:`Refused` when all are taken."""
        self.change(1, 0)
        return Ticket(self)


class Ticket:
    """One request's share; leaving the ``with`` block gives it back."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._size = 0

    def grow(self, size: int) -> None:
        """Claim ``size`` more bytes. Raises :class:`Refused` when there is no room."""
        self._admission.change(0, size)
        self._size += size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._admission.change(-1, -self._size)
