"""One ``agent_run`` object entered more than once, and wrong values said where they are written."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from otel_agent import Budget, agent_run, feedback, tool, wrap_dispatcher
from otel_agent.testing import Capture


def test_one_object_entered_twice(telemetry: Capture) -> None:
    """Each entry is a run of its own; afterwards nothing is left in force."""
    run = agent_run("shared")
    with run as outer, run as inner:
        assert outer.run_id != inner.run_id
    tool("after")(lambda: None)()
    assert {facts["otel_agent.run.id"] for facts in telemetry.runs} == {outer.run_id, inner.run_id}
    assert "otel_agent.run.id" not in telemetry.tools[-1]


def test_one_object_in_threads_and_tasks(telemetry: Capture) -> None:
    """Eight threads and eight tasks: sixteen runs."""
    run = agent_run("shared")
    together = threading.Barrier(8)

    def thread() -> None:
        with run:
            together.wait(10)

    async def task() -> None:
        async with run:
            await asyncio.sleep(0.01)

    async def tasks() -> None:
        await asyncio.gather(*(task() for _ in range(8)))

    threads = [threading.Thread(target=thread) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    asyncio.run(tasks())
    assert len({facts["otel_agent.run.id"] for facts in telemetry.runs}) == 16


@pytest.mark.parametrize("limits", [{"turns": 1.5}, {"turns": "x"}, {"seconds": -1}, {"tool_calls": True}])
def test_a_wrong_budget_is_said_at_once(limits: dict[str, Any]) -> None:
    """With the field's name."""
    with pytest.raises(ValueError, match=next(iter(limits))):
        Budget(**limits)


def test_wrong_words_are_said_at_once(telemetry: Capture) -> None:
    """An end reason outside the set, a misspelled ``on_exceed``, a budget that is none, a decorator without its parentheses."""
    with pytest.raises(TypeError, match=r'@agent_run\("name"\)'):
        agent_run(test_wrong_words_are_said_at_once)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on_exceed"):
        agent_run("x", on_exceed="rais")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Budget"):
        agent_run("x", budget={"turns": 1})  # type: ignore[arg-type]
    with agent_run("x") as run, pytest.raises(ValueError, match="end reason"):
        run.end("done")  # type: ignore[arg-type]
    assert telemetry.runs[0]["otel_agent.run.end_reason"] == "answered"


def test_a_dispatcher_called_by_keywords(telemetry: Capture) -> None:
    """In whatever order."""
    dispatch = wrap_dispatcher(lambda name, arguments: 1, ["look"])
    dispatch(arguments={"a": 1}, name="look")
    assert (telemetry.tools[0]["gen_ai.tool.name"], telemetry.tools[0]["otel_agent.tool.outcome"]) == ("look", "ok")


def test_feedback_is_counted(telemetry: Capture) -> None:
    """One point per event, by kind."""
    feedback("edited", run_id="r1")
    assert telemetry.total("otel_agent.feedback", otel_agent__feedback__kind="edited") == 1
