"""The queries over loopback HTTP, for readers while this process holds the file. Each needs the token of the state file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import duckdb
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from otel_agent.local.intake import Intake, is_bearer
from otel_agent.local.over_http import any_json
from otel_agent.local.queries import DEFAULT_LIMIT, list_runs, show_run, which_runs
from otel_agent.local.retention import Pruned
from otel_agent.local.sent_by import sent_by
from otel_agent.local.store import Store
from otel_agent.local.writer import WriteFailed

SERVER: Final = "Server"
NAME: Final = "otel-agent-local"
"""The header of every answer by which readers know that it is ours: the port may be another program's by now."""

RUNS: Final = "/api/runs"
RUN: Final = "/api/run"
STATS: Final = "/api/stats"
WHICH: Final = "/api/which"
SENT_BY: Final = "/api/sent-by"
PRUNE: Final = "/api/prune"

Ask = Callable[[duckdb.DuckDBPyConnection, Request], Any]


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(any_json(value)), status, media_type="application/json", headers={"Cache-Control": "no-store"})


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "")
    return int(text) if text.isdecimal() and len(text) < 6 else DEFAULT_LIMIT


def _ask_runs(connection: duckdb.DuckDBPyConnection, request: Request) -> Any:
    return list_runs(connection, limit=_limit(request), agent=request.query_params.get("agent"))


def _ask_run(connection: duckdb.DuckDBPyConnection, request: Request) -> Any:
    return show_run(connection, request.query_params.get("id", ""))


def _ask_which(connection: duckdb.DuckDBPyConnection, request: Request) -> Any:
    return which_runs(connection, request.query_params.get("id", ""))


def _ask_sent_by(connection: duckdb.DuckDBPyConnection, request: Request) -> Any:
    return sent_by(connection, request.query_params.get("instance", ""))


def _answer(store: Store, ask: Ask, request: Request) -> Response:
    connection = store.cursor()
    try:
        found = ask(connection, request)
    finally:
        connection.close()
    return _json(found) if found is not None else _json({"error": "not found"}, 404)


def _guarded(token: str, respond: Callable[[Request], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        if not is_bearer(request.headers.get("authorization"), token):
            return _json({"error": "the token of the state file is required"}, 401)
        return await run_in_threadpool(respond, request)

    return endpoint


def _days(request: Request) -> int | None:
    text = request.query_params.get("days", "")
    return int(text) if text.isdecimal() and 0 < len(text) < 6 else None


def api_routes(store: Store, intake: Intake, token: str, prune: Callable[[int], Pruned]) -> list[Route]:
    """Runs, one run, all rows of one sender, and counts of the intake; and the one way to change what is there."""

    def pruned(request: Request) -> Response:
        days = _days(request)
        if not days:
            return _json({"error": "days: a whole number from 1 on"}, 400)
        try:
            return _json(prune(days).as_facts())
        except WriteFailed:
            return _json({"error": "not pruned"}, 500)

    def stats(_: Request) -> Response:
        return _json({"stored": dict(intake.stored), "removed": {place: n for place, n in intake.removed.items() if n}})

    return [
        Route(RUNS, _guarded(token, lambda request: _answer(store, _ask_runs, request))),
        Route(RUN, _guarded(token, lambda request: _answer(store, _ask_run, request))),
        Route(WHICH, _guarded(token, lambda request: _answer(store, _ask_which, request))),
        Route(PRUNE, _guarded(token, pruned), methods=["POST"]),
        Route(SENT_BY, _guarded(token, lambda request: _answer(store, _ask_sent_by, request))),
        Route(STATS, _guarded(token, stats)),
    ]
