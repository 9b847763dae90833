"""Tools: every outcome, every kind of callable, and nothing of what they were given or gave."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, NoReturn

import pytest

import otel_agent
from otel_agent import Budget
from otel_agent.testing import Canaries, Capture, Standin

from .test_tool_kinds import coroutine, plain


@dataclass
class Result:
    """A framework's result object."""

    isError: bool = False  # noqa: N815 - MCP's spelling
    status: Any = None


class Status(StrEnum):
    FAILED = "failed"


class Lazy:
    """A row whose attributes are queries."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)

    @property
    def status(self) -> str:
        raise AssertionError("status")


def returned(value: Any) -> Callable[[], Any]:
    """A tool that returns ``value``."""

    def report() -> Any:
        return value

    return report


def raised(error: BaseException) -> Callable[[], NoReturn]:
    """A tool that raises ``error``."""

    def report() -> NoReturn:
        raise error

    return report


OUTCOMES = {
    "plain": (returned({"order": "A1"}), "ok", None),
    "none": (returned(None), "ok", None),
    "zero": (returned({"success": 0}), "ok", None),
    "text": (returned("error: not found"), "ok", None),
    "mcp": (returned(Result(isError=True)), "error", "tool_error"),
    "mcp dict": (returned({"isError": True, "content": []}), "error", "tool_error"),
    "anthropic": (returned({"type": "tool_result", "is_error": True}), "error", "tool_error"),
    "json-rpc": (returned({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}), "error", "tool_error"),
    "agno": (returned(Result(status="failure")), "error", "tool_error"),
    "status of an enum": (returned(Result(status=Status.FAILED)), "error", "tool_error"),
    "lazy": (returned(Lazy()), "ok", None),
    "bedrock": (returned({"toolUseId": "t1", "status": "error"}), "error", "tool_error"),
    "exception": (raised(LookupError("no such order")), "error", "LookupError"),
    "timeout": (raised(TimeoutError("late")), "timeout", "TimeoutError"),
    "cancelled": (raised(asyncio.CancelledError()), "cancelled", "CancelledError"),
    "interrupt": (raised(KeyboardInterrupt()), "cancelled", "KeyboardInterrupt"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes(name: str, telemetry: Capture) -> None:
    """Cases 071, 119: failures that a protocol marks are errors, on span, record and metric; other return values are not interpreted."""
    function, outcome, error = OUTCOMES[name]
    watched = otel_agent.tool("report")(function)
    if outcome == "ok" or error == "tool_error":
        assert watched() is function()
    else:
        with pytest.raises(BaseException) as caught:
            watched()
        assert type(caught.value).__name__ == error
    (record,) = telemetry.tools
    assert (record["otel_agent.tool.outcome"], record.get("error.type")) == (outcome, error)
    assert telemetry.spans[0]["status"] == ("UNSET" if outcome == "ok" else "ERROR")
    assert telemetry.spans[0]["description"] is None
    assert telemetry.total("otel_agent.tool_executions", otel_agent__tool__outcome=outcome) == 1
    assert telemetry.total("gen_ai.execute_tool.duration", error__type=error) == 1


def test_a_predicate_says_otherwise(quiet_telemetry: Capture) -> None:
    """Case 071: a team's own reading of a result counts; one that fails is swallowed, and the call is ok."""
    strict = otel_agent.tool("strict", failed=lambda result: not result["success"])(returned({"success": 0}))
    faulty = otel_agent.tool("faulty", failed=lambda result: result["missing"])(returned({"success": 0}))
    assert strict() == faulty() == {"success": 0}
    assert [record["otel_agent.tool.outcome"] for record in quiet_telemetry.tools] == ["error", "ok"]


def test_an_unreadable_result_is_a_result(quiet_telemetry: Capture) -> None:
    """Case 075: a result whose attributes raise is handed on; the execution is recorded."""

    class Lazy:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    lazy = Lazy()
    assert otel_agent.tool("lazy")(returned(lazy))() is lazy
    assert [record["otel_agent.tool.outcome"] for record in quiet_telemetry.tools] == ["ok"]


