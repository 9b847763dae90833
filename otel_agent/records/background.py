"""A background turn leaves two records: that of the call that asked, which knows no end, and that of the fetch which showed the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from otel_agent.fields import OTHER
from otel_agent.records import ModelTurn, facts

_PLACE: Final = frozenset({"trace_id", "span_id", "service_name", "started_at"})
ASKED: Final = frozenset(field for field, fact in facts(ModelTurn).items() if fact.start) - {"fetched"} | _PLACE
"""What was asked, by whom, in which turn of which run: the call that asked knows best."""

ENDING: Final = frozenset({"error_type", "status_code", "finish_reasons", "finish_reasons_raw", "truncated_by", "stream_end"})
"""What a record says of its own end: that of the call that asked (queued, or a stream that broke off) is not the turn's."""


def once(turns: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Model turns by record field, each once, in the order given: a fetched end belongs to the record that asked for the response."""
    rows = list(turns)
    kept: dict[int, dict[str, Any]] = {}
    homes: dict[object, int] = {}
    for at in sorted(range(len(rows)), key=lambda at: bool(rows[at].get("fetched"))):
        row = rows[at]
        home = next((homes[key] for key in _keys(row) if key in homes), at) if row.get("fetched") else at
        kept[home] = {**row} if home == at else _ended(kept[home], row)
        for key in _keys(row):
            homes.setdefault(key, home)
    return [kept[at] for at in sorted(kept)]


def began(turn: Mapping[str, Any]) -> bool:
    """Whether this is a turn of its run; false for the end of one that another run or process began."""
    return not turn.get("fetched") or "run_id" not in turn or "turn" in turn


def _keys(row: Mapping[str, Any]) -> Iterator[object]:
    """By what two records of one turn are known: the response's id, else the turn's number in its run."""
    if (response := row.get("response_id", OTHER)) != OTHER:
        yield response
    if "turn" in row:
        yield row.get("run_id"), row["turn"]


def _ended(asked: Mapping[str, Any], fetched: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in asked.items() if name not in ENDING}
    return {**known, **{name: value for name, value in fetched.items() if name not in ASKED or name not in known}}
