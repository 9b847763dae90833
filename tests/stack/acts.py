"""What the "models" answer in each act of the alert scenarios: once as all is well, once with one thing wrong.

An act is one agent. Its counts stay near the shipped minimum counts and thresholds, so each faulty act is about the smallest one
that should be told to a person, and makes no other alert hold it back. What is compared with a baseline has more to spare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otel_agent.testing.standin import Failure, Reply, Standin, Text, Thinking, ToolUse, Usage

Steps = Sequence[Any]


@dataclass(frozen=True)
class Act:
    """``runs``: how many the agent makes. ``well`` and ``ill``: the answers it gets, from the first on, again and again."""

    alert: str
    runs: int
    well: Steps
    ill: Steps


def said(text: str = "Done.", **more: Any) -> Reply:
    return Reply([Text(text)], **more)


def used(**counts: int) -> Reply:
    return said(usage=Usage(**counts))


def calls(tool: str, *arguments: Mapping[str, Any]) -> Steps:
    """One call a turn, then an answer."""
    return (*(Reply([ToolUse(tool, each)]) for each in arguments), said())


def numbered(count: int) -> Steps:
    """As many different calls."""
    return calls("look_up", *({"number": number} for number in range(count)))


def thought(text: str = "Let me see.") -> Steps:
    return Reply([Thinking(text), ToolUse("look_up", {"number": 1})]), Reply([Thinking(text), ToolUse("look_up", {"number": 2})]), said()


CUT: Reply = said("The quarter began", stop="max_tokens")
EMPTY: Reply = Reply([Thinking("...")], stop="max_tokens", usage=Usage(output=500, reasoning=500))
STEP: Reply = said('Thought: x\nAction: look_up\nAction Input: {"number": 1}')
MALFORMED: Reply = said("I think that I should look it up somewhere.")
INVENTED: Reply = said('Thought: x\nAction: look_up\nAction Input: {"number": 1}\nObservation: 7\nFinal Answer: 7')
REFUNDS: Steps = calls("refund", *({"amount": 10 + number} for number in range(12)))
TOO_HIGH: Steps = calls("refund", *({"amount": 90 if number < 4 else number} for number in range(12)))
FINE: Steps = calls("look_up", *({"number": number} for number in range(12)))
FAILING: Steps = calls("look_up", *({"number": -1 if number < 4 else number} for number in range(12)))
TWO_WRITES: Steps = (Reply([ToolUse("store", {"number": 1}), ToolUse("store", {"number": 2})]), said())
ROUND: Steps = calls("look_up", *({"number": number % 2} for number in range(8)))

ACTS: Mapping[str, Act] = {
    "cut-off": Act("truncated", 24, (said(),), (*[said()] * 10, CUT, CUT)),
    "cut-off-more": Act("truncated_more", 75, (said(),), (*[said()] * 24, CUT)),
    "empty": Act("empty_truncated", 24, (said(),), (*[said()] * 10, EMPTY, EMPTY)),
    "over-cap": Act("iterations_over_cap", 6, numbered(1), (*numbered(23), *numbered(1), *numbered(1))),
    "runaway": Act("iterations_runaway", 1, numbered(1), numbered(54)),
    "more-calls": Act("iterations_rose", 17, numbered(1), numbered(6)),
    "unanswered": Act("unanswered", 12, (said(),), (said(), said(), Failure(400))),
    "open": Act("runs_unended", 8, (said(),), (said(),)),
    "repeating": Act("repeated_calls", 1, FINE, calls("look_up", *({"number": number % 3} for number in range(12)))),
    "stuck": Act("calls_in_a_row", 6, numbered(1), calls("look_up", *[{"number": 1}] * 5)),
    "circling": Act("cycles", 3, numbered(2), ROUND),
    "failing": Act("tool_failures", 1, FINE, FAILING),
    "two-writes": Act("conflicting_writes", 3, TWO_WRITES, TWO_WRITES),
    "denied": Act("denials", 1, REFUNDS, TOO_HIGH),
    "garbled": Act("text_malformed", 24, (STEP,), (STEP, STEP, STEP, MALFORMED)),
    "inventing": Act("text_invented", 24, (STEP,), (*[STEP] * 11, INVENTED)),
    "cache": Act("cache_fell", 32, (used(input=1000, cache_read=800, output=10),), (used(input=1000, cache_read=50, output=10),)),
    "clock": Act("prefix_broken", 6, numbered(3), numbered(3)),
    "spender": Act("tokens_per_answer", 17, (used(input=1000, output=50),), (used(input=9000, output=400),)),
    "uncounted": Act("usage_missing", 24, (said(),), (said(),)),
    "new-snapshot": Act("snapshot_changed", 6, (said(model="gpt-5.5-2026-04-01"),), (said(model="gpt-5.5-2026-10-01"),)),
    "new-effort": Act("effort_changed", 6, (said(),), (said(),)),
    "forgetful": Act("replay_lost", 6, thought(), thought()),
    "clumsy": Act("own_failures", 1, numbered(2), numbered(2)),
}
"""By the agent's name. What goes wrong in an act whose answers are the same both times is the agent's own doing."""


def load(standin: Standin, service: str, *, ill: bool) -> None:
    """Give the stand-in one form of every act, for the agents of one service: two that shared a script would take each other's turns."""
    for name, act in ACTS.items():
        standin.script(f"{service}.{name}", act.ill if ill else act.well, after="restart")
