"""Counters that are added up on our side: the SDK exports what it would have, had it seen every point."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any, Final
from weakref import ref

import pytest
from opentelemetry.context import Context
from opentelemetry.metrics import NoOpMeter
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import INVALID_SPAN_CONTEXT, set_span_in_context

from otel_agent import semconv
from otel_agent.emit import sums as module
from otel_agent.emit.metrics import Meters
from otel_agent.records import ModelTurn
from otel_agent.tally import tallies

TOKENS: Final = semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS
DELTA: Final = AggregationTemporality.DELTA


@pytest.fixture(autouse=True)
def _collected_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection has been seen, so points are added up."""
    monkeypatch.setattr(module, "_seen", [True])


def turn(model: str = "m", tokens: int = 1) -> dict[str, Any]:
    """Attributes of a turn."""
    return {semconv.GEN_AI_REQUEST_MODEL: model, semconv.GEN_AI_USAGE_INPUT_TOKENS: tokens}


def meters(*readers: InMemoryMetricReader) -> Meters:
    """Meters of a real provider."""
    return Meters(MeterProvider(readers, shutdown_on_exit=False).get_meter("test"), 5000, older=False)


def delta() -> InMemoryMetricReader:
    """A reader that forgets what it has read."""
    return InMemoryMetricReader(preferred_temporality={Counter: DELTA})


def points(reader: InMemoryMetricReader, name: str = TOKENS) -> list[Any]:
    """The points of a collection now."""
    data = reader.get_metrics_data()
    scopes = [scope for resource in (data.resource_metrics if data else ()) for scope in resource.scope_metrics]
    return [point for scope in scopes for metric in scope.metrics if metric.name == name for point in metric.data.data_points]


def total(reader: InMemoryMetricReader) -> float:
    """The sum over all series of a collection now."""
    return sum(point.value for point in points(reader))


def test_a_collection_has_every_point_added_before_it() -> None:
    """The SDK asks for our sums before it looks at its counters: what was added is in this collection, not in the next."""
    reader = InMemoryMetricReader()
    made = meters(reader)
    for amount in (1, 20, 300):
        made.record(ModelTurn, turn(tokens=amount), Context())
    assert total(reader) == 321
    made.record(ModelTurn, turn(tokens=4000), Context())
    assert total(reader) == total(reader) == 4321


def test_a_reader_of_differences_gets_each_point_once() -> None:
    """And nothing where nothing was added."""
    reader = delta()
    made = meters(reader)
    made.record(ModelTurn, turn(tokens=5), Context())
    made.record(ModelTurn, turn(tokens=6), Context())
    assert total(reader) == 11
    made.record(ModelTurn, turn(tokens=7), Context())
    assert total(reader) == 7
    assert points(reader) == []


def test_two_readers_see_the_same() -> None:
    """Whoever collects first."""
    one, other = InMemoryMetricReader(), delta()
    made = meters(one, other)
    for _ in range(3):
        made.record(ModelTurn, turn(), Context())
    assert (total(one), total(other)) == (3, 3)
    made.record(ModelTurn, turn(), Context())
    assert (total(other), total(one)) == (1, 4)


def test_a_series_begins_with_its_first_point() -> None:
    """Not with the collection: a store would not see the first value rise from nothing."""
    reader = InMemoryMetricReader()
    made = meters(reader)
    made.record(ModelTurn, turn(), Context())
    added = time.time_ns()
    time.sleep(0.01)
    (point,) = points(reader)
    assert point.start_time_unix_nano <= added < point.time_unix_nano


def test_nothing_is_lost_or_doubled_between_threads() -> None:
    """Points are added while collections go on."""
    reader = delta()
    made = meters(reader)

    def work() -> None:
        for at in range(3000):
            made.record(ModelTurn, turn(f"m{at % 7}"), Context())

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    seen = 0.0
    while any(thread.is_alive() for thread in threads):
        seen += total(reader)
    assert seen + total(reader) == 12_000


def test_a_meter_that_never_asks_gets_every_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for a collection that may never come."""
    monkeypatch.setattr(module, "_seen", [])
    sent: list[float] = []

    class Deaf(NoOpMeter):
        def create_counter(self, name: str, unit: str = "", description: str = "") -> Any:
            counter = super().create_counter(name, unit, description)
            if name == TOKENS:
                monkeypatch.setattr(counter, "add", lambda amount, *_: sent.append(amount), raising=False)
            return counter

    made = Meters(Deaf("deaf"), 200, older=False)
    for amount in (1, 2, 3):
        made.record(ModelTurn, turn(tokens=amount), Context())
    assert sent == [1, 2, 3]


def test_series_beyond_the_bound_are_counted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go to the SDK one by one."""
    monkeypatch.setattr(module, "MOST", 2)
    reader = InMemoryMetricReader()
    made = meters(reader)
    for _ in range(2):
        for at in range(5):
            made.record(ModelTurn, turn(f"m{at}"), Context())
    assert sorted(point.value for point in points(reader)) == [2] * 5


def test_shutdown_hands_over_what_is_left() -> None:
    """The last collection of a provider that stops."""
    kept: list[float] = []

    class Reader(InMemoryMetricReader):
        def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
            kept.append(total(self))
            super().shutdown(timeout_millis, **kwargs)

    provider = MeterProvider([Reader()], shutdown_on_exit=False)
    made = Meters(provider.get_meter("test"), 200, older=False)
    for _ in range(3):
        made.record(ModelTurn, turn(), Context())
    provider.shutdown()
    assert kept == [3]


