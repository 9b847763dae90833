"""A tool agent of known sizes, driven through the real SDKs against a stand-in."""

from __future__ import annotations

from typing import Any

import anthropic
import openai

import otel_agent
from otel_agent.testing import Capture, Standin, capture
from otel_agent.testing.standin import PerTurn, Reply, Text, ToolUse, Usage

MODEL = "claude-sonnet-4-6"
CHAT_MODEL = "gpt-5.5"


def replies(turns: int, output: int) -> list[Reply]:
    """Tool calls, and an answer at last; each of ``output`` tokens."""
    calls = [Reply([ToolUse("look", {"page": page})], usage=Usage(output=output)) for page in range(turns - 1)]
    return [*calls, Reply([Text("Found.")], usage=Usage(output=output))]


def recorded(turns: int, *, stable: int, growth: int, output: int, sdk: str = "anthropic") -> tuple[Capture, int]:
    """What one run emits, and the input tokens that the stand-in says it counted."""
    drive = {"anthropic": _anthropic, "openai": _openai}[sdk]
    with Standin(seed="economics", tokens=PerTurn(stable, growth)) as standin, capture() as telemetry:
        for model in (MODEL, CHAT_MODEL):
            standin.script(model, replies(turns, output))
        with otel_agent.agent_run("looker"):
            counted = drive(standin)
        return telemetry, counted


def _anthropic(standin: Standin) -> int:
    counted = 0
    messages: list[Any] = [{"role": "user", "content": "Find it."}]
    with anthropic.Anthropic(base_url=standin.anthropic_url, api_key="none") as client:
        while True:
            answer = client.messages.create(model=MODEL, max_tokens=500, messages=messages)
            counted += answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)
            messages.append({"role": "assistant", "content": answer.content})
            uses = [block for block in answer.content if block.type == "tool_use"]
            if not uses:
                return counted
            results = [{"type": "tool_result", "tool_use_id": use.id, "content": "nothing"} for use in uses]
            messages.append({"role": "user", "content": results})


def _openai(standin: Standin) -> int:
    counted = 0
    messages: list[Any] = [{"role": "user", "content": "Find it."}]
    with openai.OpenAI(base_url=standin.openai_url, api_key="none") as client:
        while True:
            answer = client.chat.completions.create(model=CHAT_MODEL, messages=messages)
            assert answer.usage is not None
            counted += answer.usage.prompt_tokens
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return counted
            messages += [{"role": "tool", "tool_call_id": call.id, "content": "nothing"} for call in message.tool_calls]
