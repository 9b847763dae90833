"""The single door to the OpenTelemetry SDK and its exporters: providers of our own, for hosts that have none.

Set up from the standard ``OTEL_*`` variables, never registered as the global providers, so nothing but our own records goes to our
exporters. Every exporter is behind the guard of :mod:`otel_agent.export_guard`, except in :func:`unguarded`, which ``otel-agent verify``
uses to play a host that has none.
"""

from __future__ import annotations

import atexit
import multiprocessing.util
import os
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
from opentelemetry.sdk.metrics import ExemplarFilter, MeterProvider, TraceBasedExemplarFilter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    ConsoleMetricExporter,
    InMemoryMetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_agent import collected, deadlines, guard, semconv
from otel_agent.deadlines import within
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
COMPRESSIONS: Final = {"grpc": "grpc", "http/protobuf": "opentelemetry.exporter.otlp.proto.http"}
COMPRESSION_NAMES: Final = {"none": "NoCompression", "gzip": "Gzip", "deflate": "Deflate"}
CONSOLE: Final[dict[str, Callable[[], Any]]] = {
    "traces": ConsoleSpanExporter,
    "metrics": ConsoleMetricExporter,
    "logs": ConsoleLogRecordExporter,
}


class Delivery:
    """Whether what one signal exported was taken.

    ``sums``: each export holds all that came before, so that one that is taken makes up for those that were not. What was lost before
    a fork is the parent's loss.
    """

    def __init__(self, *, sums: bool = False) -> None:
        self._sums = sums
        self._lost_in: int | None = None

    def told(self, taken: bool) -> None:
        """The end of one export."""
        if not taken:
            self._lost_in = os.getpid()
        elif self._sums:
            self._lost_in = None

    def complete(self) -> bool:
        """Whether nothing was lost since this was asked the last time."""
        lost = self._lost_in == os.getpid()
        if not self._sums:
            self._lost_in = None
        return not lost


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Owned:
    """Providers that are ours to flush and to shut down; ``None`` where the host has its own.

    ``deliveries``: what became of their exports. ``hindered``: whether a signal that should be exported cannot be.
    """

    tracer: TracerProvider | None = None
    meter: MeterProvider | None = None
    logger: LoggerProvider | None = None
    deliveries: Sequence[Delivery] = ()
    hindered: bool = False
    _open: list[bool] = field(default_factory=lambda: [True], repr=False)

    @property
    def _all(self) -> list[Any]:
        return [provider for provider in (self.tracer, self.meter, self.logger) if provider is not None]

    @property
    def open(self) -> bool:
        """Whether they still export."""
        return bool(self._open)

    def serves(self, *, tracer: bool, meter: bool, logger: bool) -> bool:
        """Whether they are open and there is one for each signal that is asked for."""
        asked = ((tracer, self.tracer), (meter, self.meter), (logger, self.logger))
        return self.open and all(provider is not None for wanted, provider in asked if wanted)

    def flush(self, timeout: float, *others: Any) -> bool:
        """Send what waits, all signals and ``others`` side by side.

        ``False`` when ``timeout`` seconds were not enough, an export since the last flush was not taken, or these are shut down.
        """
        collected.settle()
        sent = flushed(timeout, *self._all, *others)
        return self._complete() and sent and self.open

    def _complete(self) -> bool:
        told = [delivery.complete() for delivery in self.deliveries]  # each is asked: asking forgets
        return all(told) and not self.hindered

    def shutdown(self, timeout: float) -> bool:
        """Send what waits and stop; ``False`` as for :meth:`flush`. Calling it again does nothing."""
        try:
            self._open.pop()
        except IndexError:
            return True
        collected.settle()
        sent = within(timeout, *(provider.shutdown for provider in self._all))
        atexit.unregister(self.shutdown)
        return self._complete() and sent


def flushed(timeout: float, *made: Any) -> bool:
    """Flush providers side by side; whether each did it in time and said so. Those that cannot be flushed are left alone."""
    able = [provider for provider in made if hasattr(provider, "force_flush")]
    return within(timeout, *(partial(provider.force_flush, int(timeout * 1000)) for provider in able))


def resource() -> Resource:
    """The resource by ``OTEL_SERVICE_NAME`` and ``OTEL_RESOURCE_ATTRIBUTES``. No process detector: a command line may hold secrets.

    An instance of its own for each process, unless one is given: counters of two processes under one name would be one broken series.
    A forked child has one of its own in any case: SDKs from 1.44 on see to it, for older ones :class:`Forked` does.
    """
    # Newer SDKs add one by themselves, which then takes the place of this one.
    own = Resource({semconv.SERVICE_INSTANCE_ID: str(uuid.uuid4())})
    return own.merge(Resource.create()).merge(OTELResourceDetector().detect())


