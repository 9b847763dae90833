"""The arithmetic of a conversation that is sent anew with every request.

Words: a run makes N *turns* (requests). Turn 1 reads the *prefix*; each later turn reads *growth* tokens more than the
one before. What turn k adds (the model's output and the results of the tools it called) is read by every later turn, N
- k times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

Amount = TypeVar("Amount", int, Fraction)


def turn_input(prefix: Amount, growth: Amount, turn: int) -> Amount:
    """Input tokens of one turn, counted from 1."""
    return prefix + growth * (turn - 1)


def run_input(prefix: Amount, growth: Amount, turns: int) -> Amount:
    """Input tokens of all turns: the growth counts with the square of the turns."""
    return prefix * turns + growth * (turns * (turns - 1) // 2)


def run_resent(prefix: Amount, growth: Amount, turns: int) -> Amount:
    """Input tokens that an earlier turn had already sent: all but what the last turn holds."""
    return run_input(prefix, growth, turns) - turn_input(prefix, growth, turns)


def reads(turn: int, turns: int) -> int:
    """How often a token that ``turn`` adds is read by the turns after it: the marginal cost of that token."""
    return max(turns - turn, 0)


def text_resent(sizes: Iterable[tuple[int, int]], turns: int) -> int:
    """Tokens read because of texts written along the way; ``sizes`` are (turn, tokens written at it)."""
    return sum(tokens * reads(turn, turns) for turn, tokens in sizes)


@dataclass(frozen=True, slots=True)
class Fit:
    """The line through the inputs. ``exact``: all turns lie on it; ``largest_error``: how far one lies off it."""

    prefix: Fraction
    growth: Fraction
    exact: bool
    largest_error: float

    def input_of(self, turns: int) -> int:
        """Input tokens of a run of that many turns."""
        return round(run_input(self.prefix, self.growth, turns))


def fit(points: list[tuple[int, int]]) -> Fit | None:
    """Least squares over (turn, input tokens), in exact fractions; ``None`` with fewer than two turns known."""
    if len(points) < 2:
        return None
    many = len(points)
    mean_turn = Fraction(sum(turn for turn, _ in points), many)
    mean_input = Fraction(sum(tokens for _, tokens in points), many)
    spread = sum(((turn - mean_turn) ** 2 for turn, _ in points), Fraction())
    growth = sum(((turn - mean_turn) * (tokens - mean_input) for turn, tokens in points), Fraction()) / spread
    prefix = mean_input - growth * (mean_turn - 1)
    off = max(abs(turn_input(prefix, growth, turn) - tokens) for turn, tokens in points)
    return Fit(prefix, growth, off == 0, round(float(off), 1))
