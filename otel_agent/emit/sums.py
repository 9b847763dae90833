"""Counters whose points are added up here, and handed to the SDK when it collects.

A point on a counter takes the SDK some twenty-five microseconds: it copies, checks and hashes the labels each time. An addition takes a
fraction of one, and what is exported is the same. Of exemplars the SDK keeps one per series and collection, so the trace of the latest
point is handed over with the sum; it then bears the sum's value and the time of the collection.

The first point of a series goes to the SDK at once. A series begins when the SDK hears of it, and a store that is to see the step from
nothing to the first value needs the beginning to lie before the collection.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from opentelemetry.context import Context

from otel_agent.emit.labels import LabelValues

MOST: Final = 2000
"""Series that one counter adds up, as many as the SDK keeps by default. Points of others go to the SDK one by one."""


class Sums:
    """What is still to be handed over, of one counter."""

    __slots__ = ("_lock", "_send", "_waiting")

    def __init__(self, send: Callable[..., None]) -> None:
        """``send``: the counter's ``add``."""
        self._send = send
        self._lock = Lock()
        self._waiting: dict[object, list[Any]] = {}

    def add(self, amount: float, labels: LabelValues, key: object, context: Context) -> None:
        """Add a point. ``key`` stands for the labels: equal for equal labels."""
        with self._lock:
            cell = self._waiting.get(key)
            if cell is not None:
                cell[1] += amount
                cell[2] = context
                return
            if len(self._waiting) < MOST:
                self._waiting[key] = [labels, 0, None]
        self._send(amount, labels, context)

    def hand_over(self) -> None:
        """Give the SDK what has come together. Called when it is about to collect."""
        with self._lock:
            due = [tuple(cell) for cell in self._waiting.values() if cell[1]]
            for cell in self._waiting.values():
                cell[1:] = 0, None
        for labels, amount, context in due:
            self._send(amount, labels, context)
