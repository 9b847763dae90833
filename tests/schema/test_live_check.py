"""What is emitted is what the registry says: Weaver receives every record we have over OTLP and compares."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filled_records import resource, specimens
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from weaver_command import SCHEMA, found, needs_weaver

from otel_agent import semconv
from otel_agent.emit import Emitter
from otel_agent.records import RECORDS, Record
from otel_agent.tally import tally
from schema import names

pytestmark = needs_weaver

PATIENCE = 20.0


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class LiveCheck:
    """A Weaver that listens, and the report it leaves."""

    def __init__(self, folder: Path) -> None:
        self.port, self._admin, self._report = free_port(), free_port(), folder / "report.json"
        command = [
            found() or "weaver", "registry", "live-check", "-r", "registry", "--v2", "--include-unreferenced",
            "--input-source", "otlp", "--otlp-grpc-address", "127.0.0.1", "--otlp-grpc-port", str(self.port),
            "--admin-port", str(self._admin), "--inactivity-timeout", "60", "--format", "json", "--no-stream",
            "--quiet",
        ]  # fmt: skip
        with self._report.open("wb") as out:
            self._process = subprocess.Popen(command, cwd=SCHEMA, stdout=out, stderr=subprocess.DEVNULL)

    def listening(self) -> None:
        """Wait until both ports answer."""
        end = time.monotonic() + PATIENCE
        for port in (self.port, self._admin):
            while not self._answers(port):
                assert self._process.poll() is None, "weaver ended"
                assert time.monotonic() < end, "weaver does not listen"
                time.sleep(0.05)

    def _answers(self, port: int) -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    def report(self) -> Any:
        """Stop it; what it found."""
        urllib.request.urlopen(f"http://127.0.0.1:{self._admin}/stop", data=b"", timeout=PATIENCE).close()
        self._process.wait(timeout=PATIENCE)
        return json.loads(self._report.read_text())

    def end(self) -> None:
        """Make sure that it is gone."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextmanager
def live_check(folder: Path) -> Iterator[LiveCheck]:
    """A listening Weaver."""
    check = LiveCheck(folder)
    try:
        check.listening()
        yield check
    finally:
        check.end()


class Pipeline:
    """An SDK of all three signals that exports to one port."""

    def __init__(self, port: int) -> None:
        endpoint, described = f"http://127.0.0.1:{port}", Resource(resource())
        self.tracers = TracerProvider(resource=described)
        self.tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, insecure=True)))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=endpoint, insecure=True))
        self.meters = MeterProvider([reader], resource=described)
        self.loggers = LoggerProvider(resource=described)
        self.loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=endpoint, insecure=True)))

    def emitter(self) -> Emitter:
        """An emitter under our scope's name, with the older metrics too."""
        scope, url = semconv.SCOPE_NAME, semconv.SCHEMA_URL
        return Emitter(
            self.tracers.get_tracer(scope, schema_url=url),
            self.meters.get_meter(scope, schema_url=url),
            self.loggers.get_logger(scope, schema_url=url),
            older_metrics=True,
        )

    def close(self) -> None:
        """Send everything."""
        for provider in (self.tracers, self.meters, self.loggers):
            provider.shutdown()


def emit(emitter: Emitter, record: Record) -> None:
    """Send a record as its producer would."""
    kind, values = type(record), record.model_dump(exclude_none=True)
    if kind.span_operation is None:
        emitter.event(kind, values, Context())
        return
    emitter.finish(emitter.begin(kind, "issue_refund", values, Context()), values)


def advice(report: Any) -> set[tuple[str, str, str]]:
    """Every violation of the report: its kind, where it is, and what it says."""
    found: set[tuple[str, str, str]] = set()

    def walk(node: Any, name: str) -> None:
        if isinstance(node, list):
            for item in node:
                walk(item, name)
        elif isinstance(node, dict):
            here = node["name"] if isinstance(node.get("name"), str) else name
            for item in (node.get("live_check_result") or {}).get("all_advice", []):
                if item.get("level") == "violation":
                    found.add((str(item.get("id")), here, str(item.get("message"))))
            for key, item in node.items():
                if key != "live_check_result":
                    walk(item, here)

    walk(report["samples"], "")
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The report on every record with every fact and every value of every closed set."""
    with live_check(tmp_path_factory.mktemp("weaver")) as check:
        pipeline = Pipeline(check.port)
        emitter = pipeline.emitter()
        tally("unknown", "schema.live_check")
        for kind in RECORDS:
            for record in specimens(kind):
                emit(emitter, record)
        pipeline.close()
        return check.report()


def test_nothing_we_emit_violates_the_registry(report: Any) -> None:
    """Names, types and closed sets are all as declared."""
    assert advice(report) == set()
    assert report["statistics"]["advice_level_counts"].get("violation", 0) == 0


def test_nothing_we_emit_is_missing_from_the_registry(report: Any) -> None:
    """No attribute, metric or event of ours is unknown to it."""
    for kind in ("attributes", "metrics", "events"):
        assert report["statistics"][f"seen_non_registry_{kind}"] == {}


def test_everything_declared_is_emitted(report: Any) -> None:
    """Weaver did see it: every fact, every metric, every event, and the whole resource."""
    attributes = {*names.own_attributes(), *names.RESOURCE}
    assert unseen(report, "attributes") & attributes == set()
    assert unseen(report, "metrics") == set()
    assert unseen(report, "events") == set()


def unseen(report: Any, kind: str) -> set[str]:
    """Names of the registry that did not come by."""
    return {name for name, times in report["statistics"][f"seen_registry_{kind}"].items() if not times}


def test_an_undeclared_name_is_a_violation(tmp_path: Path) -> None:
    """The check can fail: a span with a name that no registry has is reported."""
    with live_check(tmp_path) as check:
        pipeline = Pipeline(check.port)
        pipeline.tracers.get_tracer("otel_agent").start_span("chat", attributes={"otel_agent.no_such_name": "x"}).end()
        pipeline.close()
        report = check.report()
    assert "otel_agent.no_such_name" in report["statistics"]["seen_non_registry_attributes"]
    assert advice(report)
