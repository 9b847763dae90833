"""The loop on streams: the same run as without, and streams that end before their time."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from talking import ADAPTERS, DONE, STREAMS, Way, adapter, client_of, scripted

from otel_agent.loop import AsyncLoop, Tool, Toolbox
from otel_agent.loop.streaming import BrokenStream
from otel_agent.testing.standin import BreakOff, Held, Reply, Text, Thinking, ToolUse, Usage

ORDER = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
TOOLS = Toolbox([Tool("find", lambda order: f"order {order} was sent", "Find an order.", ORDER, "read")])
COUNTED = Usage(input=100, output=20)
STEPS = [
    Reply([Thinking("Hm."), ToolUse("find", {"order": "A"}, id="c1"), ToolUse("find", {"order": "B"}, id="c2")], usage=COUNTED),
    Reply([Thinking("Once more."), Text("Looking."), ToolUse("find", {"order": "C"}, id="c3")], usage=COUNTED),
    Reply([Text("Done.")], usage=COUNTED),
]

streams = pytest.mark.parametrize("way", STREAMS, ids=str)


def facts(way: Way) -> dict[str, Any]:
    """A run: how it ended, what it sent, what was recorded."""
    with scripted(STEPS) as (standin, telemetry):
        outcome = way.run(standin, TOOLS)
        (ended,) = telemetry.runs
        return {
            "outcome": (outcome.reason, outcome.answer, outcome.turns, outcome.tool_calls, outcome.input_tokens, outcome.output_tokens),
            "sent": kept(standin.requests[-1].messages),
            "streamed": {request.stream for request in standin.requests},
            "replayed": [(turn.get("otel_agent.replay.dropped"), turn.get("otel_agent.replay.edited")) for turn in telemetry.turns],
            "run": {name: value for name, value in ended.items() if not name.endswith((".id", "duration"))},
        }


def kept(value: Any) -> Any:
    """A conversation without empty members: the Messages helper of older SDKs adds one."""
    if isinstance(value, (list, tuple)):
        return [kept(item) for item in value]
    return {name: kept(member) for name, member in value.items() if member is not None} if isinstance(value, dict) else value


@streams
def test_a_streamed_run_is_the_same_run(way: Way) -> None:
    """Outcome, conversation, record; the stand-in rejects reasoning that does not come back as it was."""
    streamed, whole = facts(way), facts(replace(way, stream=False))
    assert streamed.pop("streamed") == {True}
    assert whole.pop("streamed") == {False}
    assert streamed == whole


@streams
def test_events_are_shown_as_they_come(way: Way) -> None:
    """All of them, the SDK's own."""
    seen: list[str] = []
    with scripted([Reply([Text("Some words for you.")], delta_chars=5)]) as (standin, _):
        way.run(standin, TOOLS, on_event=lambda event: seen.append(PIECE[way.api](event)))
    assert seen.count("text") == 4
    assert seen[-1] != "text"


PIECE = {
    "messages": lambda event: event.type,
    "responses": lambda event: {"response.output_text.delta": "text"}.get(event.type, event.type),
    "chat": lambda event: "text" if event.choices and event.choices[0].delta.content else event.object,
}
"""What an event of each interface is; pieces of text under one name."""


@streams
def test_a_stream_that_was_cut_off_is_partial(way: Way) -> None:
    """A limit of tokens ends the run with its reason, not with an exception of the helper."""
    with scripted([Reply([Text("Some words")], stop="max_tokens")]) as (standin, _):
        outcome = way.run(standin, TOOLS)
    assert (outcome.reason, outcome.partial, outcome.answer) == ("token_limit", True, "Some words")


@streams
def test_a_stream_that_ends_too_soon_is_no_turn(way: Way) -> None:
    """Though what came could be read as one."""
    history: list[Any] = []
    with scripted([BreakOff(DONE, after_events=2, clean=True)]) as (standin, telemetry):
        with pytest.raises(BrokenStream):
            way.run(standin, TOOLS, history)
        assert [run["otel_agent.run.end_reason"] for run in telemetry.runs] == ["error"]
    assert history == [{"role": "user", "content": "Do it."}]


@pytest.mark.parametrize("api", ADAPTERS)
async def test_a_run_cancelled_amid_a_stream_has_no_half_turn(api: str) -> None:
    """And its stream is closed."""
    gate, begun = threading.Event(), asyncio.Event()
    history: list[Any] = []
    with scripted([Held(DONE, gate, at_event=2), DONE]) as (standin, telemetry):
        model = adapter(api, client_of(api, standin, True), stream=True, on_event=lambda event: begun.set())
        loop = AsyncLoop(model, TOOLS)
        task = asyncio.create_task(loop.run("Do it.", history))
        await asyncio.wait_for(begun.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        assert len(history) == 1
        assert (await loop.run("Go on.", history)).answer == "Done."
        assert [run["otel_agent.run.end_reason"] for run in telemetry.runs] == ["cancelled", "answered"]
        assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == ["cancelled", "read"]


@pytest.mark.parametrize("waits", [False, True])
def test_a_response_in_the_background_is_streamed(waits: bool) -> None:
    """A queued reply would look like an answer without words."""
    options = {"extra_body": {"background": True}, "store": True}  # the oldest SDK has no argument for it
    with scripted(STEPS) as (standin, telemetry):
        outcome = Way("responses", waits, stream=True).run(standin, TOOLS, model_options=options)
        assert (outcome.reason, outcome.answer, outcome.turns) == ("answered", "Done.", 3)
        assert {turn["otel_agent.usage.state"] for turn in telemetry.turns} == {"complete"}
        with pytest.raises(TypeError, match="stream=True"):
            adapter("responses", client_of("responses", standin, waits), background=True)
