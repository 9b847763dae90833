"""Flags: what is remarkable about a run, and why, derived from its records when it is read; nothing of this is stored.

A *fact row* is one row of a view as a dictionary without its absent columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Facts = Mapping[str, Any]
Flag = dict[str, str]

LOOP: Final = 3
"""From how many identical calls on a run is called looping: a second call is often a retry."""

_LIMITS: Final = {"token_limit": "the output cap", "context_window": "the context window"}


def _turn(facts: Facts) -> str:
    return f"turn {facts['turn']}" if "turn" in facts else "a turn"


def _tokens(facts: Facts) -> str:
    if "output_tokens" not in facts:
        return ""
    spent = f" after {facts['output_tokens']} output tokens"
    return f"{spent}, {facts['reasoning_tokens']} of them reasoning" if "reasoning_tokens" in facts else spent


def truncated(turns: Iterable[Facts], tools: Iterable[Facts]) -> list[str]:
    """Turns that a limit cut off."""
    del tools
    return [_cut(facts) for facts in turns if facts.get("truncated")]


def _cut(facts: Facts) -> str:
    limit = _LIMITS.get(facts.get("truncated_by", ""), "a limit")
    nothing = "; nothing visible had come" if facts.get("empty_truncated") else ""
    return f"{_turn(facts)} was cut off by {limit}{_tokens(facts)}{nothing}"


def looping(turns: Iterable[Facts], tools: Iterable[Facts]) -> list[str]:
    """Tools called again and again with the same arguments, and cycles of calls."""
    del turns
    rows = list(tools)
    most: dict[str, int] = {}
    for facts in rows:
        most[facts["tool"]] = max(most.get(facts["tool"], 0), facts.get("repeat", 0), facts.get("consecutive", 0))
    repeated = [f"{tool} was called {count} times with the same arguments" for tool, count in most.items() if count >= LOOP]
    cycles = sorted({facts["cycle"] for facts in rows if "cycle" in facts})
    return repeated + [f"a cycle of {length} calls came round again" for length in cycles]


def prefix_broken(turns: Iterable[Facts], tools: Iterable[Facts]) -> list[str]:
    """Turns whose request changed what the one before had sent, so that the provider's cache missed."""
    del tools
    return [_break(facts) for facts in turns if "prefix_break" in facts]


def _break(facts: Facts) -> str:
    where = f" at message {facts['first_changed']}" if "first_changed" in facts else ""
    return f"{_turn(facts)}: {facts['prefix_break'].replace('_', ' ')}{where}"


def denied(turns: Iterable[Facts], tools: Iterable[Facts]) -> list[str]:
    """Tool calls that policy or approval refused."""
    del turns
    return [_denial(facts) for facts in tools if facts.get("outcome") == "denied" or facts.get("decision") == "deny"]


def _denial(facts: Facts) -> str:
    rule = f" by rule {facts['rule_id']}" if "rule_id" in facts else ""
    return f"{facts['tool']} was denied{rule}"


FLAGS: Final[Mapping[str, Callable[[Iterable[Facts], Iterable[Facts]], list[str]]]] = {
    "truncated": truncated,
    "looping": looping,
    "prefix broken": prefix_broken,
    "denied": denied,
}


def flags(turns: list[Facts], tools: list[Facts]) -> list[Flag]:
    """Every flag of a run with its reason, in a fixed order."""
    return [{"flag": name, "why": why} for name, find in FLAGS.items() for why in find(turns, tools)]
