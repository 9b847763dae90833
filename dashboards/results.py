"""Runs a panel's own queries against real servers: what a picture is drawn from, and what a test demands to be there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from dashboards.panels import Logs, Metrics, Trace

_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Servers:
    """Base addresses. Without a log store or a trace store, panels that read from them have no result."""

    metrics: str
    logs: str = ""
    traces: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """The time range shown, in seconds since the epoch, and what ``$__rate_interval`` stands for."""

    start: float
    end: float
    rate: str = "5m"

    @property
    def step(self) -> int:
        """Seconds between two points: some 120 of them, one second at the least."""
        return max(1, round((self.end - self.start) / 120))


@dataclass(frozen=True, slots=True)
class Line:
    """One series: its label as the legend shows it, and its points."""

    label: str
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """One bar of a trace."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Variables:
    """What the board's variables stand for; those not given stand for everything."""

    given: Mapping[str, str] = field(default_factory=dict)

    def fill(self, query: str, shown: Range) -> str:
        """The query with Grafana's own variables and the board's replaced."""
        built_in = {"__rate_interval": shown.rate, "__range": f"{max(1, round(shown.end - shown.start))}s"}
        return re.sub(
            r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))",
            lambda found: {**built_in, **self.given}.get(found[1] or found[2], ".*"),
            query,
        )


def _get(address: str, parameters: Mapping[str, Any] | None = None) -> bytes:
    body = urlencode(parameters).encode() if parameters is not None else None
    with urlopen(Request(address, body), timeout=_TIMEOUT) as answer:  # noqa: S310 - the address is the user's own argument
        content: bytes = answer.read()
        return content


def metrics(servers: Servers, query: Metrics, shown: Range, variables: Variables) -> list[Line]:
    """The series of one PromQL query; a query for one instant gives series of one point. Points that are not numbers are left out."""
    asked: dict[str, Any] = {"query": variables.fill(query.expr, shown)}
    if query.instant:
        data = _prometheus(servers, "query", {**asked, "time": shown.end})
    else:
        data = _prometheus(servers, "query_range", {**asked, "start": shown.start, "end": shown.end, "step": shown.step})
    lines = (_line(query, entry) for entry in data)
    return [line for line in lines if line.values]


def _prometheus(servers: Servers, endpoint: str, asked: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    answer = json.loads(_get(f"{servers.metrics}/api/v1/{endpoint}", asked))
    found: list[Mapping[str, Any]] = answer["data"]["result"]
    return found


def _line(query: Metrics, entry: Mapping[str, Any]) -> Line:
    points = entry.get("values") or [entry["value"]]
    numbers = [(float(time), float(value)) for time, value in points if value not in ("NaN", "+Inf", "-Inf")]
    return Line(legend(query.legend, entry["metric"]), tuple(time for time, _ in numbers), tuple(value for _, value in numbers))


def legend(template: str, labels: Mapping[str, str]) -> str:
    """The legend's text for one series. A label that is absent leaves nothing behind."""
    shown = re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), template)
    parts = [part.strip() for part in shown.split("·")]
    return " · ".join(part for part in parts if part) or "(unset)"


def logs(servers: Servers, query: Logs, shown: Range, variables: Variables) -> list[dict[str, str]]:
    """The records of one LogsQL query."""
    if not servers.logs:
        return []
    asked = {"query": variables.fill(query.expr, shown), "start": f"{shown.start}", "end": f"{shown.end}"}
    return [json.loads(line) for line in _get(f"{servers.logs}/select/logsql/query", asked).splitlines() if line]


def trace(servers: Servers, query: Trace, shown: Range, variables: Variables) -> list[Span]:
    """The spans of a trace, earliest first."""
    trace_id = variables.fill(query.trace_id, shown)
    if not servers.traces or trace_id == ".*":
        return []
    resources = json.loads(_get(f"{servers.traces}/api/v3/traces/{trace_id}"))["result"]["resourceSpans"]
    found = [span for resource in resources for scope in resource["scopeSpans"] for span in scope["spans"]]
    return sorted(map(_span, found), key=lambda span: (span.start, -span.end))


def _span(found: Mapping[str, Any]) -> Span:
    return Span(found["name"], int(found["startTimeUnixNano"]) / 1e9, int(found["endTimeUnixNano"]) / 1e9)


def columns(rows: Sequence[Mapping[str, str]], most: int) -> list[str]:
    """The fields that occur, in the order of their first occurrence."""
    return list(dict.fromkeys(name for row in rows for name in row))[:most]
