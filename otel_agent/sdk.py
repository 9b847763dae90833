"""The single door to the OpenTelemetry SDK and its exporters: providers of our own, for hosts that have none.

Set up from the standard ``OTEL_*`` variables, never registered as the global providers, so nothing but our own records goes to our
exporters. Every exporter is behind the guard of :mod:`otel_agent.export_guard`, except in :func:`unguarded`, which ``otel-agent verify``
uses to play a host that has none.
"""

from __future__ import annotations

import atexit
import multiprocessing.util
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Final

from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    ConsoleLogRecordExporter,
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, InMemoryMetricReader, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_agent import collected, guard, semconv
from otel_agent.export_guard import GuardedLogExporter, GuardedMetricExporter, GuardedSpanExporter
from otel_agent.settings import Settings

OTLP: Final = {
    ("traces", "grpc"): ("opentelemetry.exporter.otlp.proto.grpc.trace_exporter", "OTLPSpanExporter"),
    ("traces", "http/protobuf"): ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "OTLPSpanExporter"),
    ("metrics", "grpc"): ("opentelemetry.exporter.otlp.proto.grpc.metric_exporter", "OTLPMetricExporter"),
    ("metrics", "http/protobuf"): ("opentelemetry.exporter.otlp.proto.http.metric_exporter", "OTLPMetricExporter"),
    ("logs", "grpc"): ("opentelemetry.exporter.otlp.proto.grpc._log_exporter", "OTLPLogExporter"),
    ("logs", "http/protobuf"): ("opentelemetry.exporter.otlp.proto.http._log_exporter", "OTLPLogExporter"),
}
CONSOLE: Final[dict[str, Callable[[], Any]]] = {
    "traces": ConsoleSpanExporter,
    "metrics": ConsoleMetricExporter,
    "logs": ConsoleLogRecordExporter,
}


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Owned:
    """Providers that are ours to flush and to shut down; ``None`` where the host has its own."""

    tracer: TracerProvider | None = None
    meter: MeterProvider | None = None
    logger: LoggerProvider | None = None
    _open: list[bool] = field(default_factory=lambda: [True], repr=False)

    @property
    def _all(self) -> list[Any]:
        return [provider for provider in (self.tracer, self.meter, self.logger) if provider is not None]

    def flush(self, timeout: float) -> bool:
        """Send what waits, all signals side by side. ``False`` when ``timeout`` seconds were not enough."""
        collected.settle()
        return within(timeout, *(partial(provider.force_flush, int(timeout * 1000)) for provider in self._all))

    def shutdown(self, timeout: float) -> bool:
        """Send what waits and stop. Calling it again does nothing."""
        try:
            self._open.pop()
        except IndexError:
            return True
        collected.settle()
        return within(timeout, *(provider.shutdown for provider in self._all))


def within(timeout: float, *tasks: Callable[[], Any]) -> bool:
    """Run ``tasks`` side by side in daemon threads for at most ``timeout`` seconds: a collector that hangs must not hold a process."""
    threads = [threading.Thread(target=guard.run, args=("sdk", task), daemon=True, name="otel-agent-flush") for task in tasks]
    for thread in threads:
        thread.start()
    until = time.monotonic() + timeout
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def resource() -> Resource:
    """The resource by ``OTEL_SERVICE_NAME`` and ``OTEL_RESOURCE_ATTRIBUTES``. No process detector: a command line may hold secrets.

    An instance of its own for each process, unless one is given: counters of two processes under one name would be one broken series.
    """
    # Newer SDKs add one by themselves, which then takes the place of this one.
    own = Resource({semconv.SERVICE_INSTANCE_ID: str(uuid.uuid4())})
    return own.merge(Resource.create()).merge(OTELResourceDetector().detect())


def exporter(signal: str, settings: Settings) -> Any:
    """The exporter that the environment asks for, or ``None``."""
    wanted = settings.exporters[signal]
    if wanted == "none":
        return None
    if wanted == "console":
        return CONSOLE[signal]()
    module, name = OTLP[signal, settings.signal_protocols.get(signal, settings.protocol)]
    return getattr(import_module(module), name)()


