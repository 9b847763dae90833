"""Senders that behave like an SDK: numbered records, in batches, each batch sent again until it is answered."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.stack import otlp

BATCH = 20


def name_of(number: int) -> str:
    return f"resp_{number:08d}"


def span_batch(first: int) -> otlp.Request:
    """One trace per batch, with the id of its first record, so that Jaeger can be asked for each."""
    numbers = range(first, first + BATCH)
    facts = [{"gen_ai.operation.name": "chat", "gen_ai.response.id": name_of(number)} for number in numbers]
    return otlp.traces("load", [otlp.span(first, number, "chat gpt-5", each) for number, each in zip(numbers, facts, strict=True)])


def record_batch(first: int) -> otlp.Request:
    numbers = range(first, first + BATCH)
    return otlp.logs("load", [otlp.record("otel_agent.model_turn", {"gen_ai.response.id": name_of(number)}, number) for number in numbers])


@dataclass
class Load:
    """Several senders at once. After ``stop``, ``sent`` numbers were answered with success: they must all arrive."""

    base: str
    maker: Callable[[int], otlp.Request]
    senders: int = 3
    pause: float = 0.01
    sent: set[int] = field(default_factory=set)
    repeated: int = 0  # batches that had to be sent again
    _next: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> Load:
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(self.senders)]
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Let every sender finish the batch that it has begun."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(120)

    def _run(self) -> None:
        while not self._stopping.is_set():
            first = self._take()
            self._until_answered(self.maker(first))
            with self._lock:
                self.sent.update(range(first, first + BATCH))
            time.sleep(self.pause)

    def _take(self) -> int:
        with self._lock:
            first, self._next = self._next, self._next + BATCH
        return first

    def _until_answered(self, batch: otlp.Request) -> None:
        while True:
            try:
                otlp.send(self.base, batch)
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.repeated += 1
                time.sleep(0.2)
            else:
                return