def test_a_sum_leads_to_the_trace_of_its_latest_point() -> None:
    """One exemplar per series and collection, as the SDK keeps of a counter."""
    reader, tracer = InMemoryMetricReader(), TracerProvider(shutdown_on_exit=False).get_tracer("test")
    made = meters(reader)
    spans = [tracer.start_span(f"turn {at}") for at in range(4)]
    shown = []
    for pair in (spans[:2], spans[2:]):
        for span in pair:
            made.record(ModelTurn, turn(), set_span_in_context(span))
        ((exemplar,),) = [point.exemplars for point in points(reader)]
        shown.append(exemplar.span_id)
    assert shown[0] in {span.get_span_context().span_id for span in spans[:2]}
    assert shown[1] == spans[3].get_span_context().span_id


def test_two_sets_of_instruments_on_one_meter_lose_nothing() -> None:
    """Observation is set up anew on the host's provider: its meter keeps the first callback alone."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    one = Meters(provider.get_meter("test"), 200, older=False)
    one.record(ModelTurn, turn(tokens=1), Context())
    one.record(ModelTurn, turn(tokens=20), Context())
    other = Meters(provider.get_meter("test"), 200, older=False)
    for made in (other, one, other):
        made.record(ModelTurn, turn(tokens=300), Context())
    del one, made
    assert total(reader) == 921
    other.record(ModelTurn, turn(tokens=4000), Context())
    assert total(reader) == 4921


def test_instruments_that_are_replaced_can_go() -> None:
    """Their sums are handed over before; neither they nor the provider is kept by a meter or by us."""
    reader = InMemoryMetricReader()
    made = meters(reader)
    for _ in range(3):
        made.record(ModelTurn, turn(), Context())
    gone = ref(made)
    del made
    assert gone() is None
    meters()
    assert total(reader) == 3
    assert all(owner() is not None for owner in module._kept.values())


def test_no_context_is_kept_for_a_sum() -> None:
    """A context holds the run, and whatever the host has put there: a request, a session, a secret."""

    class Hosts:
        pass

    made, held = meters(InMemoryMetricReader()), Hosts()
    gone = ref(held)
    for _ in range(3):
        made.record(ModelTurn, turn(), Context({"host": held}))
    del held
    assert gone() is None


def test_what_interrupts_an_addition_may_record() -> None:
    """A finaliser or the handler of a signal runs in the thread that it interrupts: it must not wait for that thread's lock."""
    sent: list[float] = []
    sums = module.Sums(lambda amount, *_: sent.append(amount))

    class Interrupted:
        is_valid = False

        @property
        def trace_flags(self) -> int:
            sums.more(10, "key", INVALID_SPAN_CONTEXT)
            return 1

    sums.add(1, {}, "key", Context())
    thread = Thread(target=sums.more, args=(200, "key", Interrupted()), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    sums.hand_over()
    assert sum(sent) == 211


def test_a_sum_that_the_sdk_refuses_costs_no_other() -> None:
    """It is one failure, counted as such."""
    sent: list[float] = []

    def send(amount: float, labels: dict[str, Any], context: Context) -> None:
        if labels["n"] == 1 and amount > 1:
            raise ValueError
        sent.append(amount)

    sums = module.Sums(send)
    for at in range(3):
        sums.add(1, {"n": at}, at, Context())
        sums.more(10 + at, at, INVALID_SPAN_CONTEXT)
    before = tallies().get(("failure", "emit.sums"), 0)
    sums.hand_over()
    assert sent == [1, 1, 1, 10, 12]
    assert tallies()["failure", "emit.sums"] == before + 1


def test_a_sampled_trace_is_not_displaced_by_one_that_is_not() -> None:
    """Of a hundred turns one is kept: the exemplar leads to it, as it does where the SDK sees every point."""
    reader = InMemoryMetricReader()
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    dropped = TracerProvider(ALWAYS_OFF, shutdown_on_exit=False).get_tracer("test")
    made = meters(reader)
    made.record(ModelTurn, turn(), Context())
    assert len(points(reader)) == 1
    spans = [tracing.start_span("turn") for tracing in (dropped, tracer, dropped)]
    for span in spans:
        made.record(ModelTurn, turn(), set_span_in_context(span))
    assert [exemplar.span_id for point in points(reader) for exemplar in point.exemplars] == [spans[1].get_span_context().span_id]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_hands_over_only_what_is_its_own() -> None:
    """What waited is the parent's; a lock that another thread held at the fork is nobody's."""
    reader = delta()
    made = meters(reader)
    made.record(ModelTurn, turn(tokens=1), Context())
    assert total(reader) == 1
    made.record(ModelTurn, turn(tokens=20), Context())
    held, over = Event(), Event()

    def hold() -> None:
        with ExitStack() as locks:
            for sums in module._kept:
                locks.enter_context(sums._lock)
            held.set()
            over.wait(10)

    thread = Thread(target=hold)
    thread.start()
    held.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # the child ends even where it waits for the lock
        made.record(ModelTurn, turn(tokens=300), Context())
        os._exit(0 if total(reader) == 300 else 1)
    _, status = os.waitpid(child, 0)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert total(reader) == 20