class Untouchable:
    """An object of a user's that must not be copied, pickled, compared, walked or turned into text."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.model = object()

    def _refuse(self, *_args: Any) -> NoReturn:
        raise AssertionError("a user's object was touched")

    __copy__ = __deepcopy__ = __reduce_ex__ = __getstate__ = __repr__ = __str__ = __iter__ = __len__ = __eq__ = __format__ = _refuse
    __hash__ = None  # type: ignore[assignment]


def test_a_users_objects_are_left_alone(telemetry: Capture) -> None:
    """Case 075: a state that holds locks and models is neither copied nor pickled nor stringified, as argument or as result."""
    state = Untouchable()

    @otel_agent.tool
    def advance(state: Any, step: int) -> Any:
        assert step == 1
        return state

    with otel_agent.agent_run("graph"):
        assert advance(state, step=1) is state
        assert advance(state=state, step=1) is state
    assert [record["otel_agent.tool.outcome"] for record in telemetry.tools] == ["ok", "ok"]


async def test_sets_of_tools(telemetry: Capture) -> None:
    """A dict, a list, a tuple, a partial, a callable object; nothing watched is never silent success."""

    class Callable_:  # noqa: N801
        async def __call__(self, order: str) -> str:
            return f"called {order}"

    by_name = otel_agent.wrap_tools({"find": plain, "wait": coroutine})
    assert (by_name["find"]("A1"), await by_name["wait"]("A1")) == ("A1 3", "A1 3")
    assert [tool("A1") for tool in otel_agent.wrap_tools((plain,))] == ["A1 3"]
    assert type(otel_agent.wrap_tools([plain])) is list
    assert otel_agent.wrap_tools({"half": partial(plain, limit=9)})["half"]("A1") == "A1 9"
    assert await otel_agent.wrap_tools({"object": Callable_()})["object"]("A1") == "called A1"
    assert [record["gen_ai.tool.name"] for record in telemetry.tools] == ["find", "wait", "plain", "half", "object"]
    with pytest.raises(ValueError, match="no tool"):
        otel_agent.wrap_tools({})
    with pytest.raises(TypeError):
        otel_agent.wrap_tools(3)


SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"], "additionalProperties": False}


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_dispatcher(is_async: bool, telemetry: Capture, canaries: Canaries) -> None:
    """Cases 071, 094: declared tools by name, arguments as mapping or JSON text; a name the model made up is kept nowhere."""
    made_up = canaries["tool.arguments"]

    def dispatch(name: str, arguments: Any) -> Any:
        if name != "find_order":
            raise LookupError(name)
        return json.loads(arguments) if isinstance(arguments, str) else arguments

    async def dispatch_async(name: str, arguments: Any) -> Any:
        return dispatch(name, arguments)

    watched = otel_agent.wrap_dispatcher(dispatch_async if is_async else dispatch, {"find_order": SCHEMA})

    async def call(*args: Any, **kwargs: Any) -> Any:
        result = watched(*args, **kwargs)
        return await result if is_async else result

    assert await call("find_order", {"order": "A1"}) == {"order": "A1"}
    assert await call("find_order", arguments='{"order": "A1"}') == {"order": "A1"}
    assert await call("find_order", {"order": 1}) == {"order": 1}
    for name in (made_up, "\ud83e", ""):
        with pytest.raises(LookupError):
            await call(name, {"order": "A1"})
    records = telemetry.tools
    assert [record["otel_agent.tool.outcome"] for record in records] == ["ok", "ok", "ok", "unknown_tool", "unknown_tool", "unknown_tool"]
    assert [record["gen_ai.tool.name"] for record in records] == ["find_order"] * 3 + ["_OTHER"] * 3
    assert [record["otel_agent.tool.validation"] for record in records[:3]] == ["passed", "passed", "failed"]
    assert records[0]["otel_agent.tool.arguments_digest"] == records[1]["otel_agent.tool.arguments_digest"]
    assert canaries.find_in(telemetry.everything()) == []


def test_arguments_that_do_not_fit_the_schema(telemetry: Capture) -> None:
    """Case 054: a failure after a failed validation is an invalid call; violations are counted, never quoted."""

    def find_order(**given: Any) -> str:
        if "order" not in given:
            raise KeyError("order")
        return "found"

    watched = otel_agent.tool(schema=SCHEMA)(find_order)
    with pytest.raises(KeyError):
        watched(lantern="harbour", ledger=1)
    (record,) = telemetry.tools
    assert (record["otel_agent.tool.outcome"], record["otel_agent.tool.validation_errors"]) == ("invalid_arguments", 2)
    assert record["otel_agent.tool.undeclared_arguments"] == 2
    assert "lantern" not in telemetry.everything()
    assert "harbour" not in telemetry.everything()


def test_a_schema_is_never_completed_from_the_network(quiet_telemetry: Capture, standin: Standin) -> None:
    """Case 061: a reference to another document is not fetched; the arguments are digested, their validation skipped."""
    remote = {"type": "object", "properties": {"order": {"$ref": f"{standin.url()}/order.json"}}}
    assert otel_agent.tool(schema=remote)(plain)(order="A1") == "A1 3"
    assert standin.requests == ()
    (record,) = quiet_telemetry.tools
    assert record["otel_agent.tool.validation"] == "skipped"
    assert record["otel_agent.tool.argument_names"] == ["order"]
    with pytest.raises(TypeError, match="mapping, not list"):
        otel_agent.tool(schema=["order"])(plain)


# Repeats


def test_three_different_files_are_no_repeat(telemetry: Capture) -> None:
    """Case 088: the key is the tool and its arguments, not its result."""
    attach = otel_agent.tool("attach")(lambda file: file is not None)
    with otel_agent.agent_run("files"):
        assert [attach(name) for name in "abc"] == [True] * 3
    assert [record["otel_agent.tool.repeat"] for record in telemetry.tools] == [1, 1, 1]
    assert telemetry.runs[0]["otel_agent.run.max_repeat"] == 1
    assert telemetry.total("otel_agent.tool_repeats") == 0


def test_the_same_call_twenty_times(telemetry: Capture) -> None:
    """Case 089: a count on each execution, the maximum on the run and as a metric."""
    search = otel_agent.tool("search")(lambda words: [])
    with otel_agent.agent_run("looping"):
        for _ in range(20):
            search({"q": 1})
    assert [record["otel_agent.tool.consecutive"] for record in telemetry.tools] == [*range(1, 21)]
    assert [record["otel_agent.tool.same_result"] for record in telemetry.tools] == [*range(1, 21)]
    assert telemetry.runs[0]["otel_agent.run.max_repeat"] == 20
    assert telemetry.total("otel_agent.tool_repeats", gen_ai__tool__name="search") == 19
    (point,) = telemetry.points("otel_agent.run.max_repeat")
    assert point["sum"] == 20


def test_a_cycle_of_two(telemetry: Capture) -> None:
    """Case 089: A B A B comes round once; one more round is counted once more."""
    one, other = otel_agent.tool("one")(returned(1)), otel_agent.tool("other")(returned(2))
    with otel_agent.agent_run("circling"):
        for _ in range(3):
            one(), other()
    assert telemetry.runs[0]["otel_agent.run.cycles"] == 2
    assert telemetry.total("otel_agent.tool_cycles") == 2


# Call ids and threads


def test_the_call_id_is_carried(telemetry: Capture) -> None:
    """The provider's id of the call, where the executor knows it."""
    find = otel_agent.tool("find")(returned(1))
    with otel_agent.tool_call("toolu_1"):
        find()
    find()
    assert [record.get("gen_ai.tool.call.id") for record in telemetry.tools] == ["toolu_1", None]


