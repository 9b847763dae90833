"""The boards' own queries against a running stack."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from dashboards import results
from dashboards.boards import boards
from dashboards.panels import Board, Logs, Metrics, Panel, Query, Trace
from dashboards.results import Range, Servers, Variables
from dashboards.thresholds import load
from tests.stack.addresses import Stack

BOARDS: tuple[Board, ...] = boards(load())
PANELS: Mapping[str, Panel] = {f"{board.key}/{panel.key}": panel for board in BOARDS for _, panel in board.panels()}


def empty(stack: Stack, keys: Iterable[str] = PANELS, variables: Variables | None = None, seconds: float = 180) -> list[str]:
    """The panels of which one query or more finds nothing in the last minutes."""
    now = time.time()
    shown = Range(now - seconds, now + 1, "2m")
    servers = Servers(stack.prometheus, stack.logs, stack.jaeger)
    given = variables or Variables()
    return [key for key in keys if not all(_found(query, servers, shown, given) for query in PANELS[key].queries)]


def _found(query: Query, servers: Servers, shown: Range, variables: Variables) -> bool:
    match query:
        case Metrics():
            return bool(results.metrics(servers, query, shown, variables))
        case Logs():
            return bool(results.logs(servers, query, shown, variables))
        case Trace():
            return bool(results.trace(servers, query, shown, variables))