class Forked:
    """Gives a forked child an instance of its own, where the SDK lets it export under its parent's resource."""

    def __init__(self, made: Resource) -> None:
        self._made = made
        self._of = {os.getpid(): made}

    def __call__(self, resource: Resource) -> Resource:
        """The resource to export in the place of ``resource``; one for all signals of a process."""
        if resource is not self._made:
            return resource
        process = os.getpid()
        if (mine := self._of.get(process)) is None:
            fresh = self._made.merge(Resource({semconv.SERVICE_INSTANCE_ID: str(uuid.uuid4())}))
            mine = self._of.setdefault(process, fresh)  # exporters of other signals may have come here at the same time
        return mine


def exporter(signal: str, settings: Settings) -> Any:
    """The exporter that the environment asks for, or ``None``: when it asks for none, and when that cannot be made, which is logged."""
    wanted = settings.exporters[signal]
    if wanted == "none":
        return None
    if wanted == "console":
        return CONSOLE[signal]()
    if (why := settings.hindered.get(signal)) is not None:
        guard.log.warning("%s are not exported: %s", signal, why)
        return None
    protocol = settings.signal_protocols.get(signal, settings.protocol)
    module, name = OTLP[signal, protocol]
    # The exporters raise on some variables of the SDK's own, such as unknown credential providers, and quote their values.
    given = settings.stand_ins.get(signal, {})
    return guard.run("sdk.exporter", lambda: getattr(import_module(module), name)(**_arguments(given, protocol)))


def _arguments(given: Mapping[str, Any], protocol: str) -> dict[str, Any]:
    if "compression" not in given:
        return dict(given)
    made = import_module(COMPRESSIONS[protocol]).Compression
    return {**given, "compression": getattr(made, COMPRESSION_NAMES[given["compression"]])}


class Pipeline:
    """How our own providers are made: what they are about, and what becomes of their exports."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._about = resource()
        self._forked = Forked(self._about)
        self.deliveries: list[Delivery] = []
        self.hindered = False

    def _exporter(self, signal: str) -> Any:
        made = exporter(signal, self._settings)
        self.hindered = self.hindered or (made is None and self._settings.exporters[signal] != "none")
        return made

    def _watched(self, *, sums: bool = False) -> dict[str, Any]:
        self.deliveries.append(Delivery(sums=sums))
        return {"told": self.deliveries[-1].told, "about": self._forked}

    def tracer(self) -> TracerProvider:
        """A tracer provider with its exporter."""
        made = TracerProvider(resource=self._about, shutdown_on_exit=False)
        if (spans := self._exporter("traces")) is not None:
            made.add_span_processor(BatchSpanProcessor(GuardedSpanExporter(spans, **self._watched())))
        return made

    def meter(self) -> MeterProvider:
        """A meter provider with its exporter."""
        metrics = self._exporter("metrics")
        readers = [] if metrics is None else [self._reader(metrics)]
        return MeterProvider(readers, resource=self._about, shutdown_on_exit=False, exemplar_filter=_exemplars(self._settings))

    def _reader(self, metrics: Any) -> PeriodicExportingMetricReader:
        delta = AggregationTemporality.DELTA in (metrics._preferred_temporality or {}).values()  # noqa: SLF001 - no public reader exists
        return PeriodicExportingMetricReader(GuardedMetricExporter(metrics, **self._watched(sums=not delta)))

    def logger(self) -> LoggerProvider:
        """A logger provider with its exporter."""
        made = LoggerProvider(resource=self._about, shutdown_on_exit=False)
        if (logs := self._exporter("logs")) is not None:
            made.add_log_record_processor(BatchLogRecordProcessor(GuardedLogExporter(logs, **self._watched())))
        return made


def _exemplars(settings: Settings) -> ExemplarFilter | None:
    """The default where the variable is set and empty, which the SDK would refuse; else ``None``, and the SDK reads the variable."""
    return TraceBasedExemplarFilter() if settings.stand_ins.get("exemplars") else None


def providers(settings: Settings, *, tracer: bool = True, meter: bool = True, logger: bool = True) -> Owned:
    """Providers for the signals that the host has none for, with exporters by the environment."""
    made = Pipeline(settings)
    ours = (made.tracer() if tracer else None, made.meter() if meter else None, made.logger() if logger else None)
    owned = Owned(*ours, made.deliveries, made.hindered)
    deadlines.prepare()
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
