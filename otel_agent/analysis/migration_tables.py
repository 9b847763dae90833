"""The migration report for a terminal: stages side by side."""

from __future__ import annotations

from typing import Any, Final

from otel_agent.analysis.migration import COMPARED, Change, Migration, Stage
from otel_agent.analysis.tables import Table, cell, percent, plain

SHARES: Final = frozenset({"malformed_share", "invented_share", "mismatch_rate", "tool_failure_share"})
LINES: Final = {
    "runs": "runs", "requests": "requests", "requests per run": "requests_per_run", "text steps": "steps",
    "malformed": "malformed_share", "invented observation": "invented_share", "inputs checked": "checked",
    "inputs that do not fit": "mismatched", "mismatch rate": "mismatch_rate", "undeclared tools": "undeclared_tools",
    "tool calls": "tool_calls", "tool failures": "tool_failures", "tool failure share": "tool_failure_share",
    "input tokens": "input_tokens", "output tokens": "output_tokens", "input tokens per run": "input_tokens_per_run",
    "output tokens per run": "output_tokens_per_run", "turns without usage": "usage_missing_turns",
    "dead text read again": "dead_resent_tokens", "dead text read again per run": "dead_resent_per_run",
}  # fmt: skip


def render(migration: Migration) -> str:
    """The report as plain text."""
    return plain(tables(migration))


def tables(migration: Migration) -> list[Table]:
    """Stages as columns, outcomes, then one table of changes."""
    found = [_stages(migration.stages), _outcomes(migration.stages), _changes(migration.changes)]
    return [table for table in found if table.rows]


def _stages(stages: tuple[Stage, ...]) -> Table:
    rows = [(line, *(_cell(name, getattr(stage, name)) for stage in stages)) for line, name in LINES.items()]
    methods = {stage.dead_method for stage in stages if stage.dead_method is not None}
    note = "".join(f"dead text is {method}" for method in sorted(methods)) if len(methods) == 1 else _methods(stages)
    return Table("stages", [row for row in rows if any(row[1:])], ("", *(stage.stage for stage in stages)), note)


def _methods(stages: tuple[Stage, ...]) -> str:
    return "; ".join(f"{stage.stage}: dead text {stage.dead_method}" for stage in stages if stage.dead_method is not None)


def _cell(name: str, value: Any) -> str:
    return percent(value) if name in SHARES else cell(value)


def _outcomes(stages: tuple[Stage, ...]) -> Table:
    names = sorted({name for stage in stages for name in stage.outcomes})
    rows = [(name, *(cell(stage.outcomes.get(name, 0) if stage.outcomes else None) for stage in stages)) for name in names]
    return Table("outcomes of the text steps", rows, ("", *(stage.stage for stage in stages)))


def _changes(changes: tuple[Change, ...]) -> Table:
    lines = {name: line for line, name in LINES.items()}
    rows = [(lines[name], *(_difference(name, change) for change in changes)) for name in COMPARED]
    return Table("what changed", [row for row in rows if any(row[1:])], ("", *(f"{one.before} → {one.after}" for one in changes)))


def _difference(name: str, change: Change) -> str:
    value = change.differences.get(name)
    if value is None:
        return ""
    return f"{value * 100:+.1f} points" if name in SHARES else f"{value:+,.1f}"
