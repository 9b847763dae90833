"""Reading the store, whoever holds it: over loopback HTTP from the receiver that runs, else from the file itself.

DuckDB lets one process have a file open for writing and shuts every other out meanwhile. The state file says who that is; when
nobody answers there, or somebody else, it was left by a process that died, and the file is opened read-only.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import duckdb

from otel_agent.local import retention, state
from otel_agent.local.api import NAME, PRUNE, RUN, RUNS, SENT_BY, SERVER, STATS, WHICH
from otel_agent.local.queries import DEFAULT_LIMIT, FEW, SHORTEST, list_runs, show_run, which_runs
from otel_agent.local.sent_by import sent_by as rows_sent_by
from otel_agent.local.store import StoreError, open_read_only

TIMEOUT: Final = 30.0
PATIENCE: Final = 600.0
"""For what changes the store: that waits for its turn."""
OK: Final = 200
NOT_FOUND: Final = 404
BROKEN: Final = 500


class _NobodyThere(Exception):
    """No receiver answers at the address of the state file."""


def _get(running: state.Running, target: str, method: str = "GET", timeout: float = TIMEOUT) -> Any:
    connection = http.client.HTTPConnection(running.host, running.port, timeout=timeout)
    try:
        connection.request(method, target, headers={"Authorization": f"Bearer {running.token}"})
        response = connection.getresponse()
        body = response.read()
    except (OSError, ValueError, http.client.HTTPException):  # a state file may say anything for a host
        raise _NobodyThere from None
    finally:
        connection.close()
    if response.getheader(SERVER) != NAME:
        raise _NobodyThere
    if response.status == NOT_FOUND:
        return None
    if response.status >= BROKEN:
        raise StoreError("the running receiver could not answer; what failed is in its output")
    if response.status != OK:
        raise _NobodyThere
    return json.loads(body)


def _from_file(path: Path, ask: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:
    with open_read_only(path) as connection:
        return ask(connection)


def _read(path: Path, target: str, ask: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:
    running = state.read(path)
    if running is None:
        return _from_file(path, ask)
    try:
        return _get(running, target)
    except _NobodyThere:
        return _from_file(path, ask)


def runs(path: Path, *, limit: int = DEFAULT_LIMIT, agent: str | None = None) -> dict[str, Any]:
    """The latest runs and the turns outside any run; see :func:`otel_agent.local.queries.list_runs`. Raises :class:`StoreError`."""
    query = urlencode({"limit": limit} | ({"agent": agent} if agent is not None else {}))
    found: dict[str, Any] = _read(path, f"{RUNS}?{query}", lambda connection: list_runs(connection, limit=limit, agent=agent))
    return found


def show(path: Path, run_id: str) -> dict[str, Any] | None:
    """One run, or one trace outside any run; ``None`` when there is no such. Raises :class:`StoreError`."""
    found: dict[str, Any] | None = _read(path, f"{RUN}?{urlencode({'id': run_id})}", lambda connection: show_run(connection, run_id))
    return found


def which(path: Path, start: str) -> list[dict[str, Any]]:
    """The runs whose id begins with ``start``, newest first; one more than are few. Raises :class:`StoreError`."""
    found = _read(path, f"{WHICH}?{urlencode({'id': start})}", lambda connection: which_runs(connection, start))
    return found or []  # a receiver of an older version knows no such question


def why_none(path: Path, start: str) -> str:
    """Why :func:`show` found nothing, and what to ask instead. Raises :class:`StoreError`."""
    found = which(path, start)
    if not found:
        return "no such run; otel-agent runs lists them"
    short = len(start) < SHORTEST
    why = (
        f"{SHORTEST} letters of an id are needed at least"
        if short
        else f"{_several(len(found))} runs begin like this; write more of the id"
    )
    if len(found) > FEW:
        return f"{why}; otel-agent runs lists them"
    return "\n".join((f"{why}:", *(f"  {run['id']}  {run.get('agent_name', '')}  {run.get('started_at', '')}".rstrip() for run in found)))


def _several(number: int) -> str:
    return f"{number}" if number <= FEW else f"more than {FEW}"


def prune(path: Path, days: int) -> dict[str, Any]:
    """Remove what is older than ``days`` days, in the receiver that runs or in the file. Raises :class:`StoreError`."""
    running = state.read(path)
    if running is not None:
        try:
            found: dict[str, Any] | None = _get(running, f"{PRUNE}?{urlencode({'days': days})}", "POST", PATIENCE)
        except _NobodyThere:
            found = None
        else:
            if found is None:
                raise StoreError("the running receiver is of an older version, which does not prune; end it first")
            return found
    return retention.rewrite(path, retention.cutoff(days)).as_facts()


def sent_by(path: Path, instance: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of one sender's instance, by table. Raises :class:`StoreError`."""
    target = f"{SENT_BY}?{urlencode({'instance': instance})}"
    found: dict[str, list[dict[str, Any]]] = _read(path, target, lambda connection: rows_sent_by(connection, instance))
    return found


def holder(path: Path) -> str | None:
    """The address of the receiver that holds the file, if one answers."""
    running = state.read(path)
    try:
        answered = running is not None and _get(running, STATS) is not None
    except (_NobodyThere, StoreError):
        return None
    return f"{running.host}:{running.port}" if running is not None and answered else None


def stats(path: Path) -> dict[str, Any]:
    """Counts of the receiver that runs: rows stored, values removed by place. Raises :class:`StoreError` when none runs."""
    running = state.read(path)
    if running is None:
        raise StoreError("no receiver is running")
    try:
        found: dict[str, Any] = _get(running, STATS)
    except _NobodyThere:
        raise StoreError("no receiver is running") from None
    return found
