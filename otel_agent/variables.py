"""Reading variables: each reader takes the environment and says what is wrong by name and remedy, never by value.

The standard ``OTEL_*`` variables that the exporters read for themselves are checked here first: the SDK answers a wrong one with a
traceback or a log line that repeats the value, and the value may hold a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

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


WHOLE: Final = re.compile(r"[+-]?[0-9]{1,20}")


def whole(env: Environment, name: str, default: int, low: int, high: int) -> int:
    """A whole number within bounds, in digits: what reads it after us takes neither ``1.0`` nor ``1e3``."""
    text = env.get(name, "").strip()
    if not text:
        return default
    if WHOLE.fullmatch(text) is None:
        raise SettingsError(f"{name} is not a whole number; write one from {low} to {high} in digits")
    if not low <= int(text) <= high:
        raise SettingsError(f"{name} is out of range; write a whole number from {low} to {high}")
    return int(text)


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
    return lambda env: _ignore(whole(env, name, low, low, high))


def _seconds(name: str) -> Callable[[Environment], None]:
    """Never 0: there is no answer within no time, so nothing would be exported."""
    return lambda env: _ignore(number(env, name, 1, 0.001, 86_400))


def _word(name: str, *allowed: str) -> Callable[[Environment], None]:
    return lambda env: _ignore(choice({name: env.get(name, "").lower()}, name, allowed[0], allowed))


def _ignore(value: object) -> None:
    """The value was checked; the exporter reads it again for itself."""


HEADER: Final = re.compile(r"\s*[A-Za-z0-9!#$%&'*+.^_`|~-]+\s*=[ \t]*[!#-+\--:<-\[\]-~]+( +[!#-+\--:<-\[\]-~]+)*\s*")
"""What the SDK takes for a header; of others it logs the value."""
LAST_OF: Final = {True: "~", False: "\xff"}
"""The last character that a header may hold over gRPC, and over HTTP."""


def _headers(name: str) -> Callable[[Environment], None]:
    def check(env: Environment) -> None:
        given = [part for part in env.get(name, "").split(",") if part.strip()]
        if not all(HEADER.fullmatch(part) for part in given):
            raise SettingsError(f"{name} is not a list of headers; write name=value,name=value with values URL-encoded")

    return check


def _carried(signal: str) -> Callable[[Environment], None]:
    """Whether the headers of one signal, once decoded, can be sent: else its exporter would fail each time, and quote them."""

    def check(env: Environment) -> None:
        name, given = spoken(env, signal, "HEADERS")
        if not given or not over_otlp(env, signal):
            return
        grpc = over_grpc(env, signal)
        pairs = [part.strip().partition("=") for part in given.split(",") if part.strip()]
        if not all(_sendable(value.strip(), LAST_OF[grpc]) for _, _, value in pairs):
            raise SettingsError(f"{name} holds a value that no header can carry; write printable ASCII, URL-encoded")
        if grpc and any(key.strip().lower().endswith("-bin") for key, _, _ in pairs):
            raise SettingsError(f"{name} holds a name that ends in -bin, which gRPC keeps for bytes; write another name")

    return check


def _sendable(text: str, last: str) -> bool:
    decoded = text if " " in text else unquote(text)  # as the SDK decodes it
    return all(" " <= character <= last and character != "\x7f" for character in decoded)


def _address(name: str) -> Callable[[Environment], None]:
    return lambda env: _ignore(authority(given, name) if (given := env.get(name, "").strip()) else None)


def _endpoint(signal: str) -> Callable[[Environment], None]:
    """Whether the exporter of one signal can use its endpoint; each protocol asks for something else."""

    def check(env: Environment) -> None:
        name, given = spoken(env, signal, "ENDPOINT")
        if not given or not over_otlp(env, signal):
            return
        if over_grpc(env, signal):
            if "@" in authority(given, name):
                raise SettingsError(f"{name} holds a user, which gRPC has no place for; put credentials into OTEL_EXPORTER_OTLP_HEADERS")
        elif scheme(given) not in {"http", "https"}:
            raise SettingsError(
                f"{name} is an address without http:// or https:// before it, which OTLP over HTTP asks for; "
                "write one such as http://localhost:4318"
            )

    return check


def _timeout(signal: str) -> Callable[[Environment], None]:
    """The exporter for gRPC takes an empty variable for a number, and raises."""

    def check(env: Environment) -> None:
        names = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
        empty = [name for name in names if blank(env, name)]
        if empty and over_otlp(env, signal) and over_grpc(env, signal):
            raise SettingsError(f"{empty[0]} is set and empty, which the exporter for gRPC cannot read; unset it or write seconds")

    return check


def blank(env: Environment, name: str) -> bool:
    """Whether a variable is set and empty: by the standard as good as unset, for some readers not."""
    return name in env and not env[name].strip()


def spoken(env: Environment, signal: str, what: str) -> tuple[str, str]:
    """Name and text of the variable that speaks for a signal: its own, else the common one. An empty one is unset."""
    own, common = f"OTEL_EXPORTER_OTLP_{signal.upper()}_{what}", f"OTEL_EXPORTER_OTLP_{what}"
    text = env.get(own, "").strip()
    return (own, text) if text else (common, env.get(common, "").strip())


def over_otlp(env: Environment, signal: str) -> bool:
    """Whether a signal is exported over OTLP at all."""
    return (env.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip() or "otlp") == "otlp"


def over_grpc(env: Environment, signal: str) -> bool:
    """Whether a signal is exported over gRPC."""
    return (spoken(env, signal, "PROTOCOL")[1] or "grpc") == "grpc"


def doubled(env: Environment) -> bool:
    """Whether an exporter over HTTP would append its path to a common endpoint that ends in one."""
    common = "OTEL_EXPORTER_OTLP_ENDPOINT"
    ended = env.get(common, "").strip().rstrip("/").endswith(tuple(f"/v1/{signal}" for signal in SIGNALS))
    asked = (signal for signal in SIGNALS if over_otlp(env, signal) and not over_grpc(env, signal))
    return ended and any(spoken(env, signal, "ENDPOINT")[0] == common for signal in asked)


def scheme(url: str) -> str:
    """What stands before ``://``, in lower case; empty where nothing does."""
    return url.partition("://")[0].lower() if "://" in url else ""


