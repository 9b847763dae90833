"""The replay check on streamed turns: a stream tells types and ids, which is enough to see a dropped item."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
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


def chat_loop(flavour: str, keep: bool) -> Capture:
    """The same with chat completions of a compatible server, put together from the chunks as callers do."""
    with capture() as seen, Standin() as standin, agent_run("streamer"):
        standin.script(MODEL, [Reply([Thinking("hm"), ToolUse("look", {})]), Reply([Text("seen")])], flavour=flavour)
        client = openai.OpenAI(base_url=standin.openai_url, api_key="none")
        messages: list[Any] = [{"role": "user", "content": "look"}]
        tools: Any = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
        reasoning, call_id = "", ""
        for chunk in client.chat.completions.create(model=MODEL, messages=messages, tools=tools, stream=True):
            for choice in chunk.choices:
                reasoning += (choice.delta.model_extra or {}).get("reasoning_content") or ""
                call_id = next((call.id for call in choice.delta.tool_calls or () if call.id), call_id)
        called = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        answer = {"role": "assistant", "content": None, "tool_calls": [called]} | ({"reasoning_content": reasoning} if keep else {})
        messages += [answer, {"role": "tool", "tool_call_id": call_id, "content": "x"}]
        for _ in client.chat.completions.create(model=MODEL, messages=messages, tools=tools, stream=True):
            pass
        return seen


@pytest.mark.parametrize(("keep", "replayed", "dropped"), [(True, 1, 0), (False, 0, 1)])
def test_a_dropped_member_shows_after_a_chat_stream(keep: bool, replayed: int, dropped: int) -> None:
    """The reasoning beside a message's calls, told by the name of its member alone."""
    turn = chat_loop("sglang", keep).turns[1]
    assert (turn["otel_agent.replay.items"], turn["otel_agent.replay.dropped"], turn["otel_agent.replay.edited"]) == (replayed, dropped, 0)


def test_reasoning_that_may_stay_away_is_not_missed_after_a_chat_stream() -> None:
    """Servers that send it as ``reasoning`` do not ask for it back."""
    assert "otel_agent.replay.dropped" not in chat_loop("vllm", keep=False).turns[1]
