"""Runs and one run for a terminal. Takes the dictionaries of :mod:`otel_agent.local.queries`; prints nothing by itself.

Text is put into ``rich`` objects, never into its markup, so a name with brackets is shown as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

Facts = Mapping[str, Any]

GOOD: Final = frozenset({"answered", "handed_off", "ok", "ended"})
STYLES: Final[Mapping[bool, str]] = {True: "green", False: "red"}
MINUTE: Final = 60.0
UNSTATED: Final = "not stated"
"""For what every record of ours has and one that came from elsewhere may lack."""

_TURN_FACTS: Final = (
    "request_model", "response_model", "reasoning_level", "max_tokens", "input_tokens", "cache_read_tokens", "output_tokens",
    "reasoning_tokens", "attempts", "stream_end", "fetched", "usage_state", "prefix_break", "first_changed", "replayed_items",
    "dropped_items", "edited_items", "undeclared_tool_calls", "error_type",
)  # fmt: skip
_TOOL_FACTS: Final = (
    "effect", "validation", "decision", "rule_id", "approval", "repeat", "same_result", "cycle", "overlap", "error_type",
    "result_size_band", "arguments_digest",
)  # fmt: skip
_RETRIEVAL_FACTS: Final = ("data_source", "top_k", "document_count", "error_type")
_FEEDBACK_FACTS: Final = ("rating", "source", "response_id")
_STEP_FACTS: Final = ("step", "tool", "validation", "migration", "dead_text_band")
_RUN_FACTS: Final = (
    "agent_version", "conversation_id", "service_name", "turns", "tool_calls", "tool_failures", "input_tokens", "output_tokens",
    "cache_read_tokens", "reasoning_tokens", "resent_tokens", "budget_exceeded", "partial_answer", "error_type",
)  # fmt: skip
_UNREMARKABLE: Final = frozenset({
    ("usage_state", "complete"), ("stream_end", "read"), ("validation", "skipped"), ("attempts", 1), ("effect", "unknown"),
    ("dropped_items", 0), ("edited_items", 0), ("repeat", 1), ("same_result", 1),
})  # fmt: skip


def seconds(value: float | None) -> str:
    """A duration in the unit that suits it."""
    if value is None:
        return ""
    if value < 1.0:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < MINUTE else f"{int(value // MINUTE)} m {value % MINUTE:02.0f} s"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:28]}…{text[-6:]}" if text.startswith("hmac-sha256:") else text


def _facts(facts: Facts, names: Iterable[str]) -> str:
    shown = [name for name in names if name in facts and (name, facts[name]) not in _UNREMARKABLE]
    return "  ".join(f"{name}={_short(facts[name])}" for name in shown)


def _started(facts: Facts) -> str:
    """Date and time in UTC to the second; the full time is in the JSON."""
    return str(facts["started_at"])[:19].replace("T", " ")


def _ending(facts: Facts) -> Text:
    if facts.get("state") != "ended":
        return Text(str(facts.get("state", "")), style="yellow")
    reason = str(facts.get("end_reason", UNSTATED))
    return Text(reason, style=STYLES[reason in GOOD])


def _marks(facts: Facts) -> Text:
    names = dict.fromkeys(flag["flag"] for flag in facts["flags"])
    return Text(", ".join(names), style="bold red")


Cell = Callable[[Facts], str | Text]

_RUN_COLUMNS: Final[Mapping[str, tuple[str, Cell]]] = {
    "run": ("left", lambda run: str(run["run_id"])),
    "agent": ("left", lambda run: str(run.get("agent_name", ""))),
    "started": ("left", _started),
    "took": ("right", lambda run: seconds(run.get("duration"))),
    "turns": ("right", lambda run: _number(run.get("turns"))),
    "tools": ("right", lambda run: _number(run.get("tool_calls"))),
    "failed": ("right", lambda run: _number(run.get("tool_failures"))),
    "tokens in": ("right", lambda run: _number(run.get("input_tokens"))),
    "out": ("right", lambda run: _number(run.get("output_tokens"))),
    "ended": ("left", _ending),
    "flags": ("left", _marks),
}

_TRACE_COLUMNS: Final[Mapping[str, tuple[str, Cell]]] = {
    "trace": ("left", lambda trace: str(trace["trace_id"])),
    "started": ("left", _started),
    "models": ("left", lambda trace: ", ".join(trace["models"])),
    "turns": ("right", lambda trace: _number(trace["turns"])),
    "tools": ("right", lambda trace: _number(trace["tool_calls"])),
    "tokens in": ("right", lambda trace: _number(trace.get("input_tokens"))),
    "out": ("right", lambda trace: _number(trace.get("output_tokens"))),
    "flags": ("left", _marks),
}

_SPARE: Final = ("out", "tokens in", "failed", "started", "models", "tools", "turns", "took")
"""Columns that a terminal does without when it is too narrow, the least important first."""
_FOLDED: Final[Mapping[str, int]] = {"agent": 24, "models": 20, "flags": 20}
"""Columns that may take several lines, and from which width on they read well."""
_TOLD: Final = 4
"""How many flags of one run the list gives the reason of; one more where that is the last, since to say so takes a line as well."""
_SHORT_ID: Final = 8
_READABLE: Final = 16
_GAP: Final = 2

Row = Mapping[str, Text]


def _heads(ids: list[str]) -> dict[str, str]:
    """Each id by as much of its beginning as tells it from the others: enough for ``otel-agent show``. Short ones stay whole."""
    length = _SHORT_ID if any(len(identity) > _READABLE for identity in ids) else _READABLE
    while len({identity[:length] for identity in ids}) < len(set(ids)):
        length += 1
    return {identity: identity[:length] for identity in ids}


def _needed(name: str, rows: Iterable[Row]) -> int:
    widest = max((row[name].cell_len for row in rows), default=0)
    return max(len(name), min(widest, _FOLDED.get(name, widest)))


def _fitting(names: Iterable[str], rows: Sequence[Row], width: int) -> list[str]:
    """The columns that there is room for, each at the width it reads well at."""
    kept = list(names)
    for spare in _SPARE:
        if sum(_needed(name, rows) + _GAP for name in kept) - _GAP <= width:
            break
        kept = [name for name in kept if name != spare]
    return kept


def _table(title: str, columns: Mapping[str, tuple[Any, Cell]], names: Sequence[str], rows: Iterable[Row]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for name in names:
        # Text that is cut off is no use: what may be long takes more lines instead.
        table.add_column(name, justify=columns[name][0], no_wrap=name not in _FOLDED, overflow="fold")
    for row in rows:
        table.add_row(*(row[name] for name in names))
    return table


def _told(flags: Sequence[Facts]) -> Sequence[Facts]:
    """The flags that there is room for, in their order: one of each kind before a second one of any."""
    if len(flags) <= _TOLD + 1:
        return flags
    seen: Counter[str] = Counter()
    ranks: list[tuple[int, int]] = []
    for place, flag in enumerate(flags):
        ranks.append((seen[flag["flag"]], place))
        seen[flag["flag"]] += 1
    return [flags[place] for place in sorted(place for _, place in sorted(ranks)[:_TOLD])]


def _reasons(rows: Iterable[Facts], name: str, heads: Mapping[str, str]) -> Table:
    """Why rows are flagged, a few reasons of each; one that takes several lines stays to the right of its run."""
    table, short = Table.grid(padding=(0, 1, 0, 0)), _heads(list(heads))
    for row in rows:
        told, head = _told(row["flags"]), heads[row[name]]
        lines = [f"{flag['flag']}: {flag['why']}" for flag in told]
        if more := len(row["flags"]) - len(told):
            lines.append(f"and {more:,} more, see otel-agent show {short[row[name]]}")
        for line in lines:
            table.add_row(Text(f"  {head}:"), Text(line))
    return table


def _cells(columns: Mapping[str, tuple[Any, Cell]], row: Facts) -> Row:
    cells = {name: cell(row) for name, (_, cell) in columns.items()}
    return {name: cell if isinstance(cell, Text) else Text(cell) for name, cell in cells.items()}


class RunsView:
    """The list of runs, why they are flagged, and below it the traces without a run; with fewer columns where the terminal is narrow."""

    def __init__(self, found: Facts, agent: str | None) -> None:
        self._found = found
        self._agent = agent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lists = (("runs", _RUN_COLUMNS, "run_id", "run"), ("no_run", _TRACE_COLUMNS, "trace_id", "trace"))
        if not any(self._found[key] for key, *_ in lists):
            yield Text("nothing has been recorded yet" if self._agent is None else f"nothing is recorded of an agent named {self._agent}")
        for key, columns, identity, first in lists:
            if rows := self._found[key]:
                yield from self._list(rows, columns, (key.replace("_", " "), identity, first), options.max_width)

    def _list(self, rows: list[Facts], columns: Mapping[str, tuple[Any, Cell]], words: tuple[str, str, str], width: int) -> RenderResult:
        title, identity, first = words
        cells = [_cells(columns, row) for row in rows]
        heads = {str(row[identity]): str(row[identity]) for row in rows}
        if _fitting(columns, cells, width) != list(columns):
            heads = _heads(list(heads))
            cells = [{**cell, first: Text(heads[str(row[identity])])} for cell, row in zip(cells, rows, strict=True)]
        yield _table(title, columns, _fitting(columns, cells, width), cells)
        if any(row["flags"] for row in rows):
            yield _reasons(rows, identity, heads)


def render_runs(found: Facts, agent: str | None = None) -> RenderableType:
    """What :func:`otel_agent.local.queries.list_runs` found (of ``agent``, where that was asked), for ``Console.print``."""
    return RunsView(found, agent)


def _line(head: str, duration: float | None, outcome: str, good: bool, facts: str) -> Text:
    line = Text(head, style="bold")
    line.append(f"  {seconds(duration)}  ", style="dim")
    line.append(outcome, style=STYLES[good])
    return line.append(f"  {facts}", style="dim")


def _turn(turn: Facts) -> Text:
    number = f"turn {turn['turn']}" if "turn" in turn else "turn"
    reason = str(turn.get("finish_reason", UNSTATED))
    outcome = f"{reason}, truncated by {turn.get('truncated_by', 'a limit')}" if turn.get("truncated") else reason
    good = not turn.get("truncated") and "error_type" not in turn
    if reason == "pending":  # its usage is that of its end, which has a line of its own
        turn = {name: value for name, value in turn.items() if name != "usage_state"}
    return _line(f"{number} {turn.get('operation', '')}".rstrip(), turn.get("duration"), outcome, good, _facts(turn, _TURN_FACTS))


def _execution(tool: Facts) -> Text:
    outcome = str(tool.get("outcome", UNSTATED))
    return _line(str(tool.get("tool", "tool")), tool.get("duration"), outcome, outcome in GOOD, _facts(tool, _TOOL_FACTS))


def _retrieval(row: Facts) -> Text:
    failed = "error_type" in row
    return _line("retrieval", row.get("duration"), "failed" if failed else "ok", not failed, _facts(row, _RETRIEVAL_FACTS))


def _feedback(row: Facts) -> Text:
    return _line(
        "feedback", None, str(row.get("feedback", UNSTATED)), row.get("feedback") in ("accepted", "rated"), _facts(row, _FEEDBACK_FACTS)
    )


def _step(row: Facts) -> Text:
    return _line("text step", None, str(row.get("outcome", UNSTATED)), row.get("outcome") in ("action", "final"), _facts(row, _STEP_FACTS))


_OTHERS: Final[Mapping[str, Callable[[Facts], Text]]] = {
    "executions": _execution,
    "retrievals": _retrieval,
    "steps": _step,
    "feedback": _feedback,
}


def _root(found: Facts) -> Text:
    if "run_id" not in found:
        return Text(f"trace {found['trace_id']} (no run)", style="bold")
    head = Text(f"run {found['run_id']}", style="bold")
    head.append(f"  {found.get('agent_name', '')}  {found.get('started_at', '')}  {seconds(found.get('duration'))}  ")
    return head.append(_ending(found)).append(f"\n{_facts(found, _RUN_FACTS)}", style="dim")


def render_run(found: Facts) -> RenderableType:
    """One run as a tree: flags, turns with their tool executions, then what belongs to no turn."""
    tree = Tree(_root(found))
    for flag in found["flags"]:
        tree.add(Text(f"{flag['flag']}: {flag['why']}", style="red"))
    for turn in found["turn_records"]:
        branch = tree.add(_turn(turn))
        for tool in turn["executions"]:
            branch.add(_execution(tool))
    for name, line in _OTHERS.items():
        for row in found[name]:
            tree.add(line(row))
    return tree