def test_a_thread_pool(telemetry: Capture) -> None:
    """Case 070: tools in a bare thread pool, bound to their run, are its children, with separate ids."""
    find = otel_agent.tool("find")(lambda order: threading.get_ident())
    with otel_agent.agent_run("pooled") as run, concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(run.bind(find), ["A1", "A2", "A3"]))
    (root,) = [span for span in telemetry.spans if span["name"] == "invoke_agent pooled"]
    children = [span for span in telemetry.spans if span["parent_id"] == root["span_id"]]
    assert len({span["span_id"] for span in children}) == 3
    assert {record["otel_agent.run.id"] for record in telemetry.tools} == {run.run_id}
    assert telemetry.runs[0]["otel_agent.run.tool_calls"] == 3


async def test_gather(telemetry: Capture) -> None:
    """Case 070: two tools under gather inside one run are both its children; a tool inside one of them is that one's alone."""

    async def leaf(order: str) -> str:
        await asyncio.sleep(0.01)
        return order

    inner = otel_agent.tool("leaf")(leaf)

    @otel_agent.tool
    async def branch(order: str) -> str:
        await asyncio.sleep(0)
        return str(await inner(order))

    async with otel_agent.agent_run("gathering"):
        assert await asyncio.gather(branch("A1"), branch("A2")) == ["A1", "A2"]
    spans = {span["span_id"]: span for span in telemetry.spans}
    names = [(span["name"], spans[span["parent_id"]]["name"]) for span in telemetry.spans if span["parent_id"]]
    assert sorted(names) == [("execute_tool branch", "invoke_agent gathering")] * 2 + [("execute_tool leaf", "execute_tool branch")] * 2
    leaves = [span["parent_id"] for span in telemetry.spans if span["name"] == "execute_tool leaf"]
    assert len(set(leaves)) == 2


def test_overlapping_writes(telemetry: Capture) -> None:
    """Two writes at the same time are a conflict; reads, and one write after another, are none."""
    inside = threading.Barrier(2)

    @otel_agent.tool(effect="write")
    def store(order: str) -> None:
        inside.wait(5)

    quick = otel_agent.tool("quick", effect="write")(returned(1))
    with otel_agent.agent_run("writing") as run, concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(run.bind(store), ["A1", "A2"]))
        quick(), quick()
    assert [record.get("otel_agent.tool.overlap") for record in telemetry.tools].count(True) == 1
    assert telemetry.runs[0]["otel_agent.run.conflicting_writes"] == 1


