"""The replay check on streamed turns: a stream tells types and ids, which is enough to see a dropped item."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from otel_agent import agent_run
from otel_agent.testing import Capture, Standin, capture
from otel_agent.testing.standin import Reply, Text, Thinking, ToolUse

MODEL = "claude-sonnet-4-6"
TOOLS: Any = [{"name": "look", "input_schema": {"type": "object"}}]


def loop(keep: bool) -> Capture:
    """Two streamed turns; the second sends the thinking block back, or not."""
    with capture() as seen, Standin() as standin, agent_run("streamer"):
        standin.script(MODEL, [Reply([Thinking("hm"), ToolUse("look", {})]), Reply([Text("seen")])])
        client = anthropic.Anthropic(base_url=standin.anthropic_url, api_key="none")
        messages: list[Any] = [{"role": "user", "content": "look"}]
        with client.messages.stream(model=MODEL, max_tokens=100, messages=messages, tools=TOOLS) as stream:
            reply = stream.get_final_message()
        kept = [block for block in reply.content if keep or block.type != "thinking"]
        call = next(block for block in reply.content if block.type == "tool_use")
        messages += [
            {"role": "assistant", "content": kept},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "x"}]},
        ]
        with client.messages.stream(model=MODEL, max_tokens=100, messages=messages, tools=TOOLS) as stream:
            stream.until_done()
        return seen


@pytest.mark.parametrize(("keep", "replayed", "dropped"), [(True, 1, 0), (False, 0, 1)])
def test_a_dropped_item_shows_after_a_stream(keep: bool, replayed: int, dropped: int) -> None:
    """Kept items count as replayed; left out ones as dropped; none as edited, since a stream's text is not kept."""
    turn = loop(keep).turns[1]
    assert (turn["otel_agent.replay.items"], turn["otel_agent.replay.dropped"], turn["otel_agent.replay.edited"]) == (replayed, dropped, 0)
