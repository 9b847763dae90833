"""Ends that the garbage collector brings about, and why they wait.

A collection may begin wherever memory is asked for: also while this very thread, or an exporter's, holds a lock of the OpenTelemetry
SDK or of ours. A stream that dies then ends its call from a finaliser, and recording that would wait for ever for the lock that the
interrupted code beneath it holds. So whatever the collector ends is put into a queue (the one kind that may be filled from a
finaliser), and a short-lived thread records it as soon as the lock is free.
"""

from __future__ import annotations

import _thread
import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

from otel_agent import guard

_waiting: Final[SimpleQueue[Callable[[], Any]]] = SimpleQueue()
_idle: Final = [True]
"""Holds its one item while no thread is on its way to the queue."""

_emptying = threading.RLock()
_collector: int | None = None
"""The thread in which a collection is going on."""


def _notice(phase: str, info: dict[str, int]) -> None:
    global _collector  # noqa: PLW0603 - the interpreter has one collector
    _collector = threading.get_ident() if phase == "start" else None


gc.callbacks.append(_notice)


def run(place: str, function: Callable[..., Any], *args: Any) -> None:
    """Call ``function`` under the guard: now, or soon when the garbage collector is what got us here."""
    if _collector != threading.get_ident():
        guard.run(place, function, *args)
        return
    _waiting.put(partial(guard.run, place, function, *args))
    with suppress(IndexError, RuntimeError):  # a thread is on its way already, or the interpreter is ending and starts none
        _idle.pop()
        # A bare thread: ``threading.Thread`` takes locks that the interrupted code may hold.
        _thread.start_new_thread(_empty, ())


def _empty() -> None:
    _idle.append(True)  # before looking: what is put in from now on starts another thread
    settle()


def settle() -> None:
    """Record what waits. Not to be called from a finaliser."""
    with _emptying:
        while True:
            try:
                end = _waiting.get_nowait()
            except Empty:
                return
            end()


def _renew() -> None:
    """A forked child has neither the thread on its way nor the one that held the lock; what waited is its parent's to record."""
    global _emptying  # noqa: PLW0603 - one lock for the process
    _emptying = threading.RLock()
    _idle[:] = [True]
    with suppress(Empty):
        while True:
            _waiting.get_nowait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