def encrypted(env: Environment, signal: str) -> bool:
    """Whether the exporter of a signal uses TLS. Over gRPC an address without a scheme does, unless told otherwise."""
    where = scheme(spoken(env, signal, "ENDPOINT")[1] or "http://localhost")
    if where == "https" or not over_grpc(env, signal):
        return where == "https"
    told = spoken(env, signal, "INSECURE")[1].lower()
    return told != "true" if told else where != "http"


CERTIFICATES: Final = ("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE")


def certificates(env: Environment, signal: str) -> dict[str, str]:
    """Variables with the files that the exporter of a signal reads for TLS; none where it uses none."""
    if not over_otlp(env, signal) or not encrypted(env, signal):
        return {}
    found = [spoken(env, signal, what) for what in CERTIFICATES]
    # The exporter for gRPC looks at a client's files only where it is given an authority's.
    used = found if found[0][1] or not over_grpc(env, signal) else []
    return {name: path for name, path in used if path}


def unreadable(env: Environment, signal: str) -> str | None:
    """Why a signal cannot be exported: the first file for TLS that cannot be read, by the name of its variable."""
    for name, path in certificates(env, signal).items():
        try:
            if not (Path(path).is_dir() and "CLIENT" not in name and not over_grpc(env, signal)):  # HTTP takes a folder of authorities
                Path(path).open("rb").close()
        except OSError as error:
            return f"{name} names a file that cannot be read ({type(error).__name__}); name a readable one, or unset it"
    return None


def stand_ins(env: Environment, signal: str) -> dict[str, Any]:
    """Arguments for an exporter in place of variables that it misreads."""
    return _over_grpc(env, signal) if over_grpc(env, signal) else _over_http(env, signal)


_IN_PLACE: Final[Mapping[str, tuple[str, Callable[[str, str], object]]]] = {
    "ENDPOINT": ("endpoint", lambda text, signal: f"{(text or 'http://localhost:4318').removesuffix('/')}/v1/{signal}"),
    "TIMEOUT": ("timeout", lambda text, signal: float(text or 10)),
    "COMPRESSION": ("compression", lambda text, signal: text.lower() or "none"),
    "CERTIFICATE": ("certificate_file", lambda text, signal: text or True),
}


def _over_http(env: Environment, signal: str) -> dict[str, Any]:
    """For empty variables: before 1.45 the exporter sends to nowhere, raises, or trusts every certificate."""
    found = {}
    for what, (argument, made) in _IN_PLACE.items():
        own, common = f"OTEL_EXPORTER_OTLP_{signal.upper()}_{what}", f"OTEL_EXPORTER_OTLP_{what}"
        if not env.get(own, "").strip() and (blank(env, own) or blank(env, common)):
            found[argument] = made(spoken(env, signal, what)[1], signal)
    return found


def _over_grpc(env: Environment, signal: str) -> dict[str, Any]:
    """For empty variables, and for compressions that the exporter does not know."""
    found: dict[str, Any] = {"compression": spoken(env, signal, "COMPRESSION")[1].lower() or "none"}
    if not spoken(env, signal, "ENDPOINT")[1]:
        found["endpoint"] = "http://localhost:4317"
    if not spoken(env, signal, "INSECURE")[1]:
        found["insecure"] = not encrypted(env, signal)
    return found


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
    *(_address(f"{prefix}_ENDPOINT") for prefix in _OTLP),
    *(_endpoint(signal) for signal in SIGNALS),
    *(_headers(f"{prefix}_HEADERS") for prefix in _OTLP),
    *(_carried(signal) for signal in SIGNALS),
    *(_seconds(f"{prefix}_TIMEOUT") for prefix in _OTLP),
    *(_timeout(signal) for signal in SIGNALS),
    *(_word(f"{prefix}_INSECURE", "false", "true") for prefix in _OTLP),
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
        most = whole(env, f"OTEL_{queue}_MAX_QUEUE_SIZE", 2048, 1, _MOST)
        if whole(env, f"OTEL_{queue}_MAX_EXPORT_BATCH_SIZE", 512, 1, _MOST) > most:
            raise SettingsError(f"OTEL_{queue}_MAX_EXPORT_BATCH_SIZE (512 when unset) is larger than OTEL_{queue}_MAX_QUEUE_SIZE; lower it")
