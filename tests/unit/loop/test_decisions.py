"""The course of a run, step by step and without a client, a thread or a clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from otel_agent import Budget
from otel_agent.loop import Call, Result, Tool, Toolbox, Turn
from otel_agent.loop.decisions import Ask, Course, Execute

TOOLS = Toolbox([Tool("look", str, effect="read"), Tool("write", str, effect="write"), Tool("maybe", str)], max_chars=5)


class Plain:
    """An interface whose transcript is a list of words."""

    def opening(self, task: str) -> list[Any]:
        return [task]

    def send(self, transcript: list[Any], tools: Any) -> Any:
        raise AssertionError

    def read(self, reply: Any) -> Turn:
        raise AssertionError

    def answers(self, results: Sequence[Result]) -> list[Any]:
        return [(result.call_id, result.text, result.failed) for result in results]


UNLIMITED = Budget()


def course(budget: Budget = UNLIMITED) -> Course:
    return Course(Plain(), TOOLS, budget, ["task"], begun=100.0)


def turn(*names: str, **more: Any) -> Turn:
    return Turn([*names], "said", [Call(f"c{at}", name, {}) for at, name in enumerate(names)], **more)


def batches(made: Course) -> list[list[str]]:
    """All that is executed before the next request, with every seat taken."""
    found: list[list[str]] = []
    while isinstance(step := made.next(100.0), Execute):
        found.append([seat.call.name for seat in step.seats])
        for seat in step.seats:
            with seat:
                seat.take(seat.call.id)
    assert isinstance(step, Ask)
    return found


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("look", ["look"]),
        ("look look look", ["look look look"]),
        ("write write", ["write", "write"]),
        ("look look write look maybe maybe look", ["look look", "write", "look", "maybe", "maybe", "look"]),
        ("unheard look", ["unheard", "look"]),
    ],
)
def test_what_runs_beside_what(names: str, expected: list[str]) -> None:
    """Reads that stand together; everything else alone, also what nobody declared."""
    made = course()
    assert isinstance(made.next(100.0), Ask)
    made.take(turn(*names.split()))
    assert batches(made) == [step.split() for step in expected]
    assert [entry[0] for entry in made.outcome.transcript[1 + len(names.split()) :]] == [f"c{at}" for at in range(len(names.split()))]


@pytest.mark.parametrize(
    ("budget", "now", "reason"),
    [
        (Budget(turns=1), 100.0, "turn_limit"),
        (Budget(input_tokens=9), 100.0, "token_limit"),
        (Budget(output_tokens=4), 100.0, "token_limit"),
        (Budget(seconds=7), 107.5, "deadline"),
        (Budget(tool_calls=1), 100.0, "tool_limit"),
        (Budget(turns=2), 100.0, None),
    ],
)
def test_a_budget_is_looked_at_before_a_request(budget: Budget, now: float, reason: str | None) -> None:
    """And not before the calls of the turn that went beyond it have run."""
    made = course(budget)
    assert isinstance(made.next(100.0), Ask)
    made.take(turn("write", "write", input_tokens=10, output_tokens=5))
    assert isinstance(made.next(now), Execute)
    assert isinstance(made.next(now), Execute)
    step = made.next(now)
    assert (step is None) == (reason is not None)
    assert made.outcome.reason == (reason or "answered")
    assert made.outcome.partial == (reason is not None)
    assert made.next(now) is None or reason is None


def test_a_turn_without_calls_ends_it_and_a_paused_one_does_not() -> None:
    """A paused one goes back as it is."""
    made = course()
    made.take(turn(paused=True))
    assert isinstance(made.next(100.0), Ask)
    made.take(turn())
    assert made.next(100.0) is None
    assert (made.outcome.reason, made.outcome.partial, made.outcome.turns) == ("answered", False, 2)


def test_a_turn_cut_off_runs_nothing_and_leaves_nothing_open() -> None:
    """Its calls may be half of what was meant."""
    made = course()
    made.take(turn("write", cut_off=True))
    assert made.next(100.0) is None
    assert (made.outcome.reason, made.outcome.tool_calls) == ("token_limit", 0)
    assert made.outcome.transcript[2:] == [("c0", "The call did not run: work was stopped first.", True)]


def interrupted(made: Course) -> None:
    """One call ends, one fails, and in the third comes the interrupt."""
    with made:
        step = made.next(100.0)
        assert isinstance(step, Execute)
        done, failed, under_way = step.seats
        with done:
            done.take("123456")
        with failed:
            raise ConnectionError("db.internal")
        with under_way:
            raise KeyboardInterrupt


def test_every_call_is_answered_once_whatever_stops_it() -> None:
    """Done, failed, under way, not begun; long results are cut."""
    made = course()
    made.take(turn("look", "look", "look", "write"))
    with pytest.raises(KeyboardInterrupt):
        interrupted(made)
    assert made.outcome.transcript[5:] == [
        ("c0", "12345\n[cut here: 5 of 6 characters shown]", False), ("c1", "The tool failed with ConnectionError.", True),
        ("c2", "The call was interrupted. Whether it took effect is not known.", True),
        ("c3", "The call did not run: work was stopped first.", True),
    ]  # fmt: skip
