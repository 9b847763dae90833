"""Backends that go away, a collector that is killed, a queue that is full: nothing is lost in silence.

The rule about duplicates: delivery is at least once. A record may be stored twice only when its batch was under way as a
process died: sent by the application and not yet answered, or exported and not yet struck from the queue.
Without a death there are no duplicates.

``OTEL_AGENT_STACK_OUTAGE`` is the length of the outage in seconds, 8 unless set; the long version is 60.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import backends, configs, otlp
from tests.stack.http_client import eventually
from tests.stack.load import BATCH, Load, name_of, record_batch, span_batch
from tests.stack.native import NativeStack, native_stack, write_yaml
from tests.stack.webhook import webhook

pytestmark = pytest.mark.stack

OUTAGE = float(os.environ.get("OTEL_AGENT_STACK_OUTAGE", "8"))
BACKENDS = ("victorialogs", "jaeger", "prometheus")
EXPORT_BATCH, CONSUMERS = 4000, 4  # of gateway.yaml


@pytest.fixture
def own(go_toolchain: None) -> Iterator[NativeStack]:
    """A stack for one test that breaks it."""
    with native_stack() as running:
        yield running


def stored(running: NativeStack) -> Counter[str]:
    lines = backends.log_lines(running.stack, "* | fields gen_ai.response.id")
    return Counter(line["gen_ai.response.id"] for line in lines if "gen_ai.response.id" in line)


def wait_for_records(running: NativeStack, sent: set[int]) -> Counter[str]:
    wanted = {name_of(number) for number in sent}
    eventually(f"all {len(wanted)} records", lambda: wanted <= stored(running).keys(), seconds=90, pause=1)
    return stored(running)


def wait_for_spans(running: NativeStack, sent: set[int]) -> None:
    """Every span by its id; the ids of a batch share the trace that its first one names."""
    missing = set(sent)

    def all_there() -> bool:
        for trace in sorted({number - (number - 1) % BATCH for number in missing}):
            found = backends.spans(backends.trace(running.stack, trace))
            missing.difference_update(int(span["spanId"], 16) for span in found)
        return not missing

    eventually(f"all {len(sent)} spans", all_there, seconds=90, pause=1)


def test_backends_down_under_load(own: NativeStack) -> None:
    """Every record that was answered during the outage arrives after it, once."""
    for name in BACKENDS:
        own.processes[name].stop()
    loads = [Load(own.stack.otlp_http, maker, pause=0.05).start() for maker in (span_batch, record_batch)]
    start, turns, deadline = time.time_ns(), 0, time.monotonic() + OUTAGE
    while time.monotonic() < deadline:
        turns += 1
        otlp.send(own.stack.otlp_http, otlp.metrics("load", [otlp.counter("otel_agent.turns", turns, {}, start)]))
        time.sleep(0.5)
    for load in loads:
        load.stop()
    for name in BACKENDS:
        own.processes[name].start()
    spans, records = loads
    arrived = wait_for_records(own, records.sent)
    wait_for_spans(own, spans.sent)
    eventually("the counter's last value", lambda: backends.metric_value(own.stack, "otel_agent_turns_total") == turns, seconds=60)
    print(f"\noutage {OUTAGE:g} s: {len(records.sent)} log records, {len(spans.sent)} spans, {turns} metric points, all arrived")
    assert len(records.sent) > BATCH
    assert sum(arrived.values()) == len(arrived), "a backend's absence alone makes no duplicates"
    assert 0 == backends.collector_metric(own.stack, "otelcol_exporter_send_failed_log_records")


def test_collector_killed_under_load(own: NativeStack) -> None:
    """SIGKILL in the middle of the load, twice: every answered record arrives; duplicates keep to the rule."""
    spans, records = (Load(own.stack.otlp_http, maker).start() for maker in (span_batch, record_batch))
    for _ in range(2):
        time.sleep(2)
        own.collector.kill()
        time.sleep(0.5)
        own.collector.start()
    time.sleep(1)
    spans.stop()
    records.stop()
    arrived = wait_for_records(own, records.sent)
    wait_for_spans(own, spans.sent)
    duplicates = sum(arrived.values()) - len(arrived)
    print(f"\n2 kills: {len(records.sent)} log records, {len(spans.sent)} spans, all arrived; {duplicates} records twice")
    assert records.repeated > 0, "the senders did notice the kill"
    assert max(arrived.values()) <= 1 + 2 * 2, "per kill at most one more from the sender and one from the queue"
    assert duplicates <= 2 * (records.senders * BATCH + CONSUMERS * EXPORT_BATCH)


def small_queue(folder: Path) -> Path:
    """The gateway with a queue of two requests for logs."""
    queue = {"queue_size": 2, "batch": {"sizer": "items", "min_size": 1, "max_size": 20, "flush_timeout": "10ms"}}
    return write_yaml(folder / "small.yaml", {"exporters": {"otlp_http/logs": {"sending_queue": queue}}})


def test_a_full_queue_counts_its_drops(go_toolchain: None, tmp_path: Path) -> None:
    """What the queue cannot take is refused to the sender, counted by the collector, and told to a person."""
    with webhook() as hook, native_stack(configs.Options(overlays=[small_queue(tmp_path)], webhook=hook.url)) as running:
        time.sleep(3)  # a few scrapes of the healthy collector
        assert "TelemetryExportLost" not in hook.firing()
        running.processes["victorialogs"].stop()
        refused = send_counting_refusals(running, requests=40)
        name = "otelcol_exporter_enqueue_failed_log_records"
        counted = backends.collector_metric(running.stack, name)
        print(f"\n{refused} of 40 requests refused, {counted:g} records counted as dropped")
        assert refused > 0
        assert counted == refused * BATCH
        series = f'{{__name__=~"{name}(_total)?"}}'
        eventually("the drops in Prometheus", lambda: backends.metric_value(running.stack, series) == counted)
        eventually("the alert at the webhook", lambda: "TelemetryExportLost" in hook.firing(), seconds=90)


def send_counting_refusals(running: NativeStack, requests: int) -> int:
    refused = 0
    for number in range(requests):
        try:
            otlp.send(running.stack.otlp_http, record_batch(1 + number * BATCH))
        except OSError:
            refused += 1
    return refused
