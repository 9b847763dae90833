"""What the store is asked: the list of runs, and one run with its turns and tool executions. Answers are plain dictionaries.

Absent facts are left out, never ``None`` or zero. A run that began and whose end never arrived is ``running or lost``: from here
the two cannot be told apart. Turns outside of any run are listed by trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import duckdb

from otel_agent.local.flags import flags
from otel_agent.local.views import RECORD_VIEWS
from otel_agent.records import background

Facts = dict[str, Any]

ENDED: Final = "ended"
OPEN: Final = "running or lost"
NANOS: Final = 1_000_000_000
DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 1000

LONGEST: Final = 10**9
"""Seconds, some thirty years: what took longer, or less than nothing, is no duration that a beginning can be told from."""
_BEGAN: Final = f"time_unix_nano - CAST(greatest(0, least(coalesce(duration, 0), {LONGEST})) * {NANOS} AS BIGINT)"

_RUN_IDS: Final = f"""
    SELECT run_id, min(time_unix_nano) AS began FROM (
        SELECT run_id, time_unix_nano, agent_name FROM runs_started_sent
        UNION ALL SELECT run_id, {_BEGAN}, agent_name FROM runs_sent
        UNION ALL SELECT run_id, {_BEGAN}, agent_name FROM turns_sent)
    WHERE run_id IS NOT NULL AND (? IS NULL OR agent_name = ?)
    GROUP BY run_id ORDER BY began DESC LIMIT ?"""  # noqa: S608 - our own words

_LOOSE_TRACES: Final = """
    SELECT trace_id FROM (SELECT trace_id, time_unix_nano FROM turns_sent WHERE run_id IS NULL AND trace_id IS NOT NULL
        AND (? IS NULL OR agent_name = ?))
    GROUP BY trace_id ORDER BY max(time_unix_nano) DESC LIMIT ?"""

_OF_RUNS: Final = "SELECT * FROM {view} WHERE run_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY time_unix_nano"
_OF_TRACES: Final = "SELECT * FROM {view} WHERE run_id IS NULL AND trace_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY time_unix_nano"

_IDS_FROM: Final = """
    SELECT DISTINCT id FROM (
        SELECT run_id AS id FROM runs_started_sent UNION ALL SELECT run_id FROM runs_sent
        UNION ALL SELECT coalesce(run_id, trace_id) FROM turns_sent UNION ALL SELECT run_id FROM tools_sent)
    WHERE starts_with(id, ?) OR id = ? LIMIT 2"""
_WHICH: Final = """
    SELECT id, any_value(agent_name) AS agent_name, min(began) AS began FROM (
        SELECT run_id AS id, agent_name, time_unix_nano AS began FROM runs_started_sent
        UNION ALL SELECT run_id, agent_name, time_unix_nano FROM runs_sent
        UNION ALL SELECT coalesce(run_id, trace_id), agent_name, time_unix_nano FROM turns_sent
        UNION ALL SELECT run_id, agent_name, time_unix_nano FROM tools_sent)
    WHERE starts_with(id, ?) GROUP BY id ORDER BY began DESC LIMIT ?"""
FEW: Final = 10
"""Runs that are named when the beginning of an id could be each of theirs."""
SHORTEST: Final = 3
"""Characters of an id that are enough to look for it."""

PARTS: Final = ("turns", "tools", "retrievals", "feedback", "steps")


@contextmanager
def _snapshot(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All queries see the same rows: old ones may be removed in between."""
    connection.begin()
    try:
        yield
    finally:
        connection.rollback()


def _rows(connection: duckdb.DuckDBPyConnection, statement: str, parameters: list[Any]) -> list[Facts]:
    cursor = connection.execute(statement, parameters)
    names = [column[0] for column in cursor.description or ()]
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in cursor.fetchall()]


