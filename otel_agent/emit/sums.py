"""Counters whose points are added up here, and handed to the SDK when it collects.

A point on a counter takes the SDK some twenty-five microseconds: it copies, checks and hashes the labels each time. An addition takes a
fraction of one, and what is exported is the same. Of exemplars the SDK keeps one per series and collection, so the trace of the latest
point that was sampled is handed over with the sum (of the latest at all where none was); it then bears the sum's value and the time of
the collection. Nothing else of a point's context is kept: a context holds the run, and whatever the host has put there.

The first point of a series goes to the SDK at once. A series begins when the SDK hears of it, and a store that is to see the step from
nothing to the first value needs the beginning to lie before the collection.

Adding up begins when the first collection has been seen: until then, and for ever under a meter that never asks its observable counters,
every point goes to the SDK at once.

Sums are the process's, not those of the instruments that ask for them: a meter that is asked for an observable counter a second time
gives the first one back and forgets the second's callback. So whoever collects, everybody's sums are handed over.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanContext, set_span_in_context

from otel_agent import guard
from otel_agent.emit.labels import LabelValues

MOST: Final = 2000
"""Series that one counter adds up, as many as the SDK keeps by default. Points of others go to the SDK one by one."""


class Sums:
    """What is still to be handed over, of one counter."""

    __slots__ = ("_handing", "_lock", "_send", "_waiting")

    def __init__(self, send: Callable[..., None]) -> None:
        """``send``: the counter's ``add``."""
        self._send = send
        # Reentrant: a finaliser or a signal handler of the host's may have something to record while this very thread is in here.
        self._lock = RLock()
        self._handing = RLock()
        self._waiting: dict[object, list[Any]] = {}

    def more(self, amount: float, key: object, origin: SpanContext) -> bool:
        """Add to a series that has begun; ``False`` where it has not. ``key`` stands for its labels: equal for equal labels."""
        if not _seen:
            return False
        with self._lock:
            cell = self._waiting.get(key)
            if cell is None:
                return False
            cell[1] += amount
            if origin.trace_flags & 1 or cell[2] is None:
                cell[2] = origin
        return True

    def add(self, amount: float, labels: LabelValues, key: object, context: Context) -> None:
        """A point that goes to the SDK at once: the first of its series, or one beyond the bound."""
        with self._lock:
            if len(self._waiting) < MOST:
                self._waiting.setdefault(key, [labels, 0, None])
        self._send(amount, labels, context)

    def hand_over(self) -> None:
        """Give the SDK what has come together. Called when it is about to collect.

        One at a time: what the SDK raises on must not cost the others. Whoever comes second waits, since the first may have sums of the
        second's collection in hand.
        """
        with self._handing:
            for cell in list(self._waiting.values()):
                with self._lock:
                    labels, amount, origin = cell
                    cell[1:] = 0, None
                if amount:
                    guard.run("emit.sums", self._send, amount, labels, _context(origin))

    def renew(self) -> None:
        """After a fork, in the child: whoever held a lock is not here, and what waited is the parent's to hand over."""
        self._lock, self._handing = RLock(), RLock()
        for cell in self._waiting.values():
            cell[1:] = 0, None


def _context(origin: SpanContext | None) -> Context:
    """A context of a span, and of nothing else."""
    # Never an empty one: that is false, and the SDK would take the current context in its place.
    return set_span_in_context(INVALID_SPAN if origin is None else NonRecordingSpan(origin), Context())


_seen: Final[list[bool]] = []
"""Not empty once a collection has been seen."""
_kept: Final[dict[Sums, weakref.ref[object]]] = {}
"""Sums, and who adds to them."""


def keep(sums: Iterable[Sums], owner: object) -> None:
    """Have ``sums`` handed over from now on, the last time when ``owner`` is gone: then nobody adds to them any more."""
    _hand_over([(kept, other) for kept, other in list(_kept.items()) if other() is None])
    _kept.update(dict.fromkeys(sums, weakref.ref(owner)))


def hand_over() -> None:
    """Give every SDK what has come together for it. Called when one of them is about to collect."""
    if not _seen:
        _seen.append(True)
    _hand_over(list(_kept.items()))


def _hand_over(those: Iterable[tuple[Sums, weakref.ref[object]]]) -> None:
    for sums, owner in those:
        gone = owner() is None  # asked before, so that nothing is added after the last time
        sums.hand_over()
        if gone:
            _kept.pop(sums, None)


def _renew() -> None:
    for sums in list(_kept):
        sums.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
