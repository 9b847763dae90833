"""Every kind of callable stays what it is, as a tool and as a run: called, awaited, sent to, thrown into, looked at."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest

import otel_agent
from otel_agent.testing import Capture


def returned(value: Any) -> Callable[[], Any]:
    """Make a tool that returns ``value``."""

    def report() -> Any:
        return value

    return report


class Desk:
    """Methods of every kind."""

    @otel_agent.tool
    def bound(self, order: str) -> str:
        """Plain."""
        return f"bound {order}"

    @otel_agent.tool
    async def waiting(self, order: str) -> str:
        """Async."""
        return f"waiting {order}"

    @staticmethod
    @otel_agent.tool
    def static(order: str) -> str:
        """Static."""
        return f"static {order}"

    @classmethod
    @otel_agent.tool
    def of_class(cls, order: str) -> str:
        """Of the class."""
        return f"{cls.__name__} {order}"


async def test_methods(telemetry: Capture) -> None:
    """Case 018: bound, async, static and class methods, with the argument names of the signature and without the instance."""
    desk = Desk()
    assert (desk.bound("A1"), await desk.waiting("A1"), desk.static("A1"), desk.of_class("A1")) == (
        "bound A1", "waiting A1", "static A1", "Desk A1",
    )  # fmt: skip
    assert [record["gen_ai.tool.name"] for record in telemetry.tools] == ["bound", "waiting", "static", "of_class"]
    assert all(record["otel_agent.tool.argument_names"] == ["order"] for record in telemetry.tools)
    assert len({tuple(record["otel_agent.tool.argument_digests"]) for record in telemetry.tools}) == 1


class Counter:
    """The decorator above the others, and a receiver by another name."""

    @otel_agent.tool
    @staticmethod
    def static(order: str) -> str:
        """Static."""
        return f"static {order}"

    @otel_agent.tool
    @classmethod
    def made(cls, order: str) -> str:
        """Of the class."""
        return f"{cls.__name__} {order}"

    @otel_agent.tool("of_class", effect="read")
    @classmethod
    async def of_class(cls, order: str) -> str:
        """Of the class, async."""
        return f"{cls.__name__} {order}"

    @otel_agent.tool
    def other(this, order: str) -> str:  # noqa: N805 - any name will do
        """Bound."""
        return f"{type(this).__name__} {order}"


async def test_methods_decorated_from_above(telemetry: Capture) -> None:
    """Case 018: the order of the decorators does not matter, nor the receiver's name."""
    assert (Counter.static("A1"), Counter.made("A1")) == ("static A1", "Counter A1")
    assert (await Counter().of_class("A1"), Counter().other("A1")) == ("Counter A1", "Counter A1")
    assert [record["gen_ai.tool.name"] for record in telemetry.tools] == ["static", "made", "of_class", "other"]
    assert all(record["otel_agent.tool.argument_names"] == ["order"] for record in telemetry.tools)
    assert all(record["otel_agent.tool.undeclared_arguments"] == 0 for record in telemetry.tools)
    with pytest.raises(TypeError, match="a function or a name, not int"):
        otel_agent.tool(7)  # type: ignore[call-overload]


def plain(order: str, *, limit: int = 3) -> str:
    """Plain."""
    return f"{order} {limit}"


async def coroutine(order: str, *, limit: int = 3) -> str:
    """Coroutine."""
    return f"{order} {limit}"


def generator(order: str, *, limit: int = 3) -> Generator[str, str, str]:
    """Generator."""
    got = yield f"{order} {limit}"
    yield got
    return "end"


async def async_generator(order: str, *, limit: int = 3) -> AsyncGenerator[str, str]:
    """Async generator."""
    got = yield f"{order} {limit}"
    yield got


def returns_awaitable(order: str, *, limit: int = 3) -> Any:
    """Plain, but what it returns is awaited."""
    return coroutine(order, limit=limit)


KINDS = (plain, coroutine, generator, async_generator, returns_awaitable)
QUESTIONS = (
    inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.isfunction, callable,
    inspect.signature, inspect.getdoc, lambda function: function.__name__, lambda function: function.__qualname__,
    lambda function: function.__module__, lambda function: function.__annotations__, lambda function: function.__kwdefaults__,
)  # fmt: skip


