"""Budgets of a run: observed by default, enforced when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from otel_agent.fields import MAX_COUNT
from otel_agent.records.closed import Budget as BudgetName
from otel_agent.records.closed import EndReason

OnExceed = Callable[[BudgetName], None] | Literal["observe", "raise"]


class BudgetExceeded(RuntimeError):
    """Raised by the next model or tool call of a run made with ``on_exceed="raise"``. ``budget`` names what ran out."""

    def __init__(self, budget: BudgetName) -> None:
        super().__init__(f"the run's budget of {budget} is used up")
        self.budget = budget


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run; ``None`` is no limit. ``seconds`` is wall time from the run's beginning.

    Raises ``ValueError`` for a limit that is not positive, or beyond what a record can hold (2**53 - 1).
    """

    turns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    tool_calls: int | None = None

    def __post_init__(self) -> None:
        for name in ("turns", "input_tokens", "output_tokens", "seconds", "tool_calls"):
            limit = getattr(self, name)
            if limit is None:
                continue
            whole = type(limit) is int or (name == "seconds" and type(limit) is float)
            if not whole or not 0 < limit <= MAX_COUNT:
                kind = "number" if name == "seconds" else "whole number"
                raise ValueError(f"budget {name} must be a positive {kind} up to {MAX_COUNT}, or None for no limit")


NO_LIMIT: Final = Budget()

REASONS: Final[dict[BudgetName, EndReason]] = {
    "turns": "turn_limit",
    "input_tokens": "token_limit",
    "output_tokens": "token_limit",
    "seconds": "deadline",
    "tool_calls": "tool_limit",
}
"""End reason of a run that found no answer within a budget."""


def overdrawn(budget: Budget, turns: int, input_tokens: int, output_tokens: int, seconds: float, tool_calls: int) -> BudgetName | None:
    """The first budget that more than its limit has been taken from, if any."""
    if budget == NO_LIMIT:  # nearly always
        return None
    spent: tuple[tuple[BudgetName, float | None, float], ...] = (
        ("turns", budget.turns, turns),
        ("input_tokens", budget.input_tokens, input_tokens),
        ("output_tokens", budget.output_tokens, output_tokens),
        ("seconds", budget.seconds, seconds),
        ("tool_calls", budget.tool_calls, tool_calls),
    )
    return next((name for name, limit, used in spent if limit is not None and used > limit), None)


def left(limit: int | None, used: int) -> int | None:
    """What remains of a limit; negative when overdrawn, ``None`` without a limit."""
    return None if limit is None else limit - used
