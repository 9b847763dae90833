"""Reading variables: each reader takes the environment and says what is wrong by name and remedy, never by value.

The standard ``OTEL_*`` variables that the exporters read for themselves are checked here first: the SDK answers a wrong one with a
traceback or a log line that repeats the value, and the value may hold a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from urllib.parse import urlsplit

Environment: TypeAlias = Mapping[str, str]
SIGNALS: Final = ("traces", "metrics", "logs")
PROTOCOLS: Final = ("grpc", "http/protobuf")


class SettingsError(ValueError):
    """A setting cannot be used. The message names the variable, the kind of its value and the remedy, never the value."""


_TRUE: Final = {"1", "true", "yes", "on"}
_FALSE: Final = {"0", "false", "no", "off"}


def flag(env: Environment, name: str, default: bool) -> bool:
    """Yes or no."""
    text = env.get(name, "").strip().lower()
    if not text:
        return default
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise SettingsError(f"{name} is neither a yes nor a no; write true or false")


def number(env: Environment, name: str, default: float, low: float, high: float) -> float:
    """A number within bounds."""
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{name} is not a number; write one from {low:g} to {high:g}") from None
    if not low <= value <= high:
        raise SettingsError(f"{name} is out of range; write a number from {low:g} to {high:g}")
    return value


def choice(env: Environment, name: str, default: str, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    text = env.get(name, "").strip() or default
    if text not in allowed:
        raise SettingsError(f"{name} is not one of {', '.join(allowed)}; write one of them")
    return text


def protocol(env: Environment, name: str, default: str) -> str:
    """A protocol that there is an exporter for."""
    return choice(env, name, default, PROTOCOLS)


def _whole(name: str, low: int, high: int) -> Callable[[Environment], None]:
    def check(env: Environment) -> None:
        if number(env, name, low, low, high) % 1:
            raise SettingsError(f"{name} is not a whole number; write one from {low} to {high}")

    return check


def _seconds(name: str) -> Callable[[Environment], None]:
    return lambda env: _ignore(number(env, name, 0, 0, 86_400))


def _word(name: str, *allowed: str) -> Callable[[Environment], None]:
    return lambda env: _ignore(choice({name: env.get(name, "").lower()}, name, allowed[0], allowed))


def _ignore(value: object) -> None:
    """The value was checked; the exporter reads it again for itself."""


HEADER: Final = re.compile(r"\s*[A-Za-z0-9!#$%&'*+.^_`|~-]+\s*=[^,;\s]+(\s+[^,;\s]+)*\s*")


def _headers(name: str) -> Callable[[Environment], None]:
    def check(env: Environment) -> None:
        given = [part for part in env.get(name, "").split(",") if part.strip()]
        if not all(HEADER.fullmatch(part) for part in given):
            raise SettingsError(f"{name} is not a list of headers; write name=value,name=value with values URL-encoded")

    return check


def _endpoint(name: str, protocol_name: str) -> Callable[[Environment], None]:
    def check(env: Environment) -> None:
        given = env.get(name, "").strip()
        speaks = env.get(protocol_name) or env.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "grpc"
        if given and (host := authority(given, name)) is not None and speaks == "grpc" and "@" in host:
            raise SettingsError(f"{name} holds a user, which gRPC has no place for; put credentials into OTEL_EXPORTER_OTLP_HEADERS")

    return check


def authority(url: str, name: str) -> str:
    """Host and port of an endpoint, with or without a scheme, as written. Raises :class:`SettingsError` when it has none."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        sound = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise SettingsError(f"{name} is not an address; write one such as http://localhost:4317")
    return parts.netloc


_OTLP: Final = ("OTEL_EXPORTER_OTLP", *(f"OTEL_EXPORTER_OTLP_{signal.upper()}" for signal in SIGNALS))
_MOST: Final = 2**31 - 1

EXPORT_CHECKS: Final[tuple[Callable[[Environment], None], ...]] = (
    *(_endpoint(f"{prefix}_ENDPOINT", f"{prefix}_PROTOCOL") for prefix in _OTLP),
    *(_headers(f"{prefix}_HEADERS") for prefix in _OTLP),
    *(_seconds(f"{prefix}_TIMEOUT") for prefix in _OTLP),
    *(_word(f"{prefix}_COMPRESSION", "none", "gzip", "deflate") for prefix in _OTLP),
    *(_whole(f"OTEL_{queue}_{what}", 1, _MOST) for queue in ("BSP", "BLRP") for what in ("SCHEDULE_DELAY", "MAX_QUEUE_SIZE")),
    *(_whole(f"OTEL_{queue}_{what}", 1, _MOST) for queue in ("BSP", "BLRP") for what in ("MAX_EXPORT_BATCH_SIZE", "EXPORT_TIMEOUT")),
    *(_whole(f"OTEL_METRIC_EXPORT_{what}", 1, _MOST) for what in ("INTERVAL", "TIMEOUT")),
    *(_whole(f"OTEL_{kind}ATTRIBUTE_{what}", 0, _MOST) for kind in ("", "SPAN_", "EVENT_", "LINK_", "LOGRECORD_")
      for what in ("COUNT_LIMIT", "VALUE_LENGTH_LIMIT")),
    *(_whole(f"OTEL_SPAN_{what}_COUNT_LIMIT", 0, _MOST) for what in ("EVENT", "LINK")),
    _word("OTEL_METRICS_EXEMPLAR_FILTER", "trace_based", "always_on", "always_off"),
)  # fmt: skip


def check_export(env: Environment) -> None:
    """Raise :class:`SettingsError` for the first standard variable that the SDK or its exporters could not use."""
    for check in EXPORT_CHECKS:
        check(env)
    for queue in ("BSP", "BLRP"):
        most = number(env, f"OTEL_{queue}_MAX_QUEUE_SIZE", 2048, 1, _MOST)
        if number(env, f"OTEL_{queue}_MAX_EXPORT_BATCH_SIZE", 512, 1, _MOST) > most:
            raise SettingsError(f"OTEL_{queue}_MAX_EXPORT_BATCH_SIZE (512 when unset) is larger than OTEL_{queue}_MAX_QUEUE_SIZE; lower it")
