"""What only the asynchronous loop has: cancellation, tools of both kinds, several runs on one event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar
from typing import Any

import pytest
from talking import ADAPTERS, DONE, adapter, calling, client_of, scripted, unanswered

from otel_agent.instrument.state import current_run
from otel_agent.loop import AsyncLoop, Loop, Tool, Toolbox
from otel_agent.testing.standin import Reply, SlowReply, Text, Thinking, ToolUse

pytestmark = pytest.mark.parametrize("api", ADAPTERS)

ORDER = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}

customer: ContextVar[str] = ContextVar("customer", default="")
"""The application's own context, which tools are to find."""


def reading(name: str, function: Any) -> Tool:
    return Tool(name, function, parameters=ORDER, effect="read")


async def answered(order: str) -> str:
    """A read that ends at once."""
    return f"order {order} was sent"


async def test_a_cancelled_run_leaves_a_history_that_can_be_gone_on_with(api: str) -> None:
    """Of two reads at once the one that ended keeps its result."""
    begun = asyncio.Event()

    async def hang(order: str) -> str:
        begun.set()
        await asyncio.sleep(60)
        return order

    tools = Toolbox([reading("find", answered), reading("hang", hang)])
    calls = [ToolUse("hang", {"order": "A"}, id="call_hang"), ToolUse("find", {"order": "A"}, id="call_find")]
    history: list[Any] = []
    with scripted([calling(*calls), DONE]) as (standin, telemetry):
        loop = AsyncLoop(adapter(api, client_of(api, standin, True)), tools)
        task = asyncio.create_task(loop.run("Do it.", history))
        await asyncio.wait_for(begun.wait(), 10)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await loop.run("Go on.", history)).answer == "Done."
        said = {result.call_id: str(result.content) for result in standin.requests[1].tool_results}
        assert unanswered(standin.requests[1]) == set()
        assert "order A was sent" in said["call_find"]
        assert said["call_hang"] == "The call was interrupted. Whether it took effect is not known."
        assert [run["otel_agent.run.end_reason"] for run in telemetry.runs] == ["cancelled", "answered"]
        outcomes = {tool["gen_ai.tool.call.id"]: tool["otel_agent.tool.outcome"] for tool in telemetry.tools}
        assert outcomes == {"call_find": "ok", "call_hang": "cancelled"}


async def test_a_run_cancelled_while_the_model_works_has_no_half_turn(api: str) -> None:
    """What did not come is not in the history."""
    history: list[Any] = []
    with scripted([SlowReply(DONE, before=30), DONE]) as (standin, telemetry):
        loop = AsyncLoop(adapter(api, client_of(api, standin, True)), Toolbox([]))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.run("Do it.", history), 0.3)
        assert len(history) == 1
        assert (await loop.run("Go on.", history)).answer == "Done."
        assert [run["otel_agent.run.end_reason"] for run in telemetry.runs] == ["cancelled", "answered"]
        assert [turn.get("error.type") for turn in telemetry.turns] == ["CancelledError", None]


async def test_plain_functions_run_in_threads_with_their_context(api: str) -> None:
    """Beside coroutine functions, and without holding up the event loop."""
    barrier = threading.Barrier(2, timeout=10)
    runs: list[Any] = []
    customers: list[str] = []

    def plain(order: str) -> str:
        runs.append(current_run())
        customers.append(customer.get())
        barrier.wait()
        time.sleep(0.2)
        return order

    async def waiting(order: str) -> str:
        runs.append(current_run())
        customers.append(customer.get())
        await asyncio.to_thread(barrier.wait)
        return order

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    tools = Toolbox([reading("plain", plain), reading("waiting", waiting)])
    steps = [calling(ToolUse("plain", {"order": "A"}), ToolUse("waiting", {"order": "B"})), DONE]
    with scripted(steps) as (standin, telemetry):
        ticking = asyncio.create_task(tick())
        customer.set("4711")
        assert (await AsyncLoop(adapter(api, client_of(api, standin, True)), tools).run("Do it.")).answer == "Done."
        ticking.cancel()
        assert ticks >= 5
        assert [tool["otel_agent.tool.outcome"] for tool in telemetry.tools] == ["ok", "ok"]
        assert customers == ["4711", "4711"]
        assert {run.run_id for run in runs} == {telemetry.runs[0]["otel_agent.run.id"]}


