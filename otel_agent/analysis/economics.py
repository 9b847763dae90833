"""What a run's tokens went for: planned from three numbers, or read off a recorded run.

Every turn sends the whole conversation again, so most of the input of a long run is text that was read before. Counts
that a provider did not send stay absent and are never made up; a report says for how many turns they are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import takewhile
from typing import Any, Final

from otel_agent.analysis import money, resend
from otel_agent.analysis.money import Bill
from otel_agent.analysis.prices import Price, Prices
from otel_agent.analysis.resend import Fit
from otel_agent.analysis.rows import Row, share, total, turns_of
from otel_agent.records import background
from otel_agent.records.closed import GENERATING

MOST_TURNS: Final = 100_000
"""Of a plan, which lists each."""


@dataclass(frozen=True, slots=True)
class Half:
    """The same job in half the turns. ``saved_share``: of the whole run's input."""

    turns: int
    input_tokens: int
    saved_share: float | None


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """``added_token_reads``: how often later turns read one token that this turn adds."""

    turn: int
    input_tokens: int
    added_token_reads: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A run before it is run. ``stable_tokens``: what the prefix costs in all; ``grown_tokens``: what the growth does."""

    input_tokens: int
    output_tokens: int | None
    prefix: int
    growth: int
    turns: int
    stable_tokens: int
    grown_tokens: int
    resent_tokens: int
    resent_share: float | None
    half: Half
    per_turn: tuple[PlannedTurn, ...]
    bill: Bill | None = None


def plan(
    prefix: int,
    growth: int,
    turns: int,
    output_per_turn: int | None = None,
    *,
    price: Price | None = None,
    currency: str | None = None,
) -> Plan:
    """The economics of ``turns`` requests, the first of ``prefix`` tokens, each later one ``growth`` tokens longer.

    ``output_per_turn`` is part of the growth. Without it a bill covers the input alone. Raises ``ValueError`` for a
    negative number, no turn at all, or more than :data:`MOST_TURNS`.
    """
    if min(prefix, growth, output_per_turn or 0) < 0 or turns < 1:
        raise ValueError("prefix, growth and output cannot be negative, and a run has at least one turn")
    if turns > MOST_TURNS:
        raise ValueError(f"a plan has at most {MOST_TURNS:,} turns")
    read = resend.run_input(prefix, growth, turns)
    resent = resend.run_resent(prefix, growth, turns)
    output = None if output_per_turn is None else output_per_turn * turns
    return Plan(
        input_tokens=read, output_tokens=output, prefix=prefix, growth=growth, turns=turns, stable_tokens=prefix *
        turns, grown_tokens=read - prefix * turns, resent_tokens=resent, resent_share=share(resent, read),
        half=_half(prefix, growth, turns, read), per_turn=tuple(_planned(prefix, growth, turn, turns) for turn in
        range(1, turns + 1)), bill=None if price is None else money.planned(price, read, resent, output or 0, turns,
        currency),
    )  # fmt: skip


def _planned(prefix: int, growth: int, turn: int, turns: int) -> PlannedTurn:
    return PlannedTurn(turn, resend.turn_input(prefix, growth, turn), resend.reads(turn, turns))


def _half(prefix: resend.Amount, growth: resend.Amount, turns: int, whole: int) -> Half:
    fewer = (turns + 1) // 2
    tokens = round(resend.run_input(prefix, growth, fewer))
    return Half(fewer, tokens, share(whole - tokens, whole))


@dataclass(frozen=True, slots=True)
class Turn:
    """One recorded turn. ``resent_tokens``: of its input, what the turn before had sent already.

    Of a turn that continues another conversation of the run than the last one did, the turn before is that conversation's; absent where a
    conversation begins.
    """

    turn: int
    added_token_reads: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    resent_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Projection:
    """The input of a run of ``turns`` turns that goes on growing as this one did."""

    turns: int
    input_tokens: int


@dataclass(frozen=True, slots=True)
class RunEconomics:
    """A recorded run. Sums are over the turns that reported the count; ``None`` when none did.

    ``failed_turns`` are calls that ended in an error without usage; they are no part of the line. ``cached_share``: of
    the input of the turns that report cache reads. ``written_resent_tokens``: what the model's own output without reasoning
    cost when it was read again, if all of it was sent back. ``reasoning_resent_tokens``: the same of its reasoning, in the turns
    that did send reasoning items back; absent where none did. Providers want it back inside an open tool loop and drop it
    afterwards; some read less of it back than they charged for. ``prefix`` and ``growth``: the line through the turns,
    exact when ``linear``.
    """

    turns: int
    failed_turns: int
    usage_missing_turns: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    resent_tokens: int | None
    resent_share: float | None
    cached_share: float | None
    written_resent_tokens: int | None
    reasoning_resent_tokens: int | None
    prefix: Fraction | None
    growth: Fraction | None
    linear: bool | None
    largest_error: float | None
    stable_tokens: int | None
    grown_tokens: int | None
    half: Half | None
    projection: Projection | None
    per_turn: tuple[Turn, ...]
    bill: Bill | None = None


def of_run(turns: Iterable[Row], *, project_to: int | None = None, prices: Prices | None = None) -> RunEconomics:
    """The economics of one run's model turns, given as plain dictionaries (by field or by attribute name).

    ``project_to``: turns of the projection, by default twice as many. Raises
    :class:`otel_agent.analysis.prices.PricesError` when the run needs a price that the file lists its model without.
    """
    made = [turn for turn in turns_of(turns) if turn.get("operation", "chat") in GENERATING]
    done = [turn for turn in made if "error_type" not in turn or "input_tokens" in turn]
    line = resend.fit([(number, turn["input_tokens"]) for number, turn in enumerate(done, 1) if "input_tokens" in turn])
    listed = _turns(done)
    read, resent = total(done, "input_tokens"), _sum(turn.resent_tokens for turn in listed)
    reporting = [turn for turn in done if {"input_tokens", "cache_read_tokens"} <= turn.keys()]
    stable = None if line is None else round(line.prefix * len(done))
    return RunEconomics(
        turns=len(done), failed_turns=len(made) - len(done), usage_missing_turns=sum("input_tokens" not in turn for turn
        in done), input_tokens=read, output_tokens=total(done, "output_tokens"), cache_read_tokens=total(done,
        "cache_read_tokens"), resent_tokens=resent, resent_share=share(resent, read),
        cached_share=share(total(reporting, "cache_read_tokens"), total(reporting, "input_tokens")),
        written_resent_tokens=_written_resent(done), reasoning_resent_tokens=_reasoning_resent(done),
        **_line(line), stable_tokens=stable, grown_tokens=None if line is
        None or stable is None else line.input_of(len(done)) - stable, half=None if line is None else _half(line.prefix,
        line.growth, len(done), line.input_of(len(done))), projection=_projection(line, project_to or 2 * len(done)),
        per_turn=listed, bill=None if prices is None else money.of_turns(zip(done, (turn.resent_tokens or 0 for turn in
        listed), strict=True), prices),
    )  # fmt: skip


def _line(line: Fit | None) -> dict[str, Any]:
    names = ("prefix", "growth", "linear", "largest_error")
    values = (None,) * len(names) if line is None else (line.prefix, line.growth, line.exact, line.largest_error)
    return dict(zip(names, values, strict=True))


def _projection(line: Fit | None, turns: int) -> Projection | None:
    return None if line is None else Projection(turns, line.input_of(turns))


def _sum(amounts: Iterable[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _turns(done: Sequence[Row]) -> tuple[Turn, ...]:
    listed: list[Turn] = []
    inputs = _Inputs()
    for number, turn in enumerate(done, 1):
        now, before = turn.get("input_tokens"), inputs.before(turn)
        inputs.add(turn)
        resent = None if now is None or before is None else min(before, now)
        listed.append(
            Turn(
                number,
                resend.reads(number, len(done)),
                now,
                turn.get("output_tokens"),
                turn.get("cache_read_tokens"),
                resent,
            )
        )
    return tuple(listed)


class _Inputs:
    """Inputs of the turns so far that reported one: the latest, and the latest by the number of messages sent.

    The rule of :mod:`otel_agent.instrument.resent`, which goes by what is known when a turn ends. The end of another run's turn is none.
    """

    def __init__(self) -> None:
        self._latest: int | None = None
        self._by_length: dict[int, int] = {}

    def add(self, turn: Row) -> None:
        if "input_tokens" in turn and background.began(turn):
            self._latest = turn["input_tokens"]
            if "message_count" in turn:
                self._by_length[turn["message_count"]] = turn["input_tokens"]

    def before(self, turn: Row) -> int | None:
        """The input of the last turn of the same conversation; without facts of the history, of the last turn."""
        afresh = "history_digest" in turn and "stable_prefix" not in turn and "previous_response_id" not in turn
        if afresh or not background.began(turn):
            return None
        length = None if "first_changed" in turn else turn.get("stable_prefix")
        return self._latest if length is None else self._by_length.get(length, self._latest)


def _written_resent(done: Sequence[Row]) -> int | None:
    """Reasoning is left out: it is counted apart."""
    written = [
        (number, max(turn["output_tokens"] - turn.get("reasoning_tokens", 0), 0))
        for number, turn in enumerate(done, 1)
        if "output_tokens" in turn
    ]
    return resend.text_resent(written, len(done)) if written else None


def _reasoning_resent(done: Sequence[Row]) -> int | None:
    """Reasoning tokens times the turns right after them that sent reasoning items back."""
    back = [turn.get("replayed_items", 0) > 0 for turn in done]
    if not any(back):
        return None
    later = [sum(takewhile(bool, back[number:])) for number in range(1, len(done) + 1)]
    return _sum(turn["reasoning_tokens"] * reads for turn, reads in zip(done, later, strict=True) if "reasoning_tokens" in turn)


def as_json(report: Plan | RunEconomics) -> dict[str, Any]:
    """A report for ``--json``: absent facts left out, whole fractions as integers, money to the millionth."""
    return dict(_plain(asdict(report)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else round(float(value), 1)
    return round(float(value), 6) if isinstance(value, Decimal) else value
