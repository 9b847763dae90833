"""What the demo shows at the end is whole on every terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from otel_agent.demo.scripts import SCENARIOS
from otel_agent.demo.summary import summary

WHY = "turn 2 was cut off by the output cap after 1024 output tokens, 1024 of them reasoning; nothing visible had come"
FIRST = SCENARIOS[0]


@pytest.mark.parametrize("width", [70, 80, 100, 160])
def test_nothing_is_cut_off(width: int) -> None:
    """Numbers, ends, what was shown and what is marked; beside each other where there is room, else below."""
    run = {
        "agent_name": FIRST.name, "state": "ended", "end_reason": "token_limit", "turns": 1, "tool_calls": 2, "input_tokens": 15_432,
        "flags": [{"flag": "truncated", "why": WHY}],
    }  # fmt: skip
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(summary({"runs": [run]}))
    text = console.export_text()
    lines, words = text.splitlines(), " ".join(text.split())
    assert "…" not in text
    assert all(scenario.name in text for scenario in SCENARIOS)
    assert all(scenario.shows in words for scenario in SCENARIOS)
    assert f"truncated: {WHY}" in words
    assert text.count("not recorded") == len(SCENARIOS) - 1
    row = next(line for line in lines if line.startswith(FIRST.name)).split()
    numbers = ["1", "2", "15,432"] if width >= 120 else ["1", "turn,", "2", "tools,", "15,432", "tokens"]
    assert row[1 : 2 + len(numbers)] == ["token_limit", *numbers]
    assert len(lines) < 120
