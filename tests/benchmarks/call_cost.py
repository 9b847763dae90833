"""What one observed call, one stream and one loop cost, against nothing and against the floor.

The SDK's own work (HTTP, JSON, models) is taken out: ``request`` answers at once with a ready object, so the difference between observed
and bare is ours. The floor makes the same spans, metric points and log records by hand.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import anthropic

import otel_agent
from tests.benchmarks.rig import CLIENT, RESPONSE, TOOLS, Floor, Gauge, Providers, Rig, events, in_turn, message

HISTORIES = (1, 8, 64, 256)
CHUNKS = (50, 500)
STEPS = 8
WARMING = 4
"""Turns of a run before the one that is measured."""


class Cost(NamedTuple):
    """Of one act: what observation adds, what the floor adds, their ratio. Medians over the rounds."""

    ours: float
    floor: float
    ratio: float
    emits: str


def create(messages: list[Any]) -> Any:
    """One call as callers make it."""
    return CLIENT.messages.create(model="claude-sonnet-4-6", max_tokens=1024, messages=messages, tools=TOOLS)  # type: ignore[arg-type]


def once() -> Any:
    """One call."""
    return create([message(1)])


class Ready(anthropic.Stream[Any]):
    """The SDK's stream with its events ready: no HTTP, no JSON."""

    def __init__(self, ready: list[Any]) -> None:
        self.response = None  # type: ignore[assignment]
        self._iterator = iter(ready)  # type: ignore[misc]

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


def loop(tool: Callable[..., Any]) -> None:
    """Eight turns with a tool call each, the history growing by two messages a turn."""
    history = [message(1)]
    for at in range(STEPS):
        create(history)
        tool(order=f"A-{at}")
        history += [message(2 * at + 2), message(2 * at + 3)]


def in_run() -> None:
    """The loop inside a run."""
    with otel_agent.agent_run("bench"):
        loop(find_order)


def run_by_hand(emit: Floor) -> None:
    """The same, its tools and the run emitted by hand."""

    def tool(order: str) -> dict[str, str]:
        found: dict[str, str] = find_order.__wrapped__(order)
        emit("execute_tool")
        return found

    loop(tool)
    emit("invoke_agent")


class Act(NamedTuple):
    """The same act in three forms. What a request emits by hand is the rig's affair."""

    bare: Callable[[], Any]
    observed: Callable[[], Any]
    by_hand: Callable[[Floor], Any]


def compare(gauge: Gauge, act: Act, repeat: int, make: Callable[[], Any] = lambda: RESPONSE) -> Cost:
    """What observing ``act`` costs against the floor."""
    with Rig(make) as rig:
        emit = rig.floor(act.observed)
        forms: dict[str, tuple[Callable[[], None], Callable[[], Any]]] = {
            "bare": (rig.bare, act.bare),
            "observed": (rig.observed, act.observed),
            "by hand": (lambda: rig.by_hand(emit), lambda: act.by_hand(emit)),
        }
        seen = in_turn({name: _block(gauge, *form, repeat) for name, form in forms.items()}, gauge.rounds)
    rounds = [(ours - bare, floor - bare) for bare, ours, floor in zip(*seen.values(), strict=True)]
    ours, floor = (statistics.median(column) for column in zip(*rounds, strict=True))
    return Cost(ours, floor, statistics.median(ours / floor for ours, floor in rounds), emit.size)


def _block(gauge: Gauge, switch: Callable[[], None], act: Callable[[], Any], repeat: int) -> Callable[[], float]:
    def run() -> float:
        switch()
        return gauge.measure(act, repeat)

    return run


def calls(gauge: Gauge) -> Cost:
    """One call outside a run."""
    return compare(gauge, Act(once, once, lambda emit: once()), 40)


def loops(gauge: Gauge) -> Cost:
    """An eight-turn loop with tools, in a run."""
    return compare(gauge, Act(lambda: loop(find_order.__wrapped__), in_run, run_by_hand), 5)


def streams(gauge: Gauge, chunks: int) -> Cost:
    """A stream of ``chunks`` text deltas."""
    ready = events(chunks)
    return compare(gauge, Act(read, read, lambda emit: read()), 15, lambda: Ready(ready))


def bare_span(gauge: Gauge) -> float:
    """The SDK's own span, on warm caches: how quick this machine is, so that absolute figures of two machines can be compared."""
    tracer = Providers().tracer.get_tracer("bench")
    attributes = {f"name.{at}": "value" if at % 2 else at for at in range(30)}
    block = partial(gauge.measure, lambda: tracer.start_span("chat", attributes=attributes).end(), 200)
    return statistics.median(in_turn({"span": block}, gauge.rounds)["span"])


def histories(gauge: Gauge) -> dict[int, tuple[float, float]]:
    """By the messages before it, what observing a turn that adds two messages costs, and the ratio to the cost with one message."""
    with Rig(lambda: RESPONSE) as rig:
        blocks: dict[str, Callable[[], float]] = {}
        for old in HISTORIES:
            for name, switch in (("bare", rig.bare), ("observed", rig.observed)):
                blocks[f"{old} {name}"] = _turn(gauge, switch, old)
        seen = in_turn(blocks, gauge.rounds)
    ours = {old: [o - b for o, b in zip(seen[f"{old} observed"], seen[f"{old} bare"], strict=True)] for old in HISTORIES}
    first = ours[HISTORIES[0]]
    return {
        old: (statistics.median(costs), statistics.median(cost / short for cost, short in zip(costs, first, strict=True)))
        for old, costs in ours.items()
    }


def _turn(gauge: Gauge, switch: Callable[[], None], old: int) -> Callable[[], float]:
    """A turn after others of its run: taking in a long history leaves the processor's caches as no turn before it would."""
    messages = [message(at) for at in range(1, old + 3)]
    before = [messages[: max(old - 2 * left, 1)] for left in range(WARMING - 1, -1, -1)]

    def turn() -> float:
        with otel_agent.agent_run("bench"):
            for earlier in before:
                create(earlier)
            return gauge.measure(lambda: create(messages), 1)

    def run() -> float:
        switch()
        return statistics.median(turn() for _ in range(9))

    return run
