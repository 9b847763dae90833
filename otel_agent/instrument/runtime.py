"""What instrumentation needs at each call: the emitter, the digester, the clock. One per process, replaced as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from opentelemetry import metrics, trace
from opentelemetry._logs import LoggerProvider, get_logger_provider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from otel_agent import semconv
from otel_agent.digest import Digester
from otel_agent.emit import Emitter
from otel_agent.guard import log
from otel_agent.instrument.responses import Responses
from otel_agent.settings import Settings, SettingsError


@dataclass(frozen=True, slots=True)
class Providers:
    """The three providers records go to."""

    tracer: TracerProvider
    meter: MeterProvider
    logger: LoggerProvider


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything a call needs; immutable, so a call keeps the one it began with.

    ``digester`` is ``None`` when digests are switched off. ``clock`` counts seconds and never goes back.
    """

    emitter: Emitter
    digester: Digester | None
    settings: Settings
    clock: Callable[[], float] = time.perf_counter
    responses: Responses = field(default_factory=Responses)


def package_version() -> str:
    """Version of this package; ``0`` when it runs without being installed."""
    try:
        return version("otel-agent")
    except PackageNotFoundError:
        return "0"


def global_providers() -> Providers:
    """The host's providers; placeholders of the API where the host has set none, which follow when it does.

    Raises :class:`otel_agent.settings.SettingsError` where a variable asks the API for one that is not installed.
    """
    return Providers(*(_asked(variable, get) for variable, get in _GLOBAL))


_GLOBAL: Final[tuple[tuple[str, Callable[[], Any]], ...]] = (
    ("OTEL_PYTHON_TRACER_PROVIDER", trace.get_tracer_provider),
    ("OTEL_PYTHON_METER_PROVIDER", metrics.get_meter_provider),
    ("OTEL_PYTHON_LOGGER_PROVIDER", get_logger_provider),
)


def _asked(variable: str, get: Callable[[], Any]) -> Any:
    try:
        return get()
    except StopIteration:  # the API's way to say so
        raise SettingsError(f"{variable} names no provider that is installed; unset it, or write sdk_{variable[12:].lower()}") from None


def make(providers: Providers, settings: Settings) -> Runtime:
    """A runtime that emits to ``providers``."""
    stamp = (semconv.SCOPE_NAME, package_version())
    emitter = Emitter(
        providers.tracer.get_tracer(*stamp, schema_url=semconv.SCHEMA_URL),
        providers.meter.get_meter(*stamp, schema_url=semconv.SCHEMA_URL),
        providers.logger.get_logger(*stamp, schema_url=semconv.SCHEMA_URL),
        label_limit=settings.label_limit,
        older_metrics=settings.older_metrics,
    )
    return Runtime(emitter, _digester(settings), settings)


def _digester(settings: Settings) -> Digester | None:
    if not settings.digests:
        return None
    if settings.digest_key is not None:
        return Digester.of_key(settings.digest_key, settings.digest_key_id)
    return _ephemeral()


@cache
def _ephemeral() -> Digester:
    """One random key per process, however often observation is set up; said once."""
    log.warning(
        "no OTEL_AGENT_DIGEST_KEY: digests use a random key of this process (marked ephemeral) and cannot be compared across processes"
    )
    return Digester.ephemeral()


_current: Runtime | None = None


def current() -> Runtime:
    """The runtime in force. Before :func:`otel_agent.instrument` it emits to the host's global providers."""
    global _current  # noqa: PLW0603 - one runtime for the process
    if _current is None:
        _current = make(global_providers(), Settings())
    return _current


def install(runtime: Runtime | None) -> Runtime | None:
    """Put ``runtime`` in force; returns the one before."""
    global _current
    before, _current = _current, runtime
    return before


SUPPRESS: Final = "suppress_instrumentation"
"""Context key by which a caller keeps a stretch of code unobserved; the ecosystem's own."""