async def test_a_plain_function_may_return_a_coroutine(api: str) -> None:
    """It is awaited, and the execution lasts as long as it does."""
    tools = Toolbox([reading("find", lambda order: answered(order))])  # noqa: PLW0108 - not a coroutine function itself
    with scripted([calling(ToolUse("find", {"order": "A"})), DONE]) as (standin, telemetry):
        await AsyncLoop(adapter(api, client_of(api, standin, True)), tools).run("Do it.")
        assert "order A was sent" in str(standin.requests[1].tool_results)
        assert [tool["otel_agent.tool.outcome"] for tool in telemetry.tools] == ["ok"]


def test_a_coroutine_in_the_synchronous_loop_is_a_failure(api: str) -> None:
    """Not a result that shows the object."""
    tools = Toolbox([reading("find", lambda order: answered(order))])  # noqa: PLW0108 - not a coroutine function itself
    with scripted([calling(ToolUse("find", {"order": "A"})), DONE]) as (standin, _):
        Loop(adapter(api, client_of(api, standin, False)), tools).run("Do it.")
        assert "The tool failed with TypeError." in str(standin.requests[1].tool_results)


def test_a_tool_cancelled_in_a_thread_does_not_end_the_run(api: str) -> None:
    """It speaks of something of its own."""

    def gone(order: str) -> str:
        raise asyncio.CancelledError

    with scripted([calling(ToolUse("gone", {"order": "A"})), DONE]) as (standin, telemetry):
        Loop(adapter(api, client_of(api, standin, False)), Toolbox([Tool("gone", gone, parameters=ORDER)])).run("Do it.")
        assert "was interrupted" in str(standin.requests[1].tool_results)
        assert telemetry.runs[0]["otel_agent.run.end_reason"] == "answered"


async def test_a_tool_that_was_cancelled_by_itself_does_not_end_the_run(api: str) -> None:
    """Only a cancellation of the run is one."""

    async def gone(order: str) -> str:
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task
        return order

    tools = Toolbox([Tool("gone", gone, parameters=ORDER, effect="write")])
    with scripted([calling(ToolUse("gone", {"order": "A"})), DONE]) as (standin, telemetry):
        assert (await AsyncLoop(adapter(api, client_of(api, standin, True)), tools).run("Do it.")).answer == "Done."
        assert "was interrupted" in str(standin.requests[1].tool_results)
        assert telemetry.runs[0]["otel_agent.run.end_reason"] == "answered"


async def test_no_more_calls_at_once_than_workers(api: str) -> None:
    """Coroutine functions count too."""
    running, most = 0, 0

    async def count(order: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return order

    steps = [calling(*(ToolUse("count", {"order": str(number)}) for number in range(7))), DONE]
    with scripted(steps) as (standin, _):
        await AsyncLoop(adapter(api, client_of(api, standin, True)), Toolbox([reading("count", count)], workers=3)).run("Do it.")
        assert most == 3


async def test_runs_side_by_side_keep_apart(api: str) -> None:
    """One loop object, one event loop, four runs: every tool finds its own."""

    def answer(request: Any) -> Reply:
        if request.answers_tools:
            return Reply([Text(request.tool_results[-1].content if api != "messages" else str(request.tool_results[-1].content))])
        return Reply([Thinking("Hm."), ToolUse("find", {"order": request.last_user_text})])

    async def find(order: str) -> str:
        await asyncio.sleep(0.05)
        return f"{order} in {current_run().run_id}"

    with scripted(answer) as (standin, telemetry):
        loop = AsyncLoop(adapter(api, client_of(api, standin, True)), Toolbox([reading("find", find)]))
        outcomes = await asyncio.gather(*(loop.run(f"order-{number}") for number in range(4)))
        assert [outcome.answer.split(" in ")[0] for outcome in outcomes] == [f"order-{number}" for number in range(4)]
        ids = {outcome.answer.split(" in ")[1] for outcome in outcomes}
        assert ids == {run["otel_agent.run.id"] for run in telemetry.runs}
        assert [run["otel_agent.run.tool_calls"] for run in telemetry.runs] == [1] * 4


async def test_a_client_of_the_other_kind_is_refused(api: str) -> None:
    """At the first request, before anything is lost in it."""
    with scripted([DONE, DONE]) as (standin, _):
        with pytest.raises(TypeError, match="AsyncLoop an asynchronous one"):
            await AsyncLoop(adapter(api, client_of(api, standin, False)), Toolbox([])).run("Do it.")
        with pytest.raises(TypeError, match="Loop takes a synchronous client"):
            Loop(adapter(api, client_of(api, standin, True)), Toolbox([])).run("Do it.")


def test_a_coroutine_function_needs_the_asynchronous_loop(api: str) -> None:
    """Said where the loop is made."""
    with scripted([]) as (standin, _), pytest.raises(TypeError, match="AsyncLoop"):
        Loop(adapter(api, client_of(api, standin, False)), Toolbox([reading("find", answered)]))
