"""An OTLP collector of the tests' own, over HTTP and gRPC, that can misbehave: slow, silent, redirecting."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest, "metrics": ExportMetricsServiceRequest}
SERVICES = {"TraceService": "traces", "LogsService": "logs", "MetricsService": "metrics"}


@dataclass
class Received:
    """One export as it came. ``way``: ``http`` or ``grpc``."""

    way: str
    signal: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Collector:
    """What came in. ``status``: the HTTP answer. ``delay``: seconds before it; ``hang``: never."""

    status: int = 200
    delay: float = 0.0
    hang: bool = False
    received: list[Received] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    http: str = ""
    grpc: str = ""

    def take(self, way: str, signal: str, headers: dict[str, str], body: bytes) -> None:
        """Keep one export, as slowly as is wished."""
        self.received.append(Received(way, signal, headers, body))
        self.closing.wait(600 if self.hang else self.delay)

    def groups(self, signal: str, scopes: str, records: str) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
        """Resource attributes, scope name and record of everything that came of one signal."""
        for got in [*self.received]:
            if got.signal != signal:
                continue
            request = REQUESTS[signal].FromString(got.body)
            for resource in MessageToDict(request).get(f"resource{scopes[5:]}", ()):
                about = attributes(resource.get("resource", {}))
                for scope in resource.get(scopes, ()):
                    name = scope.get("scope", {}).get("name", "")
                    yield from ((about, name, record) for record in scope.get(records, ()))

    @property
    def spans(self) -> list[dict[str, Any]]:
        """Spans: ``name``, ``scope``, ``resource``, ``attributes``, ids."""
        found = self.groups("traces", "scopeSpans", "spans")
        return [{**span, "resource": about, "scope": scope, "attributes": attributes(span)} for about, scope, span in found]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Log records: ``event``, ``attributes``, ids, ``resource``, ``scope``."""
        found = self.groups("logs", "scopeLogs", "logRecords")
        return [
            {**record, "event": record.get("eventName"), "resource": about, "scope": scope, "attributes": attributes(record)}
            for about, scope, record in found
        ]

    def facts(self, event: str) -> list[dict[str, Any]]:
        """Attributes of the records of one event."""
        return [record["attributes"] for record in self.records if record["event"] == f"otel_agent.{event}"]

    @property
    def metrics(self) -> set[str]:
        """Names of all metrics that came."""
        return {metric["name"] for _, _, metric in self.groups("metrics", "scopeMetrics", "metrics")}

    def points(self, name: str) -> list[dict[str, Any]]:
        """Points of one metric, as they came."""
        found = [metric for _, _, metric in self.groups("metrics", "scopeMetrics", "metrics") if metric["name"] == name]
        kinds = [next(value for key, value in metric.items() if isinstance(value, dict) and "dataPoints" in value) for metric in found]
        return [{**point, "attributes": attributes(point)} for kind in kinds for point in kind["dataPoints"]]

    def wait_for(self, event: str, count: int, seconds: float = 20.0) -> list[dict[str, Any]]:
        """The records of an event, once there are ``count`` of them."""
        wait_until(lambda: len(self.facts(event)) >= count, seconds)
        return self.facts(event)


def wait_until(what: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something to become true; it must."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def attributes(holder: dict[str, Any]) -> dict[str, Any]:
    """OTLP attributes as a plain dictionary."""
    return {pair["key"]: value_of(pair.get("value", {})) for pair in holder.get("attributes", ())}


def value_of(value: dict[str, Any]) -> Any:
    """One OTLP value."""
    if "arrayValue" in value:
        return [value_of(each) for each in value["arrayValue"].get("values", ())]
    if "intValue" in value:
        return int(value["intValue"])
    return next(iter(value.values()), None)


def handler_for(collector: Collector) -> type[BaseHTTPRequestHandler]:
    """The HTTP side."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            collector.take("http", self.path.rpartition("/")[2], headers, body)
            self.send_response(collector.status)
            self.send_header("content-length", "0")
            if collector.status == 302:
                self.send_header("location", f"{collector.http}/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            """Where a redirected POST ends up."""
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    return Handler


class Service(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The gRPC side."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def service(self, details: Any) -> Any:
        service = details.method.split("/")[1].rpartition(".")[2]
        headers = {key: value for key, value in details.invocation_metadata if isinstance(value, str)}

        def export(body: bytes, _context: Any) -> bytes:
            self._collector.take("grpc", SERVICES[service], headers, body)
            return b""

        return grpc.unary_unary_rpc_method_handler(export)


@contextmanager
def collecting(**behaviour: Any) -> Iterator[Collector]:
    """A running collector on loopback."""
    collector = Collector(**behaviour)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(collector))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    pool = ThreadPoolExecutor(8)
    rpc = grpc.server(pool)
    rpc.add_generic_rpc_handlers((Service(collector),))
    collector.http = f"http://127.0.0.1:{server.server_address[1]}"
    collector.grpc = f"http://127.0.0.1:{rpc.add_insecure_port('127.0.0.1:0')}"
    rpc.start()
    try:
        yield collector
    finally:
        collector.closing.set()
        rpc.stop(0).wait()
        pool.shutdown()
        server.shutdown()
        server.server_close()
