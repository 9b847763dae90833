"""Each flag from the rows that raise it, beside rows that must not."""

from __future__ import annotations

from typing import Any

import pytest

from otel_agent.local.flags import flags

RAISED: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "turns", {"turn": 1, "truncated": True, "truncated_by": "token_limit", "output_tokens": 1, "reasoning_tokens": 1}, "truncated",
        "turn 1 was cut off by the output cap after 1 output token, 1 of them reasoning",
    ),
    (
        "turns", {"turn": 1, "truncated": True, "output_tokens": 0}, "truncated",
        "turn 1 was cut off by a limit after 0 output tokens",
    ),
    ("tools", {"tool": "pay", "outcome": "ok", "cycle": 1}, "looping", "a cycle of 1 call came round again"),
    ("turns", {"turn": 2, "dropped_items": 1, "edited_items": 0}, "reasoning lost", "turn 2: 1 reasoning item left out"),
    ("turns", {"turn": 2, "dropped_items": 0, "edited_items": 2}, "reasoning lost", "turn 2: 2 reasoning items sent back changed"),
    ("turns", {"turn": 1, "provider_dropped_items": 1}, "reasoning lost", "turn 1: 1 reasoning item removed by the provider"),
    ("turns", {"turn": 1, "attempts": 3}, "retried", "turn 1 took 3 attempts"),
    ("turns", {"turn": 1, "error_type": "invalid_request_error"}, "call failed", "turn 1 failed with invalid_request_error"),
    ("turns", {"turn": 1, "undeclared_tool_calls": 1}, "unknown tool", "turn 1 called 1 tool that had not been offered"),
    ("tools", {"tool": "pay", "outcome": "error", "error_type": "tool_error"}, "tool failed", "pay ended as error (tool_error)"),
    ("tools", {"tool": "pay", "outcome": "invalid_arguments"}, "tool failed", "pay ended as invalid arguments"),
    ("tools", {"tool": "pay", "outcome": "ok", "overlap": True}, "conflict", "pay wrote while another write was going on"),
    ("runs", {"end_reason": "error", "error_type": "KeyError"}, "run failed", "KeyError ended it"),
    ("steps", {"step": 3, "outcome": "invented_observation"}, "text protocol", "step 3 made up an observation"),
    ("steps", {"step": 4, "outcome": "malformed"}, "text protocol", "step 4 had no action and no answer"),
    ("steps", {"step": 2, "outcome": "action", "validation": "failed"}, "text protocol", "step 2: the input does not fit the schema"),
]  # fmt: skip


@pytest.mark.parametrize(("view", "row", "flag", "why"), RAISED, ids=[f"{row[2]}-{at}" for at, row in enumerate(RAISED)])
def test_a_flag_is_raised_with_its_reason(view: str, row: dict[str, Any], flag: str, why: str) -> None:
    """By exactly the rows of its view."""
    assert flags({view: [row]}) == [{"flag": flag, "why": why}]


def test_healthy_rows_raise_nothing() -> None:
    """Zero, one attempt, an outcome of ok: nothing to say."""
    turn = {"turn": 1, "attempts": 1, "dropped_items": 0, "edited_items": 0, "truncated": False}
    tool = {"tool": "look", "outcome": "ok", "repeat": 1, "consecutive": 1}
    assert (
        flags(
            {
                "runs": [{"end_reason": "answered"}],
                "turns": [turn],
                "tools": [tool],
                "steps": [{"step": 1, "outcome": "action", "validation": "passed"}],
            }
        )
        == []
    )
