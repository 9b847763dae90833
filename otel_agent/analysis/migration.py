"""From the text protocol to typed tool calls: how each stage of the way does, side by side.

A *stage* is a set of runs: those whose text steps carry the same migration word, or those a caller names. A run without text steps is
typed. Per stage: how the steps came out, how many inputs did not fit the declared schema, what the text around the actions cost, and what
the runs cost altogether.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Final

from otel_agent.analysis.resend import text_resent
from otel_agent.analysis.rows import Row, share, steps_of, tools_of, total, turns_of
from otel_agent.records.closed import GENERATING

BYTES_PER_TOKEN: Final = 4
ESTIMATED: Final = "estimated: 4 bytes a token, from size bands (up to twice the text, 64 bytes at the least)"
EXACT: Final = "exact: token counts given by the caller"
TEXT: Final = "text"
TYPED: Final = "typed"

DeadTokens = Mapping[tuple[str, int], int]
"""(run id, number of the step) → tokens of the step's text that are neither action nor answer, where somebody counted them."""


@dataclass(slots=True)
class Run:
    """The records of one run, by field. ``stage`` is given, or follows from its steps."""

    run_id: str
    steps: list[Row] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    tools: list[Row] = field(default_factory=list)
    given_stage: str | None = None

    @property
    def stage(self) -> str:
        """The stage's name."""
        if self.given_stage is not None:
            return self.given_stage
        return str(self.steps[-1].get("migration", TEXT)) if self.steps else TYPED

    @property
    def requests(self) -> int:
        """How many requests it made: its turns, or where those were not observed, its steps."""
        return sum(turn.get("operation", "chat") in GENERATING for turn in self.turns) or len(self.steps)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. Shares and means are ``None`` where there is nothing they could be of; counts, where no record states what is counted.

    ``mismatch_rate``: inputs that did not fit the declared schema, of those that were checked (of text steps, or of typed calls).
    ``dead_resent_tokens``: read again because of text that is neither action nor answer, over all runs; ``dead_method`` says how known.
    Token sums are over the turns that reported them; ``usage_missing_turns`` did not.
    """

    stage: str
    runs: int
    requests: int
    requests_per_run: float | None
    steps: int
    outcomes: Mapping[str, int]
    malformed_share: float | None
    invented_share: float | None
    checked: int | None
    mismatched: int | None
    mismatch_rate: float | None
    undeclared_tools: int
    tool_calls: int
    tool_failures: int | None
    tool_failure_share: float | None
    input_tokens: int | None
    output_tokens: int | None
    input_tokens_per_run: float | None
    output_tokens_per_run: float | None
    usage_missing_turns: int
    dead_resent_tokens: int | None
    dead_resent_per_run: float | None
    dead_method: str | None


COMPARED: Final = (
    "requests_per_run", "input_tokens_per_run", "output_tokens_per_run", "malformed_share", "mismatch_rate", "tool_failure_share",
    "dead_resent_per_run",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """From one stage to the next: differences of the figures that both have."""

    before: str
    after: str
    differences: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Migration:
    """Stages in the order in which they first occur, and what changed between them."""

    stages: tuple[Stage, ...]
    changes: tuple[Change, ...]


def runs_of(steps: Iterable[Row], turns: Iterable[Row] = (), tools: Iterable[Row] = ()) -> list[Run]:
    """Plain records (by field or by attribute name) gathered into runs, in order of first occurrence."""
    found: dict[str, Run] = {}
    for name, rows in (("steps", steps_of(steps)), ("turns", turns_of(turns)), ("tools", tools_of(tools))):
        for row in rows:
            key = str(row.get("run_id") or row.get("trace_id") or "")
            getattr(found.setdefault(key, Run(key)), name).append(row)
    return list(found.values())


def report(runs: Sequence[Run], *, dead_tokens: DeadTokens | None = None) -> Migration:
    """Compare the stages of these runs. ``dead_tokens``: exact counts; without them that figure is an estimate, and says so."""
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.stage, []).append(run)
    stages = tuple(_stage(name, group, dead_tokens or {}) for name, group in grouped.items())
    return Migration(stages, tuple(_change(*pair) for pair in pairwise(stages)))


def _stage(name: str, runs: Sequence[Run], counted: DeadTokens) -> Stage:
    steps = [step for run in runs for step in run.steps]
    turns = [turn for run in runs for turn in run.turns if turn.get("operation", "chat") in GENERATING]
    tools = [tool for run in runs for tool in run.tools]
    outcomes, verdicts, results = _said(steps, "outcome"), _said(steps or tools, "validation"), _said(tools, "outcome")
    requests = sum(run.requests for run in runs)
    failures = _known(results.total() - results["ok"], results, tools)
    read, written = total(turns, "input_tokens"), total(turns, "output_tokens")
    dead, method = _dead(runs, counted)
    checked = _known(verdicts["passed"] + verdicts["failed"], verdicts, steps or tools)
    return Stage(
        stage=name, runs=len(runs), requests=requests, requests_per_run=_mean(requests, runs), steps=len(steps),
        outcomes=dict(sorted(outcomes.items())), malformed_share=share(outcomes["malformed"], outcomes.total()),
        invented_share=share(outcomes["invented_observation"], outcomes.total()), checked=checked,
        mismatched=_known(verdicts["failed"], verdicts, steps or tools), mismatch_rate=share(verdicts["failed"], checked),
        undeclared_tools=_undeclared(steps or tools), tool_calls=len(tools),
        tool_failures=failures, tool_failure_share=share(failures, results.total()), input_tokens=read, output_tokens=written,
        input_tokens_per_run=_mean(read, runs), output_tokens_per_run=_mean(written, runs),
        usage_missing_turns=sum("input_tokens" not in turn for turn in turns), dead_resent_tokens=dead,
        dead_resent_per_run=_mean(dead, runs), dead_method=method,
    )  # fmt: skip


def _said(rows: Iterable[Row], field: str) -> Counter[str]:
    """How often each value of a fact was stated: a record that anybody sent may lack any."""
    return Counter(str(row[field]) for row in rows if field in row)


def _known(amount: int, said: Counter[str], rows: Sequence[Row]) -> int | None:
    """``amount``, unless there are rows and none of them says: absent is not zero."""
    return amount if said or not rows else None


def _mean(amount: int | None, runs: Sequence[Run]) -> float | None:
    return None if amount is None else round(amount / len(runs), 1)


def _undeclared(rows: Iterable[Row]) -> int:
    return sum(row.get("tool") == "_OTHER" for row in rows)


def _dead(runs: Sequence[Run], counted: DeadTokens) -> tuple[int | None, str | None]:
    """Tokens read again because of dead text, and how that is known. ``None`` for runs whose steps do not say, or that have none."""
    written = [(run, dead) for run in runs if (dead := _dead_of(run, counted))]
    if not written:
        return None, None
    known = all((run.run_id, number) in counted for run in runs for number, _ in _numbered(run))
    tokens = sum(text_resent(dead, run.requests) for run, dead in written)
    return tokens, EXACT if known else ESTIMATED


def _numbered(run: Run) -> list[tuple[int, Row]]:
    return [(int(step.get("step", place)), step) for place, step in enumerate(run.steps, 1)]


def _dead_of(run: Run, counted: DeadTokens) -> list[tuple[int, int]]:
    """(turn, dead tokens) of each step of which they are known."""
    found = [(int(step.get("turn", number)), counted.get((run.run_id, number), _estimate(step))) for number, step in _numbered(run)]
    return [(turn, tokens) for turn, tokens in found if tokens is not None]


def _estimate(step: Row) -> int | None:
    return -(-int(step["dead_text_band"]) // BYTES_PER_TOKEN) if "dead_text_band" in step else None


def _change(before: Stage, after: Stage) -> Change:
    pairs = {name: (getattr(before, name), getattr(after, name)) for name in COMPARED}
    known = {name: round(new - old, 4) for name, (old, new) in pairs.items() if old is not None and new is not None}
    return Change(before.stage, after.stage, known)


def as_json(migration: Migration) -> dict[str, Any]:
    """The report for ``--json``; absent figures are left out."""
    stages = [{name: value for name, value in asdict(stage).items() if value is not None} for stage in migration.stages]
    return {"stages": stages, "changes": [asdict(change) for change in migration.changes]}
