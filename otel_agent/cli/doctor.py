"""``otel-agent doctor``: what is installed, observed, exported, and what would leak."""

from __future__ import annotations

import argparse
import json
import socket
from dataclasses import asdict
from importlib.metadata import distributions
from typing import Any, Final
from urllib.parse import urlsplit

from otel_agent.instrument import setup
from otel_agent.instrument.runtime import package_version
from otel_agent.settings import Settings, endpoints, from_env, leaking, over_tls, path_twice

OTHERS: Final = (
    "opentelemetry-instrumentation-", "openinference-instrumentation-", "traceloop-sdk", "langfuse", "logfire", "openlit",
    "mistralai", "strands-agents", "google-adk", "litellm", "pydantic-ai", "ag2", "crewai", "langsmith",
)  # fmt: skip
"""Distributions that emit telemetry about models by themselves or may do so."""


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser(
        "doctor",
        help="what is installed, observed and exported, and what would leak",
        description="Says which SDKs are observed, where records go by the environment and whether something listens there, and which "
        "variables make other software leak text. Sends nothing. Exit code: 0 no problem, 1 a problem, with its remedy, 2 a wrong setting.",
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(act=act)


def act(arguments: argparse.Namespace) -> int:
    """Print the findings; 1 when something leaks, cannot be reached or is not observed."""
    found = examine()
    print(json.dumps(found, indent=2) if arguments.json else "\n".join(lines(found)))
    return 0 if not found["problems"] else 1


def examine() -> dict[str, Any]:
    """All findings. Holds no values of variables, and of endpoints only scheme, host and port."""
    settings = from_env()
    report = setup.instrument(settings=_without_export(settings))
    for name in report.waiting:
        __import__(name)
    report = setup.status()
    setup.uninstrument()
    ways = {} if settings.sdk_disabled else destinations(settings)
    leaks = leaking()
    return {
        "version": package_version(),
        "observed": report.active,
        "not_installed": list(report.absent),
        "not_supported": report.failed,
        "optional_places_missing": list(report.missing),
        "export": ways,
        "digests": digest_state(settings),
        "leaks": leaks,
        "other_emitters": others(),
        "problems": problems(asdict(report), ways, leaks) + unexported(settings) + disabled(settings) + mistaken(ways),
    }


def _without_export(settings: Settings) -> Settings:
    """Settings for a try that sends nothing."""
    return Settings(digests=settings.digests, digest_key=b"-" * 16, exporters=dict.fromkeys(settings.exporters, "none"))


def digest_state(settings: Settings) -> str:
    """``keyed``, ``ephemeral`` or ``off``."""
    if not settings.digests:
        return "off"
    return "keyed" if settings.digest_key is not None else "ephemeral"


def unexported(settings: Settings) -> list[str]:
    """Signals that cannot be exported, and why, those with the same reason together."""
    reasons = dict.fromkeys(settings.hindered.values())
    return [
        f"{', '.join(signal for signal, given in settings.hindered.items() if given == why)} are not exported: {why}" for why in reasons
    ]


def disabled(settings: Settings) -> list[str]:
    """That nothing is recorded at all, where a variable says so."""
    return ["OTEL_SDK_DISABLED is set, so nothing is recorded; unset it"] if settings.sdk_disabled else []


MISTAKEN: Final = {
    (
        "grpc",
        4318,
    ): "port 4318 is OTLP's over HTTP, and gRPC is what is set; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or take port 4317",
    (
        "http/protobuf",
        4317,
    ): "port 4317 is OTLP's over gRPC, and HTTP is what is set; set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or take port 4318",
}
"""Protocol and port that do not belong together: something listens there, and understands nothing."""


def mistaken(ways: dict[str, dict[str, Any]]) -> list[str]:
    """What is listened to and would refuse everything all the same."""
    pairs = {(way["protocol"], urlsplit(way["to"]).port): None for way in ways.values() if way.get("listening")}
    found = [MISTAKEN[pair] for pair in pairs if pair in MISTAKEN]
    if ways and path_twice():
        found.append("OTEL_EXPORTER_OTLP_ENDPOINT ends in the path of a signal, which is appended to it once more; leave the path out")
    return found


def destinations(settings: Settings) -> dict[str, dict[str, Any]]:
    """Signal → where it goes."""
    secure = over_tls()
    return {signal: reach(signal, settings, url, secure[signal]) for signal, url in endpoints().items()}


def reach(signal: str, settings: Settings, url: str, secure: bool) -> dict[str, Any]:
    """Where a signal goes and whether something listens there. ``secure``: over TLS, also where the address has no scheme."""
    kind = settings.exporters[signal]
    if kind != "otlp":
        return {"exporter": kind}
    parts = urlsplit(url if "//" in url else f"//{url}")
    scheme = "https" if secure else "http"
    # An address without a port is port 443 to gRPC, encrypted or not.
    default = 443 if secure or settings.signal_protocols[signal] == "grpc" else 80
    host, port = parts.hostname or "localhost", parts.port or default
    return {
        "exporter": kind,
        "protocol": settings.signal_protocols[signal],
        "to": f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}",
        "listening": listens(host, port),
    }


def listens(host: str, port: int) -> bool:
    """Whether a TCP connection can be made within a second."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


def others() -> list[str]:
    """Installed distributions that may emit telemetry about models as well."""
    names = {distribution.name or "" for distribution in distributions()}
    return sorted(name for name in names if name.startswith(OTHERS))


def problems(report: dict[str, Any], ways: dict[str, dict[str, Any]], leaks: dict[str, str]) -> list[str]:
    """What a person should mend, in words."""
    found = [f"{name} is set: {remedy}" for name, remedy in leaks.items()]
    if not report["active"]:
        found.append("no supported SDK is installed; install anthropic or openai")
    found += [f"this version of {name} is not supported; the oldest tested is {setup.OLDEST[name]}" for name in report["failed"]]
    silent = sorted({way["to"] for way in ways.values() if way.get("listening") is False})
    found += [
        f"nothing listens on {place}; start a collector or `otel-agent local`, or set OTEL_EXPORTER_OTLP_ENDPOINT" for place in silent
    ]
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The findings for a terminal."""
    text = [f"otel-agent {found['version']}"]
    text += [f"observed: {name} {version}" for name, version in found["observed"].items()]
    text += [f"not installed: {name}" for name in found["not_installed"]]
    text += [f"not supported: {name}" for name in found["not_supported"]]
    text += [f"absent in this version, not needed: {place}" for place in found["optional_places_missing"]]
    for signal, way in found["export"].items():
        state = (
            "" if "to" not in way else f" over {way['protocol']} to {way['to']} ({'listening' if way['listening'] else 'nothing listens'})"
        )
        text.append(f"{signal}: {way['exporter']}{state}")
    text.append(f"digests: {found['digests']}")
    text += [f"may emit as well: {name}" for name in found["other_emitters"]]
    text += [f"PROBLEM: {problem}" for problem in found["problems"]] or ["no problem found"]
    return text