def _grouped(rows: Iterable[Facts], key: str) -> dict[str, list[Facts]]:
    groups: defaultdict[str, list[Facts]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return groups


def _parts(connection: duckdb.DuckDBPyConnection, statement: str, ids: list[str], key: str) -> dict[str, dict[str, list[Facts]]]:
    """View name to id to its rows, for all views of one page in one query each."""
    return {view: _grouped(_rows(connection, statement.format(view=view), [ids]), key) for view in RECORD_VIEWS}


def iso(nanos: int) -> str:
    """A time in UTC to the millisecond."""
    return datetime.fromtimestamp(nanos / NANOS, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _began(facts: Facts) -> int:
    """When a record's span began: records are written when it ends."""
    return int(facts["time_unix_nano"] - min(max(facts.get("duration", 0.0), 0.0), LONGEST) * NANOS)


def _timed(facts: Facts) -> Facts:
    """The same facts with times a person can read."""
    times = {"started_at": iso(_began(facts)), "ended_at": iso(facts["time_unix_nano"])}
    return {**times, **{name: value for name, value in facts.items() if name != "time_unix_nano"}}


def _total(rows: Iterable[Mapping[str, Any]], field: str) -> int | None:
    found = [row[field] for row in rows if field in row]
    return sum(found) if found else None


def _failures(tools: list[Facts]) -> int | None:
    """Of the executions whose outcome is stated; ``None`` when there are some and none is."""
    outcomes = [tool["outcome"] for tool in tools if "outcome" in tool]
    return len(outcomes) - outcomes.count("ok") if outcomes or not tools else None


def _seen(turns: list[Facts], tools: list[Facts]) -> Facts:
    """Totals counted here, for what has no record of its own that sums them up."""
    turns = background.once(turns)
    counted = {
        "turns": sum(map(background.began, turns)),
        "tool_calls": len(tools),
        "tool_failures": _failures(tools),
        "input_tokens": _total(turns, "input_tokens"),
        "output_tokens": _total(turns, "output_tokens"),
    }
    return {name: value for name, value in counted.items() if value is not None}


def _named(rows: list[Facts]) -> Facts:
    """Who ran, from the first record that says so."""
    first = rows[0] if rows else {}
    return {name: first[name] for name in ("agent_name", "agent_version", "conversation_id", "service_name") if name in first}


def _run(run_id: str, parts: Mapping[str, Mapping[str, list[Facts]]]) -> Facts:
    turns, tools = parts["turns"].get(run_id, []), parts["tools"].get(run_id, [])
    started, ended = parts["runs_started"].get(run_id, []), parts["runs"].get(run_id, [])
    facts = {**_named(started + turns), **_seen(turns, tools), **(ended[-1] if ended else {})}
    known = started or ended + turns + tools or [row for rows in parts.values() for row in rows.get(run_id, ())]
    began = min(_began(row) for row in known)
    times = {"started_at": iso(began)} | ({"ended_at": iso(facts["time_unix_nano"])} if ended else {})
    state = ENDED if ended else OPEN
    facts.pop("time_unix_nano", None)
    found = flags({view: rows.get(run_id, []) for view, rows in parts.items()})
    return {"run_id": run_id, "state": state, **times, **facts, "flags": found}


def _trace(trace_id: str, parts: Mapping[str, Mapping[str, list[Facts]]]) -> Facts:
    turns, tools = parts["turns"].get(trace_id, []), parts["tools"].get(trace_id, [])
    began = min(_began(turn) for turn in turns)
    models = sorted({turn["request_model"] for turn in turns if "request_model" in turn})
    seen = _seen(turns, tools)
    found = flags({view: rows.get(trace_id, []) for view, rows in parts.items()})
    return {"trace_id": trace_id, "started_at": iso(began), "models": models, **seen, "flags": found}


def list_runs(connection: duckdb.DuckDBPyConnection, *, limit: int = DEFAULT_LIMIT, agent: str | None = None) -> Facts:
    """The latest runs, newest first, under ``runs``; the latest traces with turns outside any run under ``no_run``."""
    limit = max(1, min(limit, MAX_LIMIT))
    with _snapshot(connection):
        run_ids = [row["run_id"] for row in _rows(connection, _RUN_IDS, [agent, agent, limit])]
        trace_ids = [row["trace_id"] for row in _rows(connection, _LOOSE_TRACES, [agent, agent, limit])]
        of_runs = _parts(connection, _OF_RUNS, run_ids, "run_id")
        of_traces = _parts(connection, _OF_TRACES, trace_ids, "trace_id")
    return {
        "runs": [_run(run_id, of_runs) for run_id in run_ids],
        "no_run": [_trace(trace_id, of_traces) for trace_id in trace_ids],
    }


def _owner(tool: Facts, by_call: Mapping[str, int], by_number: Mapping[int, int]) -> int | None:
    """Index of the turn a tool execution belongs to: by the provider's call id, else by the turn's number."""
    index = by_call.get(tool.get("call_id", ""))
    return index if index is not None else by_number.get(tool.get("turn", -1))


def _nested(turns: list[Facts], tools: list[Facts]) -> tuple[list[Facts], list[Facts]]:
    """Turns with their tool executions under ``executions``, and the executions that belong to none."""
    by_call = {call: index for index, turn in enumerate(turns) for call in turn.get("tool_call_ids", ())}
    by_number = {turn["turn"]: index for index, turn in enumerate(turns) if "turn" in turn}
    nested = [{**_timed(turn), "executions": []} for turn in turns]
    loose: list[Facts] = []
    for tool in tools:
        index = _owner(tool, by_call, by_number)
        (loose if index is None else nested[index]["executions"]).append(_timed(tool))
    return nested, loose


def _detail(key: str, head: Facts, parts: Mapping[str, Mapping[str, list[Facts]]]) -> Facts:
    found = {name: parts[name].get(key, []) for name in PARTS}
    turns, loose = _nested(sorted(found["turns"], key=_began), sorted(found["tools"], key=_began))
    others = {name: [_timed(row) for row in found[name]] for name in ("retrievals", "feedback", "steps")}
    return {**head, "turn_records": turns, "executions": loose, **others}


def _full_id(connection: duckdb.DuckDBPyConnection, wanted: str) -> str:
    """The one id that begins with ``wanted``; ``wanted`` itself when it is whole, begins none, or begins several."""
    found = [row["id"] for row in _rows(connection, _IDS_FROM, [wanted, wanted])] if len(wanted) >= SHORTEST else []
    return found[0] if len(found) == 1 and wanted not in found else wanted


def which_runs(connection: duckdb.DuckDBPyConnection, start: str) -> list[Facts]:
    """The runs, and the traces with turns outside any run, whose id begins with ``start``, newest first; one more than are few."""
    found = _rows(connection, _WHICH, [start, FEW + 1])
    return [{"id": row["id"], **_named([row]), "started_at": iso(row["began"])} for row in found]


def show_run(connection: duckdb.DuckDBPyConnection, wanted: str) -> Facts | None:
    """One run by its id, or the turns of one trace outside any run by the trace's; ``None`` when there is no such.

    The beginning of an id will do when it is the beginning of one only.
    """
    with _snapshot(connection):
        return _shown(connection, wanted)


def _shown(connection: duckdb.DuckDBPyConnection, wanted: str) -> Facts | None:
    wanted = _full_id(connection, wanted)
    of_run = _parts(connection, _OF_RUNS, [wanted], "run_id")
    if any(wanted in rows for rows in of_run.values()):
        return _detail(wanted, _run(wanted, of_run), of_run)
    of_trace = _parts(connection, _OF_TRACES, [wanted], "trace_id")
    if wanted in of_trace["turns"]:
        return _detail(wanted, _trace(wanted, of_trace), of_trace)
    return None
