"""What one observed call, one stream and one loop cost, against nothing and against the floor.

The SDK's own work (HTTP, JSON, models) is taken out: ``request`` answers at once with a ready object, so the difference between observed
and bare is ours. The floor makes the same spans, metric points and log records by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic

import otel_agent
from tests.benchmarks.rig import CLIENT, RESPONSE, TOOLS, Rig, events, in_turn, message, timed

HISTORIES = (1, 8, 64, 256)
CHUNKS = (50, 500)
ROUNDS = 30
STEPS = 8


def create(messages: list[Any]) -> Any:
    """One call as callers make it."""
    return CLIENT.messages.create(model="claude-sonnet-4-6", max_tokens=1024, messages=messages, tools=TOOLS)  # type: ignore[arg-type]


class Ready(anthropic.Stream[Any]):
    """The SDK's stream with its events ready: no HTTP, no JSON."""

    def __init__(self, ready: list[Any]) -> None:
        self.response = None  # type: ignore[assignment]
        self._iterator = iter(ready)  # type: ignore[misc]

    def __iter__(self) -> Any:
        return iter(self._iterator)

    def close(self) -> None:
        """Nothing to close."""


def read() -> None:
    """Read a stream to its end."""
    for _ in CLIENT.messages.create(model="claude-sonnet-4-6", max_tokens=1024, messages=[message(1)], stream=True):  # type: ignore[list-item]
        pass


@otel_agent.tool("find_order", effect="read")
def find_order(order: str) -> dict[str, str]:
    """A tool that does next to nothing."""
    return {"order": order, "state": "shipped"}


def loop(observed: bool) -> None:
    """Eight turns with a tool call each, the history growing by two messages a turn."""
    history = [message(1)]
    for at in range(STEPS):
        create(history)
        tool = find_order if observed else find_order.__wrapped__
        tool(order=f"A-{at}")
        history += [message(2 * at + 2), message(2 * at + 3)]


def in_run() -> None:
    """The loop inside a run."""
    with otel_agent.agent_run("bench"):
        loop(observed=True)


def compare(make: Callable[[], Any], bare: Callable[[], Any], ours: Callable[[], Any], repeat: int) -> tuple[dict[str, float], str]:
    """Bare, observed and floor of one act."""
    with Rig(make) as rig:
        floor = rig.floor(ours)
        blocks = {
            "bare": rig.block(observed=False, measure=lambda: timed(bare, repeat)),
            "observed": rig.block(observed=True, measure=lambda: timed(ours, repeat)),
            "floor": rig.block(observed=False, measure=lambda: timed(floor, repeat)),
        }
        return in_turn(blocks, ROUNDS), floor.size


def calls() -> tuple[dict[str, float], str]:
    """One call outside a run."""
    return compare(lambda: RESPONSE, lambda: create([message(1)]), lambda: create([message(1)]), 200)


def loops() -> tuple[dict[str, float], str]:
    """An eight-turn loop with tools, in a run."""
    return compare(lambda: RESPONSE, lambda: loop(observed=False), in_run, 20)


def streams(chunks: int) -> tuple[dict[str, float], str]:
    """A stream of ``chunks`` text deltas."""
    ready = events(chunks)
    return compare(lambda: Ready(ready), read, read, 40)


def histories() -> dict[int, dict[str, float]]:
    """A turn that adds two messages to 1 to 256 known ones, in a run. Blocks of bare and observed in turn."""
    with Rig(lambda: RESPONSE) as rig:
        blocks: dict[str, Callable[[], float]] = {}
        for old in HISTORIES:
            for observed in (False, True):
                blocks[f"{old} {observed}"] = rig.block(observed, _turn(old))
        seen = in_turn(blocks, ROUNDS)
    return {old: {"bare": seen[f"{old} False"], "observed": seen[f"{old} True"]} for old in HISTORIES}


def _turn(old: int) -> Callable[[], float]:
    messages = [message(at) for at in range(1, old + 1)]
    longer = [*messages, message(old + 1), message(old + 2)]

    def once() -> float:
        with otel_agent.agent_run("bench"):
            create(messages)
            return timed(lambda: create(longer), 1)

    return lambda: sorted(once() for _ in range(15))[3]
