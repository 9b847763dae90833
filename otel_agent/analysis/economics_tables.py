"""Economics for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from otel_agent.analysis.economics import Half, Plan, PlannedTurn, RunEconomics, Turn
from otel_agent.analysis.money import Bill
from otel_agent.analysis.tables import Table, cell, counted, facts, percent, plain

MAX_ROWS: Final = 60
"""Turns listed one by one; of a longer run, the first ones."""
ADDED: Final = "reads of a token added here"
COLUMNS: Final[Mapping[str, str]] = {
    "turn": "turn", "input": "input_tokens", "output": "output_tokens", "cached": "cache_read_tokens",
    "read again": "resent_tokens", ADDED: "added_token_reads",
}  # fmt: skip
"""Heading and field of each column of a recorded run."""


def render(report: Plan | RunEconomics) -> str:
    """A report as plain text."""
    return plain(tables(report))


def tables(report: Plan | RunEconomics) -> list[Table]:
    """A report as tables, without those that have nothing to say."""
    found = _plan(report) if isinstance(report, Plan) else _run(report)
    return [table for table in [*found, *_bill(report.bill)] if table.rows]


def _plan(report: Plan) -> list[Table]:
    head = facts(
        f"a run of {counted(report.turns, 'turn')}",
        (
            ("input tokens", report.input_tokens), ("  for the prefix", report.stable_tokens),
            ("  for what was added", report.grown_tokens), ("  read again", report.resent_tokens),
            ("  share read again", percent(report.resent_share)), ("output tokens", report.output_tokens),
            *_half(report.half),
        ),
    )  # fmt: skip
    return [head, _listed(report.per_turn, {"turn": "turn", "input": "input_tokens", ADDED: "added_token_reads"})]


def _run(report: RunEconomics) -> list[Table]:
    head = facts(
        "tokens",
        (
            ("turns", report.turns), ("failed turns", report.failed_turns or None),
            ("turns without usage", report.usage_missing_turns or None), ("input tokens", report.input_tokens),
            ("  from the cache", report.cache_read_tokens), ("  share from the cache", percent(report.cached_share)),
            ("  read again", report.resent_tokens), ("  share read again", percent(report.resent_share)),
            ("output tokens", report.output_tokens), ("  own output, read again", report.written_resent_tokens),
            ("  own reasoning, read again", report.reasoning_resent_tokens),
        ),
        note="sums leave out the turns without usage" if report.usage_missing_turns else "",
    )  # fmt: skip
    return [head, _growth(report), _listed(report.per_turn, COLUMNS)]


def _growth(report: RunEconomics) -> Table:
    projected = report.projection
    return facts(
        "growth",
        (
            ("prefix", report.prefix), ("growth per turn", report.growth),
            ("farthest turn from the line", report.largest_error or None),
            ("input for the prefix", report.stable_tokens), ("input for what was added", report.grown_tokens),
            *_half(report.half),
            *([] if projected is None else [(f"input of {counted(projected.turns, 'turn')}", projected.input_tokens)]),
        ),
        note="" if report.linear in (True, None) else "not a straight line: fitted by least squares",
    )  # fmt: skip


def _half(half: Half | None) -> list[tuple[str, object]]:
    if half is None:
        return []
    return [(f"input of {counted(half.turns, 'turn')}", half.input_tokens), ("  saves", percent(half.saved_share))]


def _listed(turns: Sequence[PlannedTurn] | Sequence[Turn], columns: Mapping[str, str]) -> Table:
    more = len(turns) - MAX_ROWS
    rows = [[cell(getattr(turn, field)) for field in columns.values()] for turn in turns[:MAX_ROWS]]
    return Table("turns", rows, tuple(columns), note=f"and {more} more" if more > 0 else "")


def _bill(bill: Bill | None) -> list[Table]:
    if bill is None:
        return []
    money = {"input": bill.input, "output": bill.output, "total": bill.total, "  for input read again": bill.resent}
    pairs = [(name, f"{amount:,.6f}") for name, amount in (money | {"saved by caching": bill.saved_by_caching}).items()]
    missing = f"{counted(bill.turns_unpriced, 'turn has', 'turns have')} no price or no usage" if bill.turns_unpriced else ""
    named = f": {', '.join(bill.unpriced_models)}" if bill.unpriced_models else ""
    return [facts(f"money ({bill.currency})" if bill.currency else "money", pairs, note=missing + named)]
