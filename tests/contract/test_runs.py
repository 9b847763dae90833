"""Runs: what ties turns and tools together, why a run ended, and what it was allowed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import context as otel_context

import otel_agent
from otel_agent import Budget, BudgetExceeded
from otel_agent.testing import Capture, Standin
from otel_agent.testing.standin import Reply, Text, Thinking, ToolUse, Usage

from .drivers import Driver
from .ways import MESSAGES, SAID

TOOLS: dict[str, Any] = {"tools": [{"name": "find", "input_schema": {"type": "object", "properties": {}}}]}
CALLS = Reply([ToolUse("find", {}, id="toolu_1")], usage=Usage(input=100, output=20))
CUT = Reply([Thinking("on and on")], stop="max_tokens", usage=Usage(input=100, output=512, reasoning=512))
CUT_VISIBLE = Reply([Text("It waits in")], stop="max_tokens", usage=Usage(input=100, output=512))


async def turn(driver: Driver, client: Any, **options: Any) -> Any:
    """One model turn."""
    return await driver.done(client.messages.create(**{**MESSAGES, **TOOLS, **options}))


async def test_a_run_of_two_turns_and_a_tool(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Cases 086, 101: numbers, sums under their own names, the start on record before anything else, everything one trace."""
    standin.script("*", [CALLS, SAID])
    client = driver.client("anthropic", standin)
    find = otel_agent.tool("find")(lambda: "Oslo")
    with otel_agent.agent_run("desk", version="1.2", conversation_id="c-1") as run:
        assert [record["event"] for record in telemetry.records] == ["otel_agent.run_started"]
        first = await turn(driver, client)
        find()
        replies = [
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Oslo"}]},
        ]
        await turn(driver, client, messages=[*MESSAGES["messages"], *replies])
    (record,) = telemetry.runs
    assert record["otel_agent.run.id"] == run.run_id
    assert (record["gen_ai.agent.name"], record["gen_ai.agent.version"], record["gen_ai.conversation.id"]) == ("desk", "1.2", "c-1")
    assert (record["otel_agent.run.turns"], record["otel_agent.run.tool_calls"], record["otel_agent.run.end_reason"]) == (2, 1, "answered")
    assert (record["otel_agent.run.input_tokens"], record["otel_agent.run.output_tokens"]) == (1100, 110)
    assert "gen_ai.usage.input_tokens" not in record
    assert record["otel_agent.run.resent_tokens"] == 100
    assert [turn["otel_agent.run.turn"] for turn in telemetry.turns] == [1, 2]
    assert [turn.get("otel_agent.history.stable_prefix") for turn in telemetry.turns] == [None, 1]
    assert telemetry.tools[0]["gen_ai.tool.call.id"] == "toolu_1"
    assert len({span["trace_id"] for span in telemetry.spans}) == 1
    root = telemetry.spans[-1]
    assert (root["name"], root["kind"], root["parent_id"]) == ("invoke_agent desk", "INTERNAL", None)
    assert {span["parent_id"] for span in telemetry.spans[:-1]} == {root["span_id"]}
    assert all(record["trace_id"] == root["trace_id"] for record in telemetry.records)


REASONS = {
    "answered": ([SAID], {}, "answered", None),
    "still asking": ([CALLS], {}, "turn_limit", False),
    "cut off empty": ([CUT], {}, "token_limit", False),
    "cut off visible": ([CUT_VISIBLE], {}, "answered", True),
    "turns": ([CALLS, CALLS], {"budget": Budget(turns=1)}, "turn_limit", False),
    "tokens": ([CALLS], {"budget": Budget(input_tokens=50)}, "token_limit", False),
    "seconds": ([CALLS], {"budget": Budget(seconds=1e-9)}, "deadline", False),
    "within its budget": ([SAID], {"budget": Budget(turns=3, output_tokens=500)}, "answered", None),
}


@pytest.mark.parametrize("name", REASONS)
async def test_why_it_ended(driver: Driver, name: str, standin: Standin, telemetry: Capture) -> None:
    """Case 116 and users' wish 8: the run's own reason, apart from the last call's; what was left of each budget."""
    steps, options, reason, partial = REASONS[name]
    standin.script("*", steps)
    client = driver.client("anthropic", standin)
    with otel_agent.agent_run("desk", **options):
        for _ in steps:
            await turn(driver, client)
    (record,) = telemetry.runs
    assert (record["otel_agent.run.end_reason"], record.get("otel_agent.run.partial_answer")) == (reason, partial)
    assert telemetry.total("otel_agent.runs", otel_agent__run__end_reason=reason) == 1


