"""Threads, pools and tasks: parents, separate ids, no cross-talk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import anthropic
import pytest

import otel_agent
from otel_agent.testing import Capture, Standin, capture

ASK: Any = {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": [{"role": "user", "content": "Where?"}]}


@pytest.fixture
def telemetry() -> Iterator[Capture]:
    """What was recorded."""
    with capture() as captured:
        yield captured


def parents(telemetry: Capture, name: str) -> set[Any]:
    """Parents of the spans of this name."""
    return {span["parent_id"] for span in telemetry.spans if span["name"] == name}


def only(telemetry: Capture, name: str) -> Any:
    """The one span of this name."""
    (span,) = [span for span in telemetry.spans if span["name"] == name]
    return span


@otel_agent.tool
def weigh(parcel: str) -> str:
    """A tool."""
    return f"{parcel} weighs little"


@otel_agent.tool
async def measure(parcel: str) -> str:
    """A tool that awaits."""
    await asyncio.sleep(0)
    return f"{parcel} is small"


@pytest.mark.parametrize("how", ["copied", "bound"])
def test_tools_in_a_pool_are_children_of_their_step(how: str, telemetry: Capture) -> None:
    """Case 070: a pool carries no context; a copied one or ``bind`` does."""
    with otel_agent.agent_run("keeper") as active, ThreadPoolExecutor(2) as pool:
        if how == "copied":
            results = [pool.submit(copy_context().run, weigh, f"p{n}") for n in range(2)]
        else:
            results = [pool.submit(active.bind(weigh), f"p{n}") for n in range(2)]
        assert [result.result() for result in results] == ["p0 weighs little", "p1 weighs little"]
    assert parents(telemetry, "execute_tool weigh") == {only(telemetry, "invoke_agent keeper")["span_id"]}
    assert len({span["span_id"] for span in telemetry.spans}) == 3
    assert len({span["trace_id"] for span in telemetry.spans}) == 1
    assert {tool["otel_agent.run.id"] for tool in telemetry.tools} == {telemetry.runs[0]["otel_agent.run.id"]}


def test_tools_in_a_bare_pool_find_the_run_that_waits(telemetry: Capture, provider: Standin) -> None:
    """Case 070: a bare thread is told by the call that the model asked for."""
    tools = [{"name": "find_order", "input_schema": {"type": "object", "properties": {"order": {"type": "string"}}}}]

    @otel_agent.tool
    def find_order(order: str) -> str:
        return f"{order} is in Oslo"

    client = anthropic.Anthropic(base_url=provider.url(), api_key="none")
    with otel_agent.agent_run("keeper"), client, ThreadPoolExecutor(1) as pool:
        answer = client.messages.create(tools=tools, **ASK)
        (use,) = [block for block in answer.content if block.type == "tool_use"]
        pool.submit(find_order, "A1").result()
    assert parents(telemetry, "execute_tool find_order") == {only(telemetry, "invoke_agent keeper")["span_id"]}
    assert telemetry.tools[0]["gen_ai.tool.call.id"] == use.id


async def test_gathered_tools_and_calls(telemetry: Capture, provider: Standin) -> None:
    """Case 070: two tools and two calls under ``asyncio.gather``, in two runs at once."""

    async def one(name: str) -> None:
        async with otel_agent.agent_run(name), anthropic.AsyncAnthropic(base_url=provider.url(), api_key="none") as client:
            calls = [client.messages.create(**ASK) for _ in range(2)]
            await asyncio.gather(measure("a"), measure("b"), *calls)

    await asyncio.gather(one("left"), one("right"))
    assert len(telemetry.turns) == len(telemetry.tools) == 4
    for name in ("left", "right"):
        own = only(telemetry, f"invoke_agent {name}")
        children = [span for span in telemetry.spans if span["parent_id"] == own["span_id"]]
        assert len(children) == 4
        assert {span["trace_id"] for span in children} == {own["trace_id"]}
        assert {span["attributes"]["gen_ai.agent.name"] for span in children} == {name}


def test_many_threads_at_once(telemetry: Capture, provider: Standin) -> None:
    """Cases 070, 077: every call is counted once, in its own run."""

    def work(number: int) -> None:
        with otel_agent.agent_run(f"agent{number}"), anthropic.Anthropic(base_url=provider.url(), api_key="none") as client:
            for _ in range(5):
                client.messages.create(**ASK)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [run["otel_agent.run.turns"] for run in telemetry.runs] == [5] * 8
    assert telemetry.total("otel_agent.turns") == 40
    turns = {(turn["gen_ai.agent.name"], turn["otel_agent.run.turn"]) for turn in telemetry.turns}
    assert len(turns) == 40