def tracer_provider(settings: Settings, about: Resource) -> TracerProvider:
    """A tracer provider with its exporter."""
    made = TracerProvider(resource=about, shutdown_on_exit=False)
    if (spans := exporter("traces", settings)) is not None:
        made.add_span_processor(BatchSpanProcessor(GuardedSpanExporter(spans)))
    return made


def meter_provider(settings: Settings, about: Resource) -> MeterProvider:
    """A meter provider with its exporter."""
    metrics = exporter("metrics", settings)
    readers = [] if metrics is None else [PeriodicExportingMetricReader(GuardedMetricExporter(metrics))]
    return MeterProvider(readers, resource=about, shutdown_on_exit=False)


def logger_provider(settings: Settings, about: Resource) -> LoggerProvider:
    """A logger provider with its exporter."""
    made = LoggerProvider(resource=about, shutdown_on_exit=False)
    if (logs := exporter("logs", settings)) is not None:
        made.add_log_record_processor(BatchLogRecordProcessor(GuardedLogExporter(logs)))
    return made


def providers(settings: Settings, *, tracer: bool = True, meter: bool = True, logger: bool = True) -> Owned:
    """Providers for the signals that the host has none for, with exporters by the environment."""
    about = resource()
    owned = Owned(
        tracer_provider(settings, about) if tracer else None,
        meter_provider(settings, about) if meter else None,
        logger_provider(settings, about) if logger else None,
    )
    # Our own time limit stands in for the SDK's exit handlers, which wait for a dead collector for longer than a person would.
    atexit.register(owned.shutdown, settings.exit_timeout)
    # A forked worker of ``multiprocessing`` runs no exit handlers, only finalizers that were registered in it.
    multiprocessing.util.register_after_fork(
        owned, lambda mine: multiprocessing.util.Finalize(None, mine.shutdown, (settings.exit_timeout,), exitpriority=0)
    )
    return owned


def unguarded(settings: Settings, about: Mapping[str, str], kept: Collection[str]) -> Owned:
    """Providers such as a host may have: no guard. For verification alone, to try what stands behind them.

    ``about``: more attributes of the resource. ``kept``: labels that a view keeps on metrics; exemplars carry the others.
    """
    ours = resource().merge(Resource(about))
    tracer, logger = TracerProvider(resource=ours, shutdown_on_exit=False), LoggerProvider(resource=ours, shutdown_on_exit=False)
    if (spans := exporter("traces", settings)) is not None:
        tracer.add_span_processor(BatchSpanProcessor(spans))
    if (logs := exporter("logs", settings)) is not None:
        logger.add_log_record_processor(BatchLogRecordProcessor(logs))
    metrics = exporter("metrics", settings)
    readers = [] if metrics is None else [PeriodicExportingMetricReader(metrics)]
    views = [View(instrument_name="*", attribute_keys=set(kept))]
    return Owned(tracer, MeterProvider(readers, resource=ours, shutdown_on_exit=False, views=views), logger)


class Memory:
    """Providers that keep everything in this process, for tests."""

    def __init__(self) -> None:
        self._spans, self._logs, self._reader = InMemorySpanExporter(), InMemoryLogRecordExporter(), InMemoryMetricReader()  # type: ignore[no-untyped-call]
        self.tracer = TracerProvider(shutdown_on_exit=False)
        self.tracer.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meter = MeterProvider([self._reader], shutdown_on_exit=False)
        self.logger = LoggerProvider(shutdown_on_exit=False)
        self.logger.add_log_record_processor(SimpleLogRecordProcessor(self._logs))

    def spans(self) -> Sequence[ReadableSpan]:
        """Finished spans, in the order in which they ended."""
        collected.settle()
        return self._spans.get_finished_spans()

    def logs(self) -> Sequence[ReadableLogRecord]:
        """Log records, in the order in which they were emitted."""
        collected.settle()
        return self._logs.get_finished_logs()

    def metrics(self) -> MetricsData | None:
        """All metrics now; ``None`` when there are none."""
        collected.settle()
        return self._reader.get_metrics_data()

    def clear(self) -> None:
        """Forget spans and log records; metrics are cumulative."""
        self._spans.clear()
        self._logs.clear()