@pytest.mark.parametrize("function", KINDS, ids=lambda function: function.__name__)
def test_inspect_sees_the_same(function: Any, telemetry: Capture) -> None:
    """Case 018: kind, signature, name and documentation are those of the function."""
    watched = otel_agent.tool(function)
    assert [ask(watched) for ask in QUESTIONS] == [ask(function) for ask in QUESTIONS]
    decorated = otel_agent.agent_run("kinds")(function)
    assert [ask(decorated) for ask in QUESTIONS[:3]] == [ask(function) for ask in QUESTIONS[:3]]
    assert telemetry.tools == []


@pytest.mark.parametrize("wrap", [otel_agent.tool, otel_agent.agent_run("kinds")], ids=["tool", "run"])
async def test_every_kind_behaves_as_before(wrap: Any, telemetry: Capture) -> None:
    """Case 018: what is called, awaited, sent and iterated gives what the bare function gives."""
    assert wrap(plain)("A1", limit=2) == "A1 2"
    assert await wrap(coroutine)("A1") == "A1 3"
    assert await wrap(returns_awaitable)("A1") == "A1 3"
    steps = wrap(generator)("A1")
    assert inspect.isgenerator(steps)
    assert (next(steps), steps.send("sent")) == ("A1 3", "sent")
    with pytest.raises(StopIteration) as stopped:
        next(steps)
    assert stopped.value.value == "end"
    events = wrap(async_generator)("A1")
    assert inspect.isasyncgen(events)
    assert (await anext(events), await events.asend("sent")) == ("A1 3", "sent")
    assert [event async for event in events] == []
    assert len(telemetry.tools) + len(telemetry.runs) == 5


@pytest.mark.parametrize("wrap", [otel_agent.tool, otel_agent.agent_run("kinds")], ids=["tool", "run"])
async def test_what_is_thrown_in_reaches_the_generator(wrap: Any, telemetry: Capture) -> None:
    """Case 018: an exception thrown into a watched generator arrives at its ``yield``; closing runs its ``finally``, in its context."""
    closed = []

    @wrap
    def steps() -> Generator[str, None, None]:
        try:
            try:
                yield "first"
            except LookupError:
                yield "caught"
            yield "last"
        finally:
            closed.append("steps")

    @wrap
    async def events() -> AsyncGenerator[str, None]:
        try:
            try:
                yield "first"
            except LookupError:
                yield "caught"
            yield "last"
        finally:
            closed.append("events")

    sync = steps()
    assert (next(sync), sync.throw(LookupError("x"))) == ("first", "caught")
    sync.close()
    made = events()
    assert (await anext(made), await made.athrow(LookupError("x"))) == ("first", "caught")
    await made.aclose()
    assert closed == ["steps", "events"]
    ends = [record["otel_agent.tool.outcome"] for record in telemetry.tools] + [run["otel_agent.run.end_reason"] for run in telemetry.runs]
    assert ends == ["cancelled", "cancelled"]


@pytest.mark.parametrize("function", [generator, async_generator, coroutine, plain], ids=lambda function: function.__name__)
def test_wrong_arguments_are_refused_as_before(function: Any, telemetry: Capture) -> None:
    """Case 018: a call that does not fit the signature raises ``TypeError``, when it would without us; half-made executions are ended."""
    watched = otel_agent.tool(function)
    if inspect.iscoroutinefunction(function):
        with pytest.raises(TypeError):
            asyncio.run(watched("A1", wrong=1))
    else:
        with pytest.raises(TypeError):
            watched("A1", wrong=1)
    assert {record["otel_agent.tool.outcome"] for record in telemetry.tools} <= {"error"}


async def test_tools_inside_steps_are_children(telemetry: Capture) -> None:
    """Cases 018, 079: spans made inside a generator are its children, and the consumer's own are not."""
    inner = otel_agent.tool("inner")(returned(1))
    outside = otel_agent.tool("outside")(returned(1))

    @otel_agent.tool
    def steps() -> Generator[int, None, None]:
        yield inner()
        yield inner()

    @otel_agent.tool
    async def events() -> AsyncGenerator[int, None]:
        yield inner()
        yield inner()

    with otel_agent.agent_run("parent"):
        for _ in steps():
            outside()
        async for _ in events():
            outside()
    spans = {span["span_id"]: span for span in telemetry.spans}
    parents = [(span["name"], spans[span["parent_id"]]["name"]) for span in telemetry.spans if span["parent_id"]]
    assert parents == [
        *(("execute_tool inner", "execute_tool steps"), ("execute_tool outside", "invoke_agent parent")) * 2,
        ("execute_tool steps", "invoke_agent parent"),
        *(("execute_tool inner", "execute_tool events"), ("execute_tool outside", "invoke_agent parent")) * 2,
        ("execute_tool events", "invoke_agent parent"),
    ]
