"""What arrived: questions to Prometheus, Jaeger and VictoriaLogs over their own query interfaces."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
from typing import Any

from tests.stack.addresses import Stack
from tests.stack.http_client import fetch, fetch_json


def metric_value(stack: Stack, expression: str) -> float | None:
    """Sum of an instant query, or nothing when it matches no series."""
    result = fetch_json(f"{stack.prometheus}/api/v1/query", query=expression)["data"]["result"]
    return sum(float(series["value"][1]) for series in result) if result else None


def log_lines(stack: Stack, query: str, limit: int = 1_000_000) -> list[dict[str, Any]]:
    body = urllib.parse.urlencode({"query": query, "limit": str(limit)}).encode()
    answer = fetch(f"{stack.logs}/select/logsql/query", body, timeout=60)
    return [json.loads(line) for line in answer.splitlines() if line]


def trace(stack: Stack, trace_id: int) -> dict[str, Any] | None:
    """One trace as Jaeger's lossless interface gives it, or nothing when it is not known."""
    try:
        found: dict[str, Any] = fetch_json(f"{stack.jaeger}/api/v3/traces/{trace_id:032x}")
    except urllib.error.HTTPError as refused:
        if refused.code == 404:
            return None
        raise
    return found


def spans(found: dict[str, Any] | None) -> list[dict[str, Any]]:
    """All spans of a trace. Jaeger folds a span that came twice into one, and leaves an empty scope behind."""
    resources = (found or {}).get("result", {}).get("resourceSpans", ())
    scopes = [by_scope for by_resource in resources for by_scope in by_resource["scopeSpans"]]
    return [span for by_scope in scopes for span in by_scope.get("spans", ())]


def collector_metric(stack: Stack, name: str, **labels: str) -> float:
    """Sum over the series of one of the collector's own metrics; 0 when it has none yet."""
    text = fetch(stack.collector_metrics).decode()
    lines = re.findall(rf"^{name}(?:_total)?(?:\{{(.*)\}})? (\S+)$", text, flags=re.MULTILINE)
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    return sum(float(value) for series, value in lines if all(label in series for label in wanted))


def everything(stack: Stack, trace_id: int) -> dict[str, bytes]:
    """All text that each backend can be made to show, by the question asked."""
    now = {"start": "0", "end": "99999999999"}
    selector = urllib.parse.urlencode({"match[]": '{__name__=~".+"}', **now})
    exemplars = urllib.parse.urlencode({"query": '{__name__=~".+"}', **now})
    questions = {
        "prometheus series": f"{stack.prometheus}/api/v1/series?{selector}",
        "prometheus metadata": f"{stack.prometheus}/api/v1/metadata",
        "prometheus labels": f"{stack.prometheus}/api/v1/labels",
        "prometheus exemplars": f"{stack.prometheus}/api/v1/query_exemplars?{exemplars}",
        "jaeger trace": f"{stack.jaeger}/api/v3/traces/{trace_id:032x}",
        "jaeger trace, older form": f"{stack.jaeger}/api/traces/{trace_id:032x}",
        "jaeger services": f"{stack.jaeger}/api/v3/services",
        "jaeger operations": f"{stack.jaeger}/api/v3/operations?service=canary",
        "logs": f"{stack.logs}/select/logsql/query?query=*",
        "log streams": f"{stack.logs}/select/logsql/streams?query=*",
        "log fields": f"{stack.logs}/select/logsql/field_names?query=*",
        "collector metrics": stack.collector_metrics,
    }
    return {name: fetch(url, timeout=30) for name, url in questions.items()}
