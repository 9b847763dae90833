"""Names that the application gives: one that does not fit is said once for each place, and never the name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import otel_agent
from otel_agent import guard
from otel_agent.instrument import given_names
from otel_agent.testing import Canaries, Capture

FITS = "at most 128 ASCII letters, digits and _.:/- fit, the first of them a letter, a digit or _; further ones are not said"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """What our own logger says, in a process that has said nothing yet."""
    given_names._say.cache_clear()
    guard.log.addHandler(caplog.handler)
    yield lambda: [record.getMessage() for record in caplog.records if record.name == "otel_agent"]
    guard.log.removeHandler(caplog.handler)
    given_names._say.cache_clear()


def warning(place: str) -> str:
    """The one sentence of a place."""
    return f"a name given to {place} does not fit and is recorded as _OTHER; {FITS}"


def work(order: str = "A1") -> str:
    """A tool."""
    return order


def dispatch(name: str, arguments: Any) -> Any:
    """A dispatcher."""


UNFIT = ["my refund agent", "-agent", "agent\n", "Ágent", "a" * 129, " "]
FIT = ["refund-agent", "a" * 128, "team/agent:v1.2", "_OTHER", "7"]


@pytest.mark.parametrize("name", UNFIT)
def test_an_agent_s_name_that_does_not_fit_is_said(name: str, said: Callable[[], list[str]], telemetry: Capture) -> None:
    """Where the run is written, once, however many there are; it is recorded as before."""
    for _ in range(2):
        with otel_agent.agent_run(name):
            pass
    otel_agent.agent_run("another one")
    assert said() == [warning("agent_run")]
    assert [run["gen_ai.agent.name"] for run in telemetry.runs] == ["_OTHER", "_OTHER"]


@pytest.mark.parametrize("name", [*FIT, None])
def test_nothing_is_said_of_a_name_that_fits(name: str | None, said: Callable[[], list[str]], telemetry: Capture) -> None:
    """It is recorded as it is; where none is given there is none."""
    with otel_agent.agent_run(name):
        otel_agent.tool(name)(work)()
    assert said() == []
    assert telemetry.runs[0].get("gen_ai.agent.name") == name
    assert telemetry.tools[0]["gen_ai.tool.name"] == (name or "work")


def test_a_decorated_function_says_it_when_it_is_decorated(said: Callable[[], list[str]], telemetry: Capture) -> None:
    """Not at its first call, which may be hours later."""
    decorated = otel_agent.agent_run("my agent")(work)
    assert said() == [warning("agent_run")]
    decorated()
    assert said() == [warning("agent_run")]


DECLARED: dict[str, Callable[[str], Any]] = {
    "tool": lambda name: otel_agent.tool(name)(work),
    "wrap_tools": lambda name: otel_agent.wrap_tools({name: work})[name],
    "wrap_dispatcher": lambda name: partial(otel_agent.wrap_dispatcher(dispatch, [name]), name, {}),
}


@pytest.mark.parametrize("way", DECLARED)
@pytest.mark.parametrize("name", UNFIT)
def test_a_tool_s_name_that_does_not_fit_is_said(way: str, name: str, said: Callable[[], list[str]], telemetry: Capture) -> None:
    """When the tool is declared, once; a place by itself beside the runs."""
    watched = DECLARED[way](name)
    assert said() == [warning("tool")]
    watched()
    DECLARED[way]("another one")
    otel_agent.agent_run("my agent")
    assert said() == [warning("tool"), warning("agent_run")]
    assert telemetry.tools[0]["gen_ai.tool.name"] == "_OTHER"


def test_a_lambda_has_no_name_that_fits(said: Callable[[], list[str]]) -> None:
    """Nobody gave it one."""
    otel_agent.tool(lambda: None)
    assert said() == [warning("tool")]


def test_names_a_model_made_up_are_not_said(said: Callable[[], list[str]], telemetry: Capture) -> None:
    """They are nobody's mistake in the code."""
    otel_agent.wrap_dispatcher(dispatch, ["work"])("no such tool", {})
    assert said() == []
    assert telemetry.tools[0]["gen_ai.tool.name"] == "_OTHER"


def test_the_name_is_never_said(said: Callable[[], list[str]], canaries: Canaries) -> None:
    """A name that does not fit may be a sentence."""
    otel_agent.agent_run(canaries["request.user"])
    otel_agent.tool(canaries["request.system"])(work)
    assert len(said()) == 2
    canaries.assert_absent(*said())
