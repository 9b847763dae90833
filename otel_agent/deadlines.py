"""Running tasks side by side for a limited time, also while the interpreter ends.

CPython 3.12.0 to 3.12.2 start no thread any more once they are ending, exit handlers included (python/cpython#113964; seen on 3.12.1), and
that is when most of what was recorded is sent. On every 3.12 a few threads are made beforehand and wait.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

from otel_agent import guard

STARTS_NONE_WHILE_ENDING: Final = (3, 12) <= sys.version_info < (3, 13)
SPARE: Final = 3
"""Threads made beforehand: one for each signal."""

_tasks: SimpleQueue[Callable[[], Any]] = SimpleQueue()
_spare: Final[list[threading.Thread]] = []


def prepare() -> None:
    """Make threads beforehand where none can be made later. Called by whoever will have something to do at the end."""
    if STARTS_NONE_WHILE_ENDING and not _spare:
        for _ in range(SPARE):
            thread = threading.Thread(target=_wait, args=(_tasks,), daemon=True, name="otel-agent-end")
            thread.start()
            _spare.append(thread)


def within(timeout: float, *tasks: Callable[[], Any]) -> bool:
    """Run ``tasks`` side by side in daemon threads for at most ``timeout`` seconds: a collector that hangs must not hold a process.

    ``False`` when one was not done in time, said ``False`` or failed. Where no thread is to be had, they run one after the other, and
    only their own limits apply.
    """
    done: list[bool] = []
    ends = [threading.Event() for _ in tasks]

    def do(task: Callable[[], Any], end: threading.Event) -> None:
        try:
            done.append(bool(guard.run("sdk", lambda: task() is not False)))
        finally:
            end.set()

    for task, end in zip(tasks, ends, strict=True):
        _begin(partial(do, task, end))
    until = time.monotonic() + timeout
    for end in ends:
        end.wait(max(0.0, until - time.monotonic()))
    return len(done) == len(tasks) and all(done)


def _begin(work: Callable[[], Any]) -> None:
    try:
        threading.Thread(target=work, daemon=True, name="otel-agent-flush").start()
    except RuntimeError:  # the interpreter is ending, or the process may have no more threads
        if any(thread.is_alive() for thread in _spare):
            _tasks.put(work)
        else:
            work()


def _wait(tasks: SimpleQueue[Callable[[], Any]]) -> None:
    while True:
        tasks.get()()


def _renew() -> None:
    """A forked child has its parent's list and none of its threads."""
    global _tasks  # noqa: PLW0603 - one queue for the process
    _tasks = SimpleQueue()
    if _spare:
        _spare.clear()
        prepare()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
