"""Whose providers are used, what goes where, and what never goes anywhere."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_agent
from otel_agent import guard
from otel_agent.export_guard import GuardedSpanExporter
from otel_agent.testing import Canaries, Standin

from .receiving import Collector, collecting
from .starting import PYTHON, environment, ok, program, run

SETTINGS = otel_agent.Settings(digest_key=b"0123456789abcdef")


@pytest.mark.parametrize("order", ["before", "after"])
def test_the_host_keeps_its_providers(order: str, provider: Standin, collector: Collector) -> None:
    """Cases 062, 063: set up first, the host's providers get our records; set up later, it gets its globals and we keep our own.

    In neither order do we set a global, and in neither does anything but our own records reach our exporter.
    """
    with collecting() as host:
        ended = ok(program("host", provider.url(), order, host.http, env=environment(collector.http)))
    assert ended.err == ""
    assert "GET /orders" in {span["name"] for span in host.spans}
    ours, theirs = (host, collector) if order == "before" else (collector, host)
    chats = [span for span in ours.spans if span["name"].startswith("chat ")]
    assert [span["scope"] for span in chats] == ["otel_agent"]
    assert "otel_agent.turns" in ours.metrics
    assert len(ours.facts("model_turn")) == 1
    assert "otel_agent" not in {span["scope"] for span in theirs.spans}  # the anthropic SDK has spans of its own, for the host
    assert {span["scope"] for span in collector.spans} <= {"otel_agent"}
    request = next(span for span in host.spans if span["name"] == "GET /orders")
    assert chats[0]["parentSpanId"] == request["spanId"]


def test_content_of_others_does_not_pass_the_guard() -> None:
    """Cases 054, 056: another instrumentation in the same process, and the guard around the host's exporter."""
    plant = Canaries("host")
    kept = InMemorySpanExporter()
    tracer = TracerProvider()
    tracer.add_span_processor(SimpleSpanProcessor(GuardedSpanExporter(kept)))
    with tracer.get_tracer("opentelemetry.instrumentation.anthropic").start_as_current_span(f"chat {plant['request.user']}") as span:
        span.set_attribute("gen_ai.input.messages", plant["request.user"])
        span.set_attribute("gen_ai.request.model", "claude-sonnet-4-6")
        span.add_event("gen_ai.choice", {"content": plant["anthropic.thinking"]})
        span.record_exception(ValueError(plant["error.message"]))
    (found,) = kept.get_finished_spans()
    assert plant.find_in(found.to_json()) == []
    assert dict(found.attributes or {})["gen_ai.request.model"] == "claude-sonnet-4-6"
    tracer.shutdown()


def test_a_disabled_sdk_sends_nothing(provider: Standin, collector: Collector) -> None:
    """``OTEL_SDK_DISABLED``."""
    ok(program("one_line", provider.url(), env=environment(collector.http, OTEL_SDK_DISABLED="true")))
    assert collector.received == []


def test_no_exporters(provider: Standin, collector: Collector) -> None:
    """``none`` for each signal."""
    none = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    ok(program("one_line", provider.url(), env=environment(collector.http, **none)))
    assert collector.received == []


def test_console_exporters(provider: Standin, collector: Collector) -> None:
    """``console`` prints records and no text of the model's or the user's."""
    console = {f"OTEL_{signal}_EXPORTER": "console" for signal in ("TRACES", "METRICS", "LOGS")}
    ended = ok(program("short", provider.url(), env=environment(collector.http, **console)))
    assert "chat claude-sonnet-4-6" in ended.out
    assert "otel_agent.turns" in ended.out
    assert not any(text in ended.out for text in ("depot", "Oslo", "Where?"))
    assert collector.received == []


def test_both_protocols_at_once_with_a_token(provider: Standin, collector: Collector) -> None:
    """A protocol and an endpoint per signal; headers reach the collector on both."""
    env = environment(
        collector.grpc, OTEL_EXPORTER_OTLP_PROTOCOL="grpc", OTEL_EXPORTER_OTLP_LOGS_PROTOCOL="http/protobuf",
        OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=f"{collector.http}/v1/logs", OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20t0ken",
    )  # fmt: skip
    ok(program("short", provider.url(), env=env))
    assert {(got.signal, got.way) for got in collector.received} == {("traces", "grpc"), ("metrics", "grpc"), ("logs", "http")}
    assert {got.headers.get("authorization") for got in collector.received} == {"Bearer t0ken"}


@pytest.mark.skipif(sys.platform == "win32", reason="addresses are spelled otherwise")
def test_nothing_else_is_called(provider: Standin, collector: Collector) -> None:
    """Case 061: the interpreter's audit hook sees the provider's and the collector's address, and no other."""
    addresses = json.loads(ok(program("audited", provider.url(), env=environment(collector.http))).out)
    ports = {provider.url().rpartition(":")[2], collector.http.rpartition(":")[2]}
    assert {address.partition(", ")[2].rstrip(")").partition(",")[0] for address in addresses if not address.startswith("lookup")} == ports
    assert {address for address in addresses if address.startswith("lookup")} <= {"lookup 127.0.0.1"}


def test_the_command_line_is_not_exported(provider: Standin, collector: Collector) -> None:
    """Case 059: also when the process detector is asked for by name."""
    secret = "--api-key=hunter2hunter2"
    env = environment(collector.http, OTEL_EXPERIMENTAL_RESOURCE_DETECTORS="process,otel", OTEL_SERVICE_NAME="shop")
    ok(program("short", provider.url(), secret, env=env))
    assert collector.received
    assert not any(b"hunter2" in got.body or b"process.command" in got.body for got in collector.received)
    assert {span["resource"]["service.name"] for span in collector.spans} == {"shop"}


@pytest.mark.filterwarnings("ignore:.LoggingHandler. in:DeprecationWarning")
def test_our_diagnostics_stay_out_of_the_pipeline(provider: Standin) -> None:
    """Case 066: an exporting handler on the root logger does not get what we say about exporting."""
    from opentelemetry.sdk._logs import LoggingHandler

    kept = InMemoryLogRecordExporter()
    host = LoggerProvider()
    host.add_log_record_processor(SimpleLogRecordProcessor(kept))
    handler = LoggingHandler(logger_provider=host)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        nowhere = otel_agent.Settings(exporters=dict.fromkeys(("metrics", "traces", "logs"), "none"))
        otel_agent.instrument(TracerProvider(), None, host, settings=nowhere)
        guard.note("test", ValueError("the secret of the lantern"))
        with otel_agent.agent_run("keeper"):
            logging.getLogger("host").warning("the host's own line")
    finally:
        root.removeHandler(handler)
        otel_agent.uninstrument()
    records = [item.log_record for item in kept.get_finished_logs()]
    assert [record.body for record in records if record.body is not None] == ["the host's own line"]
    assert {record.event_name for record in records} - {None} == {"otel_agent.run_started", "otel_agent.agent_run"}


def test_an_interpreter_without_us_still_starts(provider: Standin, collector: Collector) -> None:
    """A program of another environment under ``otel-agent run`` is reported and runs."""
    env = environment(collector.http)
    env["PYTHONPATH"] = str(__import__("otel_agent.launcher", fromlist=["x"]).__file__).rpartition("/")[0]
    ended = run(PYTHON, "-S", "-c", "import sitecustomize; print('started')", env=env)
    assert ended.out == "started\n"
    assert "not installed in this interpreter" in ended.err
