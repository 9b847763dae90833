"""What is sent by any transport and encoding is in the store when the answer comes."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from otel_agent.local import reader
from otel_agent.local.server import LocalServer
from otel_agent.local.store import Store

from . import payloads
from .senders import JSON, PROTOBUF, rows, send_grpc, send_http

REQUESTS = {
    "traces": payloads.spans(3),
    "logs": payloads.logs(payloads.turn("r1", 1), payloads.ended("r1")),
    "metrics": payloads.metrics(),
}
TABLES = {"traces": {"spans": 3}, "logs": {"logs": 2}, "metrics": {"points": 4, "exemplars": 1}}


def counts(database: Path) -> dict[str, int]:
    """Rows per table that has any."""
    found = {table: rows(database, f"SELECT count(*) FROM {table}")[0][0] for table in ("spans", "logs", "points", "exemplars")}
    return {table: count for table, count in found.items() if count}


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
@pytest.mark.parametrize("signal", REQUESTS)
def test_http_takes_both_media_types_and_all_encodings(database: Path, signal: str, media_type: str, encoding: str) -> None:
    """Over HTTP each signal arrives whole, and the answer is an empty success in the sender's own media type."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        answer = send_http(server, REQUESTS[signal], media_type, encoding)
    assert (answer.status, answer.headers["content-type"], answer.body) == (200, media_type, b"{}" if media_type == JSON else b"")
    assert counts(database) == TABLES[signal]


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
@pytest.mark.parametrize("signal", REQUESTS)
def test_grpc_takes_plain_and_gzip(database: Path, signal: str, compression: Any) -> None:
    """Over gRPC each signal arrives whole."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        answer = send_grpc(server, REQUESTS[signal], compression)
    assert not answer.HasField("partial_success")
    assert counts(database) == TABLES[signal]


def test_transports_and_encodings_store_the_same_rows(database: Path) -> None:
    """Nothing of a record depends on how it came: ids, numbers, enumerations and arrays are equal."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        for request in REQUESTS.values():
            send_http(server, request)
            send_http(server, request, JSON)
            send_grpc(server, request)
    for table in ("spans", "logs", "points", "exemplars"):
        distinct = rows(database, f"SELECT count(*) FROM (SELECT DISTINCT * EXCLUDE (received_at) FROM {table})")
        all_rows = rows(database, f"SELECT count(*) FROM {table}")
        assert all_rows[0][0] == 3 * distinct[0][0], table


def test_a_span_keeps_every_column(database: Path) -> None:
    """A span's structure and its listed attributes are in the row, with their types."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_grpc(server, payloads.spans(1, first=5))
    [row] = rows(database, "SELECT * EXCLUDE (attributes, resource, received_at) FROM spans")
    start, end = payloads.START, payloads.START + payloads.SECOND
    ids = (payloads.trace_id(5).hex(), payloads.span_id(5).hex())
    assert row == (*ids, None, "chat gpt-5.6", "client", start, end, "unset", None, None, "shop", "otel_agent")
    [(attributes,)] = rows(database, "SELECT attributes FROM spans")
    assert json.loads(attributes) == payloads.TWENTY


def test_points_keep_their_numbers(database: Path) -> None:
    """A counter's points and a histogram's buckets are as sent; an exemplar has its span and its point's attributes."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_http(server, payloads.metrics())
    counter = rows(database, "SELECT value, temporality, monotonic, unit FROM points WHERE metric = 'otel_agent.turns' ORDER BY 1")
    assert counter == [(0.0, "cumulative", True, "{turn}"), (1.0, "cumulative", True, "{turn}"), (2.0, "cumulative", True, "{turn}")]
    histogram = rows(database, "SELECT count, sum, min, max, bucket_counts, explicit_bounds FROM points WHERE type = 'histogram'")
    assert histogram == [(3, 4.5, 0.5, 2.5, [1, 2, 0], [1.0, 5.0])]
    exemplar = rows(database, "SELECT value, span_id, attributes->>'gen_ai.agent.name' FROM exemplars")
    assert exemplar == [(2.0, payloads.span_id(7).hex(), "refunds")]


def test_exponential_histograms_summaries_and_ended_series(database: Path) -> None:
    """The rarer kinds of points have their columns too; a point without a value has none."""
    request = payloads.metrics()
    metrics = request.resource_metrics[0].scope_metrics[0].metrics
    del metrics[:]
    exponential = metrics.add(name="gen_ai.client.inference.duration").exponential_histogram.data_points.add(
        count=4, sum=9.0, scale=2, zero_count=1, time_unix_nano=payloads.START
    )
    exponential.positive.offset = -3
    exponential.positive.bucket_counts.extend([1, 2])
    metrics.add(name="otel_agent.run.max_repeat").summary.data_points.add(count=2, sum=3.0)
    metrics.add(name="otel_agent.turns").gauge.data_points.add(flags=1)
    metrics.add(name="otel_agent.runs")
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_grpc(server, request)
    columns = "type, value, count, sum, scale, zero_count, positive_offset, positive_counts"
    assert rows(database, f"SELECT {columns} FROM points ORDER BY type") == [
        ("exponential_histogram", None, 4, 9.0, 2, 1, -3, [1, 2]),
        ("gauge", None, None, None, None, None, None, None),
        ("summary", None, 2, 3.0, None, None, None, None),
    ]