def test_a_tool_that_runs_an_agent_with_the_same_tool(telemetry: Capture) -> None:
    """The same tool in a run inside its own execution is another execution."""
    depth = []

    @otel_agent.tool
    def delegate(task: str) -> str:
        depth.append(task)
        if len(depth) == 1:
            with otel_agent.agent_run("inner"):
                return delegate("inner task")
        return "done"

    with otel_agent.agent_run("outer", budget=Budget(tool_calls=5)):
        assert delegate("outer task") == "done"
    assert [record["gen_ai.agent.name"] for record in telemetry.tools] == ["inner", "outer"]


@otel_agent.tool
def walk(level: int) -> int:
    """Calls itself."""
    return level and walk(level - 1)


def test_a_tool_that_calls_itself(telemetry: Capture) -> None:
    """Each call is an execution, child of the one that made it; the provider's id is that of the outermost."""
    with otel_agent.agent_run("walking"), otel_agent.tool_call("toolu_1"):
        assert walk(2) == 0
    inner, middle, outer, _run = telemetry.spans
    assert (inner["parent_id"], middle["parent_id"]) == (middle["span_id"], outer["span_id"])
    assert len({tuple(record["otel_agent.tool.argument_digests"]) for record in telemetry.tools}) == 3
    assert [record.get("gen_ai.tool.call.id") for record in telemetry.tools] == [None, None, "toolu_1"]
    assert telemetry.runs[0]["otel_agent.run.tool_calls"] == 3


def test_a_call_that_is_watched_twice(telemetry: Capture) -> None:
    """One record, also when the outer watcher tries again with the same arguments; what calls itself inside is told by its arguments."""

    @otel_agent.tool("find")
    def flaky(order: str, tries: list[int]) -> str:
        tries.append(len(tries))
        if len(tries) == 1:
            raise TimeoutError
        return order

    def dispatch(name: str, arguments: dict[str, Any]) -> Any:
        if name == "walk":
            return walk(**arguments)
        try:
            return flaky(**arguments)
        except TimeoutError:
            return flaky(**arguments)

    watched = otel_agent.wrap_dispatcher(dispatch, ["find", "walk"])
    assert watched("find", {"order": "A1", "tries": []}) == "A1"
    assert [record["gen_ai.tool.name"] for record in telemetry.tools] == ["find"]
    assert watched("walk", {"level": 2}) == 0
    assert [record["gen_ai.tool.name"] for record in telemetry.tools[1:]] == ["walk"] * 3


def test_ids_that_are_none(quiet_telemetry: Capture) -> None:
    """What picks ids out of a result gave a number: the result keeps its digest."""
    otel_agent.tool("find", result_ids=lambda result: 7)(returned({"order": "A1"}))()
    otel_agent.tool("find", result_ids=lambda result: (f"id{at}" for at in range(100)))(returned({"order": "A1"}))()
    one, other = quiet_telemetry.tools
    assert one["otel_agent.tool.result_digest"] == other["otel_agent.tool.result_digest"]
    assert "otel_agent.tool.result_ids" not in one
    assert len(other["otel_agent.tool.result_ids"]) == 64


MATCHED = {"type": "object", "properties": {"order": {"type": "string", "pattern": "^(a|a)*$"}}}


@pytest.mark.parametrize(
    ("schema", "arguments", "verdict"),
    [
        (MATCHED, {"order": "a" * 20}, "passed"),
        (MATCHED, {"order": "a" * 5000 + "b"}, "failed"),
        (MATCHED, {"order": "a" * 50_000_000}, "skipped"),
        (SCHEMA, {"order": "a" * 5000}, "passed"),
        ({"type": "object"}, {"order": "a" * 50_000_000}, "passed"),
        ({"properties": {"order": {"items": {"type": "integer"}}}}, {"order": [1] * 1_000_000}, "skipped"),
        ({"properties": {"order": {"items": {"type": "integer"}}}}, {"order": [1] * 1_000}, "passed"),
    ],
)
def test_validation_is_bounded(schema: Any, arguments: dict[str, Any], verdict: str, telemetry: Capture) -> None:
    """What would hold up the caller is not checked; the digest of what is huge says so."""
    begun = time.thread_time()
    otel_agent.tool(schema=schema)(plain)(**arguments)
    assert time.thread_time() - begun < 1
    (record,) = telemetry.tools
    assert record["otel_agent.tool.validation"] == verdict
    huge = len(arguments["order"]) >= 1_000_000
    assert (record["otel_agent.tool.arguments_digest"] == "uncanonical:size") == huge


@pytest.mark.parametrize("options", [{"effect": "wirte"}, {"kind": "plugin"}])
def test_a_wrong_declaration_is_said_at_once(options: dict[str, str]) -> None:
    """A misspelled effect would otherwise be a write that nobody counts."""
    with pytest.raises(ValueError, match="is one of"):
        otel_agent.tool("pay", **options)(lambda amount: amount)
