"""Switching observation on and off, and saying honestly what is covered."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import wrapt
from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from otel_agent import collected, guard
from otel_agent.instrument import runner, runtime
from otel_agent.instrument.runtime import Providers
from otel_agent.instrument.stainless import APPLIED, SDKS, patches
from otel_agent.settings import Settings, from_env

OLDEST: Final = {"anthropic": "0.51.0", "openai": "1.66.2"}
"""Oldest tested version of each SDK."""


@dataclass(frozen=True, slots=True)
class Report:
    """What :func:`instrument` did.

    ``active``: SDK → version, calls are observed. ``waiting``: SDK → version, installed but not imported yet; observed from its import
    on. ``absent``: not installed. ``failed``: SDK → type of the failure. ``missing``: places that this version lacks. ``sink``: ``host``
    when records go to providers that the host or the caller set, ``own`` when to exporters set up here, ``off`` when the SDK is disabled
    and after :func:`shutdown`.
    """

    active: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    sink: str = "host"

    @property
    def covered(self) -> bool:
        """Whether any SDK is or will be observed."""
        return bool(self.active or self.waiting)


_lock: Final = threading.Lock()
_wanted: Final[set[str]] = set()
_hooked: Final[set[str]] = set()
_failed: Final[dict[str, str]] = {}
_missing: Final[dict[str, tuple[str, ...]]] = {}
_owned: Any = None
_used: Providers | None = None
_sink = "host"


def instrument(
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    *,
    sdks: Iterable[str] | None = None,
    settings: Settings | None = None,
) -> Report:
    """Observe every client of the supported SDKs, existing and future ones. Calling it again changes nothing but the providers.

    Providers: those given; else the host's global ones; else, per signal, providers of our own with exporters by the standard
    ``OTEL_*`` variables; new ones after :func:`shutdown`. No global provider is ever set. ``sdks``: names out of ``anthropic`` and
    ``openai``, by default both. ``settings``: by default from the environment.

    Raises :class:`otel_agent.settings.SettingsError` for an unusable setting and ``ValueError`` for an unknown SDK name: at start-up,
    where a person sees it. Nothing raises afterwards. When no supported SDK is installed, a warning is logged and ``covered`` is false.
    """
    global _used, _sink
    names = _named(sdks)
    if unknown := [name for name in names if name not in SDKS]:
        raise ValueError(f"no instrumentation for {len(unknown)} of the sdks named; known: {', '.join(SDKS)}")
    host = runtime.global_providers()
    given = (tracer_provider or _real(host.tracer), meter_provider or _real(host.meter), logger_provider or _real(host.logger))
    settings = from_env(exporting=not all(given)) if settings is None else settings
    with _lock:
        before = _owned
        _used, _sink = _providers(host, *given, settings)
        runtime.install(runtime.make(_used, settings))
        for name in names:
            _want(name)
        report = _report(names, _sink)
    if before is not None and before is not _owned:
        before.shutdown(settings.exit_timeout)
    if not report.covered:
        guard.log.warning("nothing to observe: none of %s is installed", ", ".join(names))
    return report


def uninstrument(sdks: Iterable[str] | None = None) -> None:
    """Stop observing: the SDKs' own functions are back, by identity. Providers set up here are flushed and stopped."""
    global _owned, _used, _sink
    with _lock:
        for name in _named(sdks):
            _wanted.discard(name)
            APPLIED[name].remove()
            runner.APPLIED.remove()
        if _wanted:
            return
        runtime.install(None)
        owned, _owned, _used, _sink = _owned, None, None, "host"
    if owned is not None:
        owned.shutdown(Settings().exit_timeout)


def _named(sdks: Iterable[str] | None) -> tuple[str, ...]:
    """The SDKs asked for; one name by itself is iterable too, and means that SDK."""
    return tuple(SDKS) if sdks is None else (sdks,) if isinstance(sdks, str) else tuple(sdks)


