"""Streams that die by the garbage collector, wherever it strikes."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from opentelemetry.sdk.metrics import AlignedHistogramBucketExemplarReservoir, MeterProvider, SimpleFixedSizeExemplarReservoir
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View

import otel_agent
from otel_agent import collected
from otel_agent.sdk import Memory
from otel_agent.settings import Settings
from otel_agent.testing import Standin
from otel_agent.testing.standin import Reply, Text

ASK: Any = {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": [{"role": "user", "content": "Where is it?"}]}
SETTINGS = Settings(digest_key=b"0123456789abcdef")


def in_time(task: Callable[[], Any], seconds: float = 20.0) -> None:
    """Run ``task``; a lock that nobody will ever release fails the test instead of holding it."""
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "waits for ever"


def forsaken_stream(client: Any) -> None:
    """Leave a stream, read in part, in a cycle that only the collector can find."""
    stream = client.messages.create(stream=True, **ASK)
    next(stream)
    cycle: list[Any] = [stream]
    cycle.append(cycle)


def ends(memory: Memory) -> list[Any]:
    """How each recorded stream ended."""
    return [(item.log_record.attributes or {}).get("otel_agent.stream.end") for item in memory.logs()]


@pytest.fixture
def client() -> Any:
    """A client whose provider answers everything with one sentence."""
    with Standin() as standin:
        standin.script("*", lambda request: Reply([Text("In Oslo.")]))
        with anthropic.Anthropic(base_url=standin.anthropic_url, api_key="none", max_retries=0) as made:
            yield made


def test_a_stream_may_die_while_the_sdk_holds_its_lock(client: Any) -> None:
    """Cases 008, 010: a collection inside the SDK's own bookkeeping ends a stream without waiting for the lock beneath it."""
    armed: list[bool] = []

    def reservoirs(aggregation: type) -> Any:
        kind = AlignedHistogramBucketExemplarReservoir if "Histogram" in aggregation.__name__ else SimpleFixedSizeExemplarReservoir

        def build(**options: Any) -> Any:
            """The exemplars of a new series: called by the SDK with its lock held."""
            if armed:
                armed.pop()
                gc.collect()
            return kind(**options)

        return build

    memory = Memory()
    meter = MeterProvider([InMemoryMetricReader()], views=[View(instrument_name="*", exemplar_reservoir_factory=reservoirs)])
    otel_agent.instrument(memory.tracer, meter, memory.logger, settings=SETTINGS)
    gc.disable()
    try:
        forsaken_stream(client)
        armed.append(True)
        in_time(lambda: client.messages.create(**{**ASK, "model": "another-model"}))
    finally:
        gc.enable()
        otel_agent.uninstrument()
    assert armed == []
    assert sorted(ends(memory), key=str) == [None, "abandoned"]


def test_a_stream_may_die_while_its_run_is_at_work(client: Any) -> None:
    """Cases 008, 010, 077: a collection while the run's own lock is held."""
    memory = Memory()
    otel_agent.instrument(memory.tracer, memory.meter, memory.logger, settings=SETTINGS)

    def work() -> None:
        with otel_agent.agent_run("keeper") as active:
            forsaken_stream(client)
            with active._run._lock:
                gc.collect()

    try:
        in_time(work)
    finally:
        otel_agent.uninstrument()
    assert ends(memory).count("abandoned") == 1


def test_what_the_collector_ended_is_recorded_soon(client: Any) -> None:
    """Case 010: nobody has to ask for it."""
    memory = Memory()
    otel_agent.instrument(memory.tracer, memory.meter, memory.logger, settings=SETTINGS)
    done = threading.Event()
    try:
        forsaken_stream(client)
        gc.collect()
        in_time(lambda: next(_ for _ in iter(lambda: done.wait(0.01) or memory._spans.get_finished_spans(), None) if _))
    finally:
        otel_agent.uninstrument()
    assert ends(memory) == ["abandoned"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_waits_is_the_parents_after_a_fork() -> None:
    """A child neither records it twice nor waits for a thread that it does not have."""
    recorded: list[int] = []
    collected._waiting.put(lambda: recorded.append(os.getpid()))
    child = os.fork()
    if child == 0:
        collected.settle()
        os._exit(len(recorded))
    assert os.waitpid(child, 0)[1] == 0
    collected.settle()
    assert recorded == [os.getpid()]
