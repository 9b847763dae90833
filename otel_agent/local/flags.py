"""Flags: what is remarkable about a run, and why, derived from its records when it is read; nothing of this is stored.

A *fact row* is one row of a view as a dictionary without its absent columns. A *finder* takes the rows of one view and gives a reason for
each finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from otel_agent.plural import plural

Facts = Mapping[str, Any]
Flag = dict[str, str]
Finder = Callable[[Iterable[Facts]], list[str]]

LOOP: Final = 3
"""From how many identical calls on a run is called looping: a second call is often a retry."""

_LIMITS: Final = {"token_limit": "the output cap", "context_window": "the context window"}
_ODD_STEPS: Final = {
    "malformed": "had no action and no answer",
    "invented_observation": "made up an observation",
    "both": "had an action and a final answer",
}


def _turn(facts: Facts) -> str:
    return f"turn {facts['turn']}" if "turn" in facts else "a turn"


def _counted(number: int, noun: str) -> str:
    return f"{number} {plural(number, noun)}"


def _tool(facts: Facts) -> str:
    """A record may lack what every one of ours has: anybody may send under our name."""
    return str(facts.get("tool", "a tool"))


def _tokens(facts: Facts) -> str:
    if "output_tokens" not in facts:
        return ""
    spent = f" after {_counted(facts['output_tokens'], 'output token')}"
    return f"{spent}, {facts['reasoning_tokens']} of them reasoning" if "reasoning_tokens" in facts else spent


def truncated(turns: Iterable[Facts]) -> list[str]:
    """Turns that a limit cut off."""
    return [_cut(facts) for facts in turns if facts.get("truncated")]


def _cut(facts: Facts) -> str:
    limit = _LIMITS.get(facts.get("truncated_by", ""), "a limit")
    nothing = "; nothing visible had come" if facts.get("empty_truncated") else ""
    return f"{_turn(facts)} was cut off by {limit}{_tokens(facts)}{nothing}"


def looping(tools: Iterable[Facts]) -> list[str]:
    """Tools called again and again with the same arguments, and cycles of calls."""
    rows = list(tools)
    most: dict[str, int] = {}
    for facts in rows:
        most[_tool(facts)] = max(most.get(_tool(facts), 0), facts.get("repeat", 0), facts.get("consecutive", 0))
    repeated = [f"{tool} was called {count} times with the same arguments" for tool, count in most.items() if count >= LOOP]
    cycles = sorted({facts["cycle"] for facts in rows if "cycle" in facts})
    return repeated + [f"a cycle of {_counted(length, 'call')} came round again" for length in cycles]


def prefix_broken(turns: Iterable[Facts]) -> list[str]:
    """Turns whose request changed what the one before had sent, so that the provider's cache missed."""
    return [_break(facts) for facts in turns if "prefix_break" in facts]


def _break(facts: Facts) -> str:
    where = f" at message {facts['first_changed']}" if "first_changed" in facts else ""
    return f"{_turn(facts)}: {facts['prefix_break'].replace('_', ' ')}{where}"


def denied(tools: Iterable[Facts]) -> list[str]:
    """Tool calls that policy or approval refused."""
    return [_denial(facts) for facts in tools if facts.get("outcome") == "denied" or facts.get("decision") == "deny"]


def _denial(facts: Facts) -> str:
    rule = f" by rule {facts['rule_id']}" if "rule_id" in facts else ""
    return f"{_tool(facts)} was denied{rule}"


def tool_failed(tools: Iterable[Facts]) -> list[str]:
    """Tool executions that failed, whether they raised or returned the failure as data."""
    return [_failure(facts) for facts in tools if facts.get("outcome", "ok") not in {"ok", "denied"}]


def _failure(facts: Facts) -> str:
    kind = f" ({facts['error_type']})" if "error_type" in facts else ""
    return f"{_tool(facts)} ended as {facts['outcome'].replace('_', ' ')}{kind}"


def conflicting(tools: Iterable[Facts]) -> list[str]:
    """Writes that ran while another write of the run was going on."""
    return [f"{_tool(facts)} wrote while another write was going on" for facts in tools if facts.get("overlap")]


def reasoning_lost(turns: Iterable[Facts]) -> list[str]:
    """Reasoning items of an open tool loop that were not sent back as they came."""
    told = (("dropped_items", "left out"), ("edited_items", "sent back changed"), ("provider_dropped_items", "removed by the provider"))
    return [
        f"{_turn(facts)}: {_counted(facts[name], 'reasoning item')} {what}" for facts in turns for name, what in told if facts.get(name)
    ]


def retried(turns: Iterable[Facts]) -> list[str]:
    """Turns that took more than one HTTP try."""
    return [f"{_turn(facts)} took {facts['attempts']} attempts" for facts in turns if facts.get("attempts", 1) > 1]


def call_failed(turns: Iterable[Facts]) -> list[str]:
    """Model calls that failed."""
    return [f"{_turn(facts)} failed with {facts['error_type']}" for facts in turns if "error_type" in facts]


def run_failed(runs: Iterable[Facts]) -> list[str]:
    """Runs that an exception ended, wherever it came from."""
    return [f"{facts['error_type']} ended it" for facts in runs if "error_type" in facts]


def undeclared(turns: Iterable[Facts]) -> list[str]:
    """Calls of tools that were never offered."""
    return [
        f"{_turn(facts)} called {_counted(facts['undeclared_tool_calls'], 'tool')} that had not been offered"
        for facts in turns
        if facts.get("undeclared_tool_calls")
    ]


def odd_steps(steps: Iterable[Facts]) -> list[str]:
    """Steps of the text protocol that did not hold to it, and inputs that do not fit the declared schema."""
    rows = list(steps)
    odd = [f"{_step(facts)} {_ODD_STEPS[facts['outcome']]}" for facts in rows if facts.get("outcome") in _ODD_STEPS]
    return odd + [f"{_step(facts)}: the input does not fit the schema" for facts in rows if facts.get("validation") == "failed"]


def _step(facts: Facts) -> str:
    return f"step {facts['step']}" if "step" in facts else "a step"


FLAGS: Final[Sequence[tuple[str, str, Finder]]] = (
    ("truncated", "turns", truncated),
    ("looping", "tools", looping),
    ("prefix broken", "turns", prefix_broken),
    ("denied", "tools", denied),
    ("tool failed", "tools", tool_failed),
    ("conflict", "tools", conflicting),
    ("reasoning lost", "turns", reasoning_lost),
    ("call failed", "turns", call_failed),
    ("run failed", "runs", run_failed),
    ("retried", "turns", retried),
    ("unknown tool", "turns", undeclared),
    ("text protocol", "steps", odd_steps),
)
"""Flag, the view it reads, and its finder."""


def flags(parts: Mapping[str, Iterable[Facts]]) -> list[Flag]:
    """Every flag of a run with its reason, in a fixed order. ``parts``: view name to the run's rows."""
    return [{"flag": name, "why": why} for name, view, find in FLAGS for why in find(parts.get(view, ()))]