async def test_an_empty_truncated_answer(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 116: thinking that ate the whole output is told apart from an ordinary truncation."""
    standin.script("*", [CUT, CUT_VISIBLE])
    client = driver.client("anthropic", standin)
    await turn(driver, client)
    await turn(driver, client)
    facts = [
        (turn["otel_agent.response.truncated"], turn["otel_agent.response.truncated_by"], turn.get("otel_agent.response.empty_truncated"))
        for turn in telemetry.turns
    ]
    assert facts == [(True, "token_limit", True), (True, "token_limit", False)]
    assert telemetry.turns[0]["gen_ai.usage.reasoning.output_tokens"] == telemetry.turns[0]["gen_ai.usage.output_tokens"]


ERRORS = {
    "error": (ValueError("a lantern"), "error", "ValueError"),
    "cancelled": (asyncio.CancelledError(), "cancelled", None),
    "interrupted": (KeyboardInterrupt(), "cancelled", None),
    "over budget": (BudgetExceeded("seconds"), "deadline", "BudgetExceeded"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_exceptions_end_a_run(name: str, telemetry: Capture) -> None:
    """Case 054: the exception goes on, the record has its class and nothing it says."""
    error, reason, kind = ERRORS[name]
    with pytest.raises(type(error)) as raised, otel_agent.agent_run("desk"):
        raise error
    assert raised.value is error
    (record,) = telemetry.runs
    assert (record["otel_agent.run.end_reason"], record.get("error.type")) == (reason, kind)
    assert "lantern" not in telemetry.everything()


def test_the_application_says_why(telemetry: Capture) -> None:
    """Case 091: what only the application knows (a hand-off, waiting for a person) is what it says."""
    with otel_agent.agent_run("desk") as run:
        run.end("handed_off", partial_answer=True)
    (record,) = telemetry.runs
    assert (record["otel_agent.run.end_reason"], record["otel_agent.run.partial_answer"]) == ("handed_off", True)


async def test_budgets_that_raise(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """An enforced budget refuses the next call before anything is sent, for turns and for tools."""
    standin.script("*", [CALLS, CALLS, SAID])
    client = driver.client("anthropic", standin)
    find = otel_agent.tool("find")(lambda: "Oslo")

    @otel_agent.agent_run("desk", budget=Budget(turns=2), on_exceed="raise")
    async def three_turns() -> None:
        for _ in range(3):
            await turn(driver, client)

    @otel_agent.agent_run("desk", budget=Budget(tool_calls=1), on_exceed="raise")
    def two_tools() -> None:
        find()
        find()

    with pytest.raises(BudgetExceeded) as exceeded:
        await three_turns()
    assert exceeded.value.budget == "turns"
    assert len(standin.requests) == len(telemetry.turns) == 2
    with pytest.raises(BudgetExceeded):
        two_tools()
    assert len(telemetry.tools) == 1
    assert [run["otel_agent.run.end_reason"] for run in telemetry.runs] == ["turn_limit", "tool_limit"]
    assert [run["otel_agent.budget.exceeded"] for run in telemetry.runs] == ["turns", "tool_calls"]


async def test_budgets_that_call(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """A function is told once, and may itself use the run; calls go on."""
    standin.script("*", [CALLS, CALLS, SAID])
    client = driver.client("anthropic", standin)
    told: list[str] = []
    notify = otel_agent.tool("notify")(told.append)
    with otel_agent.agent_run("desk", budget=Budget(turns=1), on_exceed=notify):
        for _ in range(3):
            await turn(driver, client)
    assert told == ["turns"]
    assert [tool["gen_ai.tool.name"] for tool in telemetry.tools] == ["notify"]
    assert telemetry.runs[0]["otel_agent.run.end_reason"] == "answered"
    assert telemetry.runs[0]["otel_agent.budget.turns_left"] == -2
    assert telemetry.total("otel_agent.budgets_exceeded") == 1


def test_a_budget_callback_may_wait_for_another_thread(telemetry: Capture) -> None:
    """The function is called outside our lock: waiting there for a tool of the same run is no deadlock."""
    done = threading.Event()
    slow = otel_agent.tool("slow")(lambda: done.wait(0.05))

    def wait(_budget: str) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(run.bind(slow)).result(5)

    with otel_agent.agent_run("desk", budget=Budget(tool_calls=1), on_exceed=wait) as run:
        slow()
        slow()
    assert len(telemetry.tools) == 3


@pytest.mark.parametrize("limits", [{"turns": 0}, {"seconds": -1}, {"input_tokens": 0}])
def test_a_budget_must_be_positive(limits: dict[str, Any]) -> None:
    """A limit of nothing is a mistake, said where it is written."""
    with pytest.raises(ValueError, match="positive"):
        Budget(**limits)


async def test_nested_runs(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 086: an inner run has its own totals and is a child of the outer one, whose totals it leaves alone."""
    standin.script("*", [SAID, SAID, SAID])
    client = driver.client("anthropic", standin)
    with otel_agent.agent_run("outer"):
        await turn(driver, client)
        async with otel_agent.agent_run("inner"):
            await turn(driver, client)
        await turn(driver, client)
    assert [(run["gen_ai.agent.name"], run["otel_agent.run.turns"], run["otel_agent.run.input_tokens"]) for run in telemetry.runs] == [
        ("inner", 1, 1000),
        ("outer", 2, 2000),
    ]
    assert [(turn["gen_ai.agent.name"], turn["otel_agent.run.turn"]) for turn in telemetry.turns] == [
        ("outer", 1),
        ("inner", 1),
        ("outer", 2),
    ]
    spans = {span["span_id"]: span["name"] for span in telemetry.spans}
    (inner,) = [span for span in telemetry.spans if span["name"] == "invoke_agent inner"]
    assert spans[inner["parent_id"]] == "invoke_agent outer"


async def test_concurrent_runs_do_not_mix(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 070: eight runs at once, in tasks or in threads, each with its own turns, tools and totals."""
    standin.script("*", [SAID], after="repeat")
    client = driver.client("anthropic", standin)
    find = otel_agent.tool("find")(lambda order: order)

    async def body(number: int) -> None:
        with otel_agent.agent_run(f"agent-{number}"):
            for order in range(number + 1):
                await turn(driver, client)
                find(order)

    if driver.is_async:
        await asyncio.gather(*map(body, range(8)))
    else:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: asyncio.run(body(number)), range(8)))
    runs = {run["gen_ai.agent.name"]: run for run in telemetry.runs}
    for number in range(8):
        run = runs[f"agent-{number}"]
        assert (run["otel_agent.run.turns"], run["otel_agent.run.tool_calls"], run["otel_agent.run.input_tokens"]) == (
            number + 1,
            number + 1,
            1000 * (number + 1),
        )
        turns = [turn for turn in telemetry.turns if turn["gen_ai.agent.name"] == f"agent-{number}"]
        assert {turn["otel_agent.run.id"] for turn in turns} == {run["otel_agent.run.id"]}
        assert [turn["otel_agent.run.turn"] for turn in turns] == [*range(1, number + 2)]


async def test_decorated_functions(telemetry: Capture) -> None:
    """Case 018: each call of a decorated function is a run of its own, whatever the function's kind; generators run in their run."""
    find = otel_agent.tool("find")(lambda: "Oslo")

    @otel_agent.agent_run("plain")
    def plain() -> str:
        return find()

    @otel_agent.agent_run("waiting")
    async def waiting() -> str:
        await asyncio.sleep(0)
        return find()

    @otel_agent.agent_run("steps")
    def steps() -> Iterator[str]:
        yield find()
        yield find()

    @otel_agent.agent_run("events")
    async def events() -> AsyncIterator[str]:
        yield find()
        yield find()

    before = otel_context.get_current()
    assert (plain(), plain(), await waiting(), list(steps()), [event async for event in events()]) == (
        "Oslo",
        "Oslo",
        "Oslo",
        ["Oslo"] * 2,
        ["Oslo"] * 2,
    )
    assert otel_context.get_current() == before
    assert [(run["gen_ai.agent.name"], run["otel_agent.run.tool_calls"]) for run in telemetry.runs] == [
        ("plain", 1),
        ("plain", 1),
        ("waiting", 1),
        ("steps", 2),
        ("events", 2),
    ]
    assert len({run["otel_agent.run.id"] for run in telemetry.runs}) == 5


async def test_a_generator_never_leaks_its_context(telemetry: Capture) -> None:
    """Cases 010, 087: between steps, after a break and after a drop, the consumer's own context is in force."""

    @otel_agent.agent_run("steps")
    async def events() -> AsyncIterator[int]:
        for number in range(10):
            yield number

    before = otel_context.get_current()
    async for number in events():
        assert otel_context.get_current() == before
        if number == 2:
            break
    assert otel_context.get_current() == before
    await asyncio.sleep(0)
    assert [run["otel_agent.run.end_reason"] for run in telemetry.runs] in ([], ["cancelled"])


async def test_calls_outside_a_run(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Turns and tools without a run are recorded, and say nothing of one."""
    standin.script("*", [SAID])
    await turn(driver, driver.client("anthropic", standin))
    otel_agent.tool("find")(lambda: 1)()
    for record in (*telemetry.turns, *telemetry.tools):
        assert not [name for name in record if name.startswith(("otel_agent.run.", "gen_ai.agent."))]
        assert "otel_agent.tool.repeat" not in record


async def test_usage_that_is_missing_in_a_run(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 040: sums of nothing are absent, and the turns without usage are counted."""
    standin.script("*", [Reply([Text("Oslo")], usage=None)])
    with otel_agent.agent_run("desk"):
        client = driver.client("openai", standin)
        await driver.done(client.chat.completions.create(model="gpt-5.5", messages=MESSAGES["messages"]))
    (record,) = telemetry.runs
    assert record["otel_agent.run.usage_missing_turns"] == 1
    assert not [name for name in record if name.endswith("_tokens")]
