"""Reasoning that goes back in an open tool loop goes back as it came, with and without us."""

from __future__ import annotations

import json
from typing import Any

import pytest

import otel_agent
from otel_agent.testing import Canaries, Capture, Standin, capture
from otel_agent.testing.standin import Redacted, Reply, Text, Thinking, ToolUse

from .drivers import Driver
from .ways import CLAUDE


@pytest.mark.parametrize("how", ["plain", "stream", "helper"])
async def test_a_replay_is_byte_identical(driver: Driver, how: str, canaries: Canaries) -> None:
    """Case 068: thinking with its signature, also empty, and redacted thinking go back byte for byte, with and without us."""
    blocks = [
        Thinking(canaries["anthropic.thinking"], signature="sig=="),
        Thinking("", signature="sealed=="),
        Redacted("c2VhbGVk"),
        ToolUse("find", {"q": "naïve"}, id="toolu_1"),
    ]
    tools = [{"name": "find", "input_schema": {"type": "object", "properties": {}}}]

    async def loop() -> list[bytes]:
        with Standin(seed="same", check_replay=True) as standin:
            standin.script("*", [Reply(blocks), Reply([Text("Oslo")])])
            messages = driver.client("anthropic", standin).messages
            options: dict[str, Any] = {
                "model": CLAUDE,
                "max_tokens": 4096,
                "tools": tools,
                "thinking": {"type": "enabled", "budget_tokens": 1024},
            }
            history: list[Any] = [{"role": "user", "content": "Where?"}]
            content = await turn(driver, messages, how, {**options, "messages": history})
            result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Oslo"}
            history += [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
            await driver.done(messages.create(**options, messages=history))
            return [request.body for request in standin.requests]

    bare = await loop()
    with capture() as telemetry, otel_agent.agent_run("loop"):
        assert await loop() == bare
    assert [found.get("otel_agent.replay.items") for found in telemetry.turns] == [None, 3]
    assert (
        not {"otel_agent.replay.edited", "otel_agent.history.prefix_break"} & set(telemetry.turns[1])
        or telemetry.turns[1]["otel_agent.replay.edited"] == 0
    )
    canaries.assert_absent(telemetry.everything())


async def turn(driver: Driver, messages: Any, how: str, options: dict[str, Any]) -> Any:
    """The content of the answer, by one of three ways."""
    if how == "plain":
        return (await driver.done(messages.create(**options))).content
    if how == "helper":
        async with driver.within(messages.stream(**options)) as stream:
            return (await driver.done(stream.get_final_message())).content
    content: dict[int, dict[str, Any]] = {}
    async for event in driver.each(await driver.done(messages.create(stream=True, **options))):
        if event.type == "content_block_start":
            content[event.index] = {key: value for key, value in event.content_block.to_dict().items() if value is not None}
        elif event.type == "content_block_delta":
            _grow(content[event.index], event.delta)
    for block in content.values():
        if isinstance(block.get("input"), str):
            block["input"] = json.loads(block["input"] or "{}")
    return [*content.values()]


def _grow(block: dict[str, Any], delta: Any) -> None:
    name = {"thinking_delta": "thinking", "signature_delta": "signature", "text_delta": "text", "input_json_delta": "input"}[delta.type]
    before = block.get(name) if isinstance(block.get(name), str) else ""
    block[name] = before + (delta.partial_json if name == "input" else getattr(delta, name))


@pytest.mark.parametrize("change", ["dropped", "edited"])
async def test_a_broken_replay_is_a_fact(driver: Driver, change: str, standin: Standin, telemetry: Capture, canaries: Canaries) -> None:
    """Case 068: what the caller drops or edits goes out as the caller has it, and is counted."""
    standin.script(
        "*",
        [Reply([Thinking(canaries["anthropic.thinking"], signature="sig=="), ToolUse("find", {}, id="toolu_1")]), Reply([Text("Oslo")])],
    )
    messages = driver.client("anthropic", standin).messages
    options: dict[str, Any] = {
        "model": CLAUDE,
        "max_tokens": 4096,
        "tools": [{"name": "find", "input_schema": {"type": "object", "properties": {}}}],
    }
    history: list[Any] = [{"role": "user", "content": "Where?"}]
    with otel_agent.agent_run("loop"):
        first = await driver.done(messages.create(**options, messages=history))
        content = [block.to_dict() for block in first.content]
        content = content[1:] if change == "dropped" else [{**content[0], "thinking": "another", "signature": "other=="}, *content[1:]]
        history += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Oslo"}]},
        ]
        await driver.done(messages.create(**options, messages=history))
    assert standin.requests[1].json["messages"][1]["content"][0]["type"] == ("tool_use" if change == "dropped" else "thinking")
    assert telemetry.turns[1][f"otel_agent.replay.{change}"] == 1
    canaries.assert_absent(telemetry.everything())