def flush(timeout: float = 5.0) -> bool:
    """Send spans, metrics and log records that wait; for functions that are frozen after they return.

    ``timeout``: seconds for all three together. ``True``: everything that was exported since the last flush was taken. ``False``: the
    time was not enough, an exporter gave up on something (a refused connection, an error for an answer), or observation is shut down.

    What the OpenTelemetry SDK does not say, this cannot say either: records that a full queue (``OTEL_BSP_MAX_QUEUE_SIZE``) dropped before
    they were exported, and those that a collector took and rejected in part. Providers of the host's are flushed too, as far as they can
    be; what becomes of their exports is not known here, so there ``True`` means no more than that they were done in time.
    """
    from otel_agent.sdk import flushed

    collected.settle()
    host = [_followed(provider, now) for provider, now in zip(_each(_used), _each(runtime.global_providers()), strict=True)]
    if _owned is None:
        return flushed(timeout, *host)
    ours = _each(_owned)
    return bool(_owned.flush(timeout, *(provider for provider in host if not any(provider is each for each in ours))))


def _each(holder: Any) -> tuple[Any, Any, Any]:
    return (None, None, None) if holder is None else (holder.tracer, holder.meter, holder.logger)


def _followed(used: Any, now: Any) -> Any:
    """The provider that records go to: the API's placeholder follows the host's global one."""
    return now if used is None else _real(used) or now


def shutdown(timeout: float = 5.0) -> bool:
    """Flush and stop the providers set up here; those of the host are the host's. Safe to call twice, and from an ASGI lifespan.

    ``False`` as for :func:`flush`. What is recorded afterwards goes nowhere, until :func:`instrument` is called again.
    """
    return True if _owned is None else bool(_owned.shutdown(timeout))


def _providers(host: Providers, tracer: Any, meter: Any, logger: Any, settings: Settings) -> tuple[Providers, str]:
    if settings.sdk_disabled or (tracer and meter and logger):
        return Providers(tracer or host.tracer, meter or host.meter, logger or host.logger), "off" if settings.sdk_disabled else "host"
    owned = _own(settings, tracer=not tracer, meter=not meter, logger=not logger)
    return Providers(
        tracer or owned.tracer or host.tracer, meter or owned.meter or host.meter, logger or owned.logger or host.logger
    ), "own"


def _own(settings: Settings, **asked: bool) -> Any:
    """Our providers for the signals asked for: those that are there, or new ones where those are shut down or lack a signal."""
    global _owned  # noqa: PLW0603 - one set of providers for the process
    if _owned is not None and _owned.serves(**asked):
        return _owned
    from otel_agent import sdk

    _owned = sdk.providers(settings, **asked)
    return _owned


def _real(provider: Any) -> Any:
    """``provider`` unless it is the API's placeholder."""
    return (
        None if type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")) else provider
    )


def _want(name: str) -> None:
    _wanted.add(name)
    if name in _hooked:
        if name in sys.modules:
            _apply(name)
        return
    _hooked.add(name)
    wrapt.register_post_import_hook(lambda module: _imported(name), name)


def _imported(name: str) -> None:
    """The SDK has been imported, now or long ago. Runs inside the host's import statement, so under the guard."""
    if name in _wanted:
        guard.run("instrument", _apply, name)


def _apply(name: str) -> None:
    try:
        _missing[name] = APPLIED[name].apply(patches(SDKS[name]))
        if name == "anthropic":
            runner.APPLIED.apply(runner.patches())
        _failed.pop(name, None)
    except LookupError as error:
        _failed[name] = type(error).__name__
        guard.log.warning("%s is not observed: %s", name, error)


def _report(names: tuple[str, ...], sink: str) -> Report:
    installed = {name: found for name in names if (found := _version(name)) is not None}
    return Report(
        active={name: found for name, found in installed.items() if APPLIED[name].active},
        waiting={name: found for name, found in installed.items() if name in _wanted and not APPLIED[name].active and name not in _failed},
        absent=tuple(name for name in names if name not in installed),
        failed=dict(_failed),
        missing=tuple(place for name in names for place in _missing.get(name, ())),
        sink=sink,
    )


def status() -> Report:
    """What is observed now."""
    return _report(tuple(SDKS), "off" if _sink == "own" and not _owned.open else _sink)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
