"""Counters that are added up on our side: the SDK exports what it would have, had it seen every point."""

from __future__ import annotations

import time
from threading import Thread
from typing import Any, Final

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import set_span_in_context

from otel_agent import semconv
from otel_agent.emit import sums as module
from otel_agent.emit.metrics import Meters
from otel_agent.records import ModelTurn

TOKENS: Final = semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS
DELTA: Final = AggregationTemporality.DELTA


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
