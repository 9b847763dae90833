"""A watched stream is the SDK's own: same objects, as soon as they come, with every helper."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

import otel_agent
from otel_agent.testing import Capture, Standin
from otel_agent.testing.standin import Chopped, Held, Reply, SlowReply, Text, Thinking, Usage

from .drivers import Driver, reach
from .streams import EVERY_KIND, EVERY_RAW_KIND, Kind, settle
from .ways import CHAT, MESSAGES, RESPONSES, SAID


@EVERY_RAW_KIND
async def test_chunks_are_the_objects_the_sdk_made(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Cases 017, 068: every event reaches the caller as the very object, once, in order, unchanged."""
    standin.script("*", [SAID])
    client = driver.client(kind.sdk, standin)
    made: list[Any] = []
    inner = client._process_response_data

    def recording(**options: Any) -> Any:
        made.append(inner(**options))
        return made[-1]

    client._process_response_data = recording
    opened = await kind.open(driver, client)
    before = None
    got = []
    async for event in driver.each(opened.stream):
        got.append(event)
        assert event is made[-1], "an event was held back"
        before = event
    assert before is not None
    assert [*map(id, got)] == [*map(id, made)]
    assert telemetry.turns[0]["otel_agent.response.chunks"] == len(got)


@EVERY_RAW_KIND
async def test_events_arrive_when_they_are_sent(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Case 017: what was sent before a pause is read before the pause ends; nothing is buffered."""
    gate = threading.Event()
    opened = await kind.opened(driver, standin, Held(SAID, gate, 4))
    for _ in range(4):
        await driver.step(opened.stream)
    assert not gate.is_set()
    assert telemetry.turns == []
    gate.set()
    await driver.items(opened.stream)
    assert telemetry.turns[0]["otel_agent.stream.end"] == "read"


@EVERY_RAW_KIND
async def test_the_clock_of_a_stream(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Time to the first chunk, to the first visible one, and time spent in reasoning, in that order of size."""
    reply = Reply([Thinking("a lantern, a ledger, a harbour"), Text("Oslo.")], usage=Usage(input=5, output=5), delta_chars=8)
    opened = await kind.opened(driver, standin, SlowReply(reply, [0.01]))
    await driver.items(opened.stream)
    turn = telemetry.turns[0]
    assert (
        0
        < turn["gen_ai.response.time_to_first_chunk"]
        <= turn["otel_agent.response.time_to_first_visible_chunk"]
        <= turn["otel_agent.duration"]
    )
    if kind.name != "chat":  # OpenAI's own chat sends no reasoning
        assert 0.02 < turn["otel_agent.response.thinking_seconds"] < turn["otel_agent.duration"]


@EVERY_RAW_KIND
@pytest.mark.parametrize("size", [1, 7])
async def test_chopped_bytes(driver: Driver, kind: Kind, size: int, standin: Standin, telemetry: Capture) -> None:
    """Case 017: events cut inside lines and characters are one record with the same facts."""
    opened = await kind.opened(driver, standin, Chopped(SAID, size))
    await driver.items(opened.stream)
    assert [turn["gen_ai.usage.output_tokens"] for turn in telemetry.turns] == [90]


@EVERY_RAW_KIND
async def test_protocols_of_a_raw_stream(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Cases 006, 007: entering gives the stream itself; iteration, ``response`` and ``close`` are there, and the type is the SDK's."""
    opened = await kind.opened(driver, standin)
    async with driver.within(opened.stream) as entered:
        assert entered is opened.stream
        assert type(entered).__name__ in {"Stream", "AsyncStream"}
        assert type(entered).__module__.partition(".")[0] == kind.sdk
        names = (
            ("__anext__", "__aiter__", "__aenter__", "__aexit__") if driver.is_async else ("__next__", "__iter__", "__enter__", "__exit__")
        )
        assert all(hasattr(entered, name) for name in (*names, "close", "response"))
        assert entered.response.status_code == 200
        assert await driver.items(entered)
    assert len(telemetry.turns) == 1


HELPERS = (
    ("anthropic", ("messages.stream",), MESSAGES, ("get_final_message", "get_final_text", "until_done")),
    ("anthropic", ("beta.messages.stream",), MESSAGES, ("get_final_message", "get_final_text", "until_done")),
    ("openai", ("chat.completions.stream", "beta.chat.completions.stream"), CHAT, ("get_final_completion", "until_done")),
    ("openai", ("responses.stream",), RESPONSES, ("get_final_response", "until_done")),
)


@pytest.mark.parametrize(
    ("sdk", "paths", "options", "name"),
    [(sdk, paths, options, name) for sdk, paths, options, names in HELPERS for name in names],
    ids=[f"{paths[0]}-{name}" for _, paths, _, names in HELPERS for name in names],
)
async def test_helper_methods(
    driver: Driver, sdk: str, paths: tuple[str, ...], options: dict[str, Any], name: str, standin: Standin, telemetry: Capture
) -> None:
    """Case 002: the helper's own way to the end is one record, read to the end."""
    standin.script("*", [SAID])
    manager = reach(driver.client(sdk, standin), *paths)(**options)
    assert telemetry.turns == []
    async with driver.within(manager) as stream:
        await driver.done(getattr(stream, name)())
    assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == ["read"]


@pytest.mark.parametrize("path", ["messages.stream", "beta.messages.stream"])
async def test_text_stream(driver: Driver, path: str, standin: Standin, telemetry: Capture) -> None:
    """Case 002: ``text_stream`` gives text alone, and the final message afterwards; the snapshot and the request id are there."""
    standin.script("*", [SAID])
    async with driver.within(reach(driver.client("anthropic", standin), path)(**MESSAGES)) as stream:
        assert "".join(await driver.items(stream.text_stream)) == "It waits in Oslo."
        message = await driver.done(stream.get_final_message())
        assert stream.current_message_snapshot.id == message.id
        assert stream.request_id.startswith("req_")
    (turn,) = telemetry.turns
    assert turn["gen_ai.response.id"] == message.id
    assert turn["gen_ai.usage.output_tokens"] == 90


async def test_a_manager_that_is_never_entered_sends_nothing(standin: Standin, telemetry: Capture) -> None:
    """Case 002: making the manager is no call, so there is no record of one."""
    client = Driver(is_async=False).client("anthropic", standin)
    client.messages.stream(**MESSAGES)
    await settle()
    assert (standin.requests, telemetry.turns) == ((), [])


@EVERY_KIND
async def test_nothing_keeps_the_response_alive(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Cases 010, 075: once the caller lets go, stream and HTTP response are gone, also while the run goes on."""
    with otel_agent.agent_run("keeper"):
        opened = await kind.opened(driver, standin)
        await driver.items(opened.stream)
        await opened.leave(None, None)
        stream = weakref.ref(opened.stream)
        response = weakref.ref(opened.stream.response if hasattr(opened.stream, "response") else opened.stream._response)
        del opened
        await settle()
        assert (stream(), response()) == (None, None)
    assert len(telemetry.turns) == 1


@pytest.mark.parametrize(
    ("sdk", "path", "options"),
    [("anthropic", "messages.create", MESSAGES), ("openai", "chat.completions.create", CHAT), ("openai", "responses.create", RESPONSES)],
)
async def test_nothing_keeps_an_answer_alive(
    driver: Driver, sdk: str, path: str, options: dict[str, Any], standin: Standin, telemetry: Capture
) -> None:
    """Case 010: a whole response is the caller's alone, also while the run goes on."""
    standin.script("*", [SAID])
    with otel_agent.agent_run("keeper"):
        answer = weakref.ref(await driver.done(reach(driver.client(sdk, standin), path)(**options)))
        await settle()
        assert answer() is None
    assert len(telemetry.turns) == 1
