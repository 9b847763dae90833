"""Group commit: one thread gathers what arrives within a few milliseconds, appends it in one transaction, then tells the senders.

A commit costs about the same for one row as for a thousand, so under load the groups grow and the cost per row falls.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb
import pyarrow as pa

from otel_agent.local.rows import Rows
from otel_agent.local.store import Store

log: Final = logging.getLogger("otel_agent.local")

FAILURES: Final = (duckdb.Error, pa.ArrowException, ValueError, TypeError, OverflowError, OSError)
"""What an append can fail with: the disk, or rows that do not fit their columns."""


class WriteFailed(Exception):
    """The rows are not in the store; the sender may try again."""


@dataclass(slots=True, eq=False)
class Batch:
    """The rows of one request; ``done`` resolves once they are committed."""

    rows: Rows
    done: Future[None] = field(default_factory=Future)

    @property
    def size(self) -> int:
        """Number of rows."""
        return sum(len(rows) for rows in self.rows.values())


@dataclass(slots=True, eq=False)
class Chore:
    """Something else to do with the store, between two groups; ``done`` resolves with what it gives."""

    task: Callable[[], Any]
    done: Future[Any] = field(default_factory=Future)

    def run(self) -> None:
        """Do it; the type of a failure, never its message."""
        try:
            self.done.set_result(self.task())
        except FAILURES as error:
            self.done.set_exception(WriteFailed(type(error).__name__))


class Writer:
    """The thread that owns appending. Closing writes what is queued first. ``stored``: rows committed, by table."""

    def __init__(self, store: Store, *, gather: float, gather_rows: int) -> None:
        self.stored: Counter[str] = Counter()
        self._store = store
        self._gather = gather
        self._gather_rows = gather_rows
        self._failing: str | None = None
        self._queue: queue.SimpleQueue[Batch | Chore | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="otel-agent-writer", daemon=True)
        self._thread.start()

    def put(self, rows: Rows) -> Future[None]:
        """Queue rows. The queue itself is unbounded: whoever calls this has been admitted (:mod:`otel_agent.local.admission`)."""
        batch = Batch(rows)
        batch.done.set_running_or_notify_cancel()  # a sender that hangs up must not take its rows back half-way
        self._queue.put(batch)
        return batch.done

    def do(self, task: Callable[[], Any]) -> Future[Any]:
        """Queue a task that changes the store; it may fail with :class:`WriteFailed`."""
        chore = Chore(task)
        chore.done.set_running_or_notify_cancel()
        self._queue.put(chore)
        return chore.done

    def close(self) -> None:
        """Commit what is queued, then stop. Nothing may be put afterwards."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        more = True
        while more:
            group, chore, more = self._next_group()
            if group:
                self._commit(group)
            if chore is not None:
                chore.run()

    def _next_group(self) -> tuple[list[Batch], Chore | None, bool]:
        """Wait for a batch, then for more until the time or the size is reached, or something else comes; ``False`` at the end."""
        group: list[Batch] = []
        rows = 0
        item = self._queue.get()
        until = time.monotonic() + self._gather
        while isinstance(item, Batch):
            group.append(item)
            rows += item.size
            if rows >= self._gather_rows:
                return group, None, True
            try:
                item = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return group, None, True
        return group, item, item is not None

    def _commit(self, group: list[Batch]) -> None:
        failure = self._append(group)
        if failure is None:
            for batch in group:  # counted before the sender is told, so that whoever asks afterwards finds its rows
                self.stored.update({table: len(rows) for table, rows in batch.rows.items()})
                batch.done.set_result(None)
        elif len(group) > 1:
            for batch in group:  # one bad batch must not fail its neighbours
                self._commit([batch])
        else:
            self._report(failure)
            group[0].done.set_exception(WriteFailed(failure))

    def _report(self, failure: str) -> None:
        """Log a failure once until something is stored again: a full disk fails every batch."""
        if failure != self._failing:
            log.error("records cannot be stored: %s; their senders are told so, and may send them again", failure)
        self._failing = failure

    def _append(self, group: list[Batch]) -> str | None:
        """Append; the type of the failure, never its message, which can quote the rows."""
        try:
            self._store.append(batch.rows for batch in group)
        except FAILURES as error:
            return type(error).__name__
        self._failing = None
        return None
