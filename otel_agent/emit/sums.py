"""Counters whose points are added up here, and handed to the SDK when it collects.

A point on a counter takes the SDK some twenty-five microseconds: it copies, checks and hashes the labels each time. An addition takes a
fraction of one, and what is exported is the same. It is for counters whose points need not lead to a trace: of many points the SDK sees
one, so there are no exemplars.

The first point of a series goes to the SDK at once. A series begins when the SDK hears of it, and a store that is to see the step from
nothing to the first value needs the beginning to lie before the collection.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from opentelemetry.context import Context, set_value

from otel_agent.emit.labels import LabelValues

MOST: Final = 2000
"""Series that one counter adds up, as many as the SDK keeps by default. Points of others go to the SDK one by one."""

NOWHERE: Final = set_value("otel-agent-no-exemplar", True, Context())
"""A context without a span. Not an empty one: that is false, and the SDK would take the current context in its place."""


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
                return
            if len(self._waiting) < MOST:
                self._waiting[key] = [labels, 0]
        self._send(amount, labels, context)

    def hand_over(self) -> None:
        """Give the SDK what has come together. Called when it is about to collect."""
        with self._lock:
            due = [(labels, amount) for labels, amount in self._waiting.values() if amount]
            for cell in self._waiting.values():
                cell[1] = 0
        for labels, amount in due:
            self._send(amount, labels, NOWHERE)