EXPORTERS = {
    "http": (
        lambda s: HttpSpans(f"{s.http_endpoint}/v1/traces"),
        lambda s: HttpLogs(f"{s.http_endpoint}/v1/logs"),
        lambda s: HttpMetrics(f"{s.http_endpoint}/v1/metrics"),
    ),
    "http gzip": (
        lambda s: HttpSpans(f"{s.http_endpoint}/v1/traces", compression=Compression.Gzip),
        lambda s: HttpLogs(f"{s.http_endpoint}/v1/logs", compression=Compression.Gzip),
        lambda s: HttpMetrics(f"{s.http_endpoint}/v1/metrics", compression=Compression.Gzip),
    ),
    "grpc": (
        lambda s: GrpcSpans(s.grpc_endpoint, insecure=True),
        lambda s: GrpcLogs(s.grpc_endpoint, insecure=True),
        lambda s: GrpcMetrics(s.grpc_endpoint, insecure=True),
    ),
    "grpc gzip": (
        lambda s: GrpcSpans(s.grpc_endpoint, insecure=True, compression=grpc.Compression.Gzip),
        lambda s: GrpcLogs(s.grpc_endpoint, insecure=True, compression=grpc.Compression.Gzip),
        lambda s: GrpcMetrics(s.grpc_endpoint, insecure=True, compression=grpc.Compression.Gzip),
    ),
}


@pytest.mark.parametrize("exporters", EXPORTERS.values(), ids=EXPORTERS)
def test_the_sdk_s_own_exporters_arrive(database: Path, exporters: Any) -> None:
    """A span, a log record and a counter made with the SDK are stored, whichever of its exporters carries them."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        span_exporter, log_exporter, metric_exporter = (make(server) for make in exporters)
        tracers, loggers = TracerProvider(), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(span_exporter))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(log_exporter))
        meters = MeterProvider([PeriodicExportingMetricReader(metric_exporter)])
        with tracers.get_tracer("otel_agent").start_as_current_span("chat gpt-5.6", attributes={"gen_ai.operation.name": "chat"}):
            loggers.get_logger("otel_agent").emit(
                LogRecord(event_name="otel_agent.feedback", severity_number=SeverityNumber.INFO, body="free text", attributes={})
            )
            meters.get_meter("otel_agent").create_counter("otel_agent.turns").add(2)
        for provider in (tracers, loggers, meters):
            provider.shutdown()
    [(trace, name)] = rows(database, "SELECT trace_id, name FROM spans")
    assert name == "chat gpt-5.6"
    assert rows(database, "SELECT event_name, trace_id FROM logs") == [("otel_agent.feedback", trace)]
    assert (2.0,) in rows(database, "SELECT value FROM points WHERE metric = 'otel_agent.turns'")


def test_the_answer_waits_for_the_commit(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """No sender is answered before the transaction that holds its rows has ended; then its rows can be read."""
    gate, reached = threading.Event(), threading.Event()
    append = Store.append

    def held(store: Store, batches: Any) -> None:
        reached.set()
        assert gate.wait(10)
        append(store, batches)

    monkeypatch.setattr(Store, "append", held)
    answers: list[Any] = []
    senders = [
        threading.Thread(target=lambda: answers.append(send_http(server, payloads.logs(payloads.turn("r1", 1))))),
        threading.Thread(target=lambda: answers.append(send_grpc(server, payloads.logs(payloads.turn("r1", 2))))),
    ]
    for sender in senders:
        sender.start()
    assert reached.wait(10)
    time.sleep(0.3)
    assert answers == []
    gate.set()
    for sender in senders:
        sender.join(10)
    assert len(answers) == 2
    assert [run["turns"] for run in reader.runs(server.settings.path)["runs"]] == [2]


def test_waiting_requests_share_one_commit(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that arrive while a commit is under way are written together by the next one."""
    sizes: list[int] = []
    append = Store.append

    def counted(store: Store, batches: Any) -> None:
        kept = list(batches)
        sizes.append(len(kept))
        if len(sizes) == 1:
            time.sleep(0.5)
        append(store, kept)

    monkeypatch.setattr(Store, "append", counted)
    senders = [threading.Thread(target=send_http, args=(server, payloads.spans(1, first=n))) for n in range(1, 11)]
    for sender in senders:
        sender.start()
        time.sleep(0.01)
    for sender in senders:
        sender.join(10)
    assert sum(sizes) == 10
    assert len(sizes) <= 4


def test_a_bad_batch_fails_alone(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """When rows cannot be stored, only their own sender is told so."""
    append = Store.append

    def picky(store: Store, batches: Any) -> None:
        kept = list(batches)
        if any(row[0] == payloads.trace_id(13).hex() for batch in kept for row in batch.get("spans", ())):
            raise ValueError("thirteen")
        append(store, kept)

    monkeypatch.setattr(Store, "append", picky)
    answers: dict[int, int] = {}
    senders = [
        threading.Thread(target=lambda n=n: answers.update({n: send_http(server, payloads.spans(1, first=n)).status}))
        for n in range(11, 16)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(10)
    assert answers == {11: 200, 12: 200, 13: 503, 14: 200, 15: 200}
    assert reader.stats(server.settings.path)["stored"] == {"spans": 4}


def test_empty_requests_succeed(server: LocalServer) -> None:
    """An empty body is an empty request, and that is a success in OTLP."""
    assert send_http(server, payloads.spans(0)).status == 200
    assert send_http(server, type(payloads.spans(0))()).status == 200
    assert send_http(server, type(payloads.spans(0))(), JSON).status == 200
