"""A host with its own global providers, set before or after us. Arguments: provider, ``before`` or ``after``, the host's own endpoint."""

import sys

import anthropic
from opentelemetry import metrics, trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import otel_agent

PROVIDER, ORDER, HOST = sys.argv[1:4]
API = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")


def set_up_host() -> None:
    """As an application does."""
    tracer, logger = TracerProvider(), LoggerProvider()
    tracer.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{HOST}/v1/traces")))
    logger.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(f"{HOST}/v1/logs")))
    trace.set_tracer_provider(tracer)
    set_logger_provider(logger)
    metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter(f"{HOST}/v1/metrics"))]))


if ORDER == "before":
    set_up_host()
    assert otel_agent.instrument().sink == "host"
else:
    assert otel_agent.instrument().sink == "own"
    assert type(trace.get_tracer_provider()).__module__.startswith(API), "a global was set"
    assert type(metrics.get_meter_provider()).__module__.startswith(API), "a global was set"
    set_up_host()
    assert type(trace.get_tracer_provider()) is TracerProvider, "the host was refused"

with trace.get_tracer("shop").start_as_current_span("GET /orders"):
    client = anthropic.Anthropic(base_url=PROVIDER, api_key="none")
    client.messages.create(model="claude-sonnet-4-6", max_tokens=8, messages=[{"role": "user", "content": "Where?"}])
trace.get_tracer_provider().shutdown()
metrics.get_meter_provider().shutdown()
print("done")
