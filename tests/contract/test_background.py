"""Responses made in the background: the call that asks gets an id, the end comes with a fetch. Each end is recorded once."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from opentelemetry import context as otel_context

from otel_agent import Budget, agent_run
from otel_agent.instrument.responses import MOST, Asked, Responses
from otel_agent.instrument.runtime import SUPPRESS
from otel_agent.protocol import RequestFacts
from otel_agent.settings import Settings
from otel_agent.testing import Canaries, Capture, Standin, capture
from otel_agent.testing.standin import BreakOff, Refusal, Reply, Text, Thinking, ToolUse

from .drivers import Driver, reach
from .ways import COUNTS, GPT, JSON, RESPONSES, SAID, USAGE, Place

TOOLS = [{"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}}]
TOKENS = "gen_ai.client.inference.usage.output_tokens"
ENDED = {**COUNTS, "otel_agent.response.fetched": True, "gen_ai.request.model": GPT, "gen_ai.operation.name": "chat"}

Fetch = Callable[[Driver, Any, str], Awaitable[Any]]


async def ask(driver: Driver, client: Any, **more: Any) -> Any:
    """A response in the background; every supported SDK can ask for one by its body."""
    return await driver.done(client.responses.create(**RESPONSES, extra_body={"background": True}, **more))


async def plain(driver: Driver, client: Any, name: str) -> Any:
    return await driver.done(client.responses.retrieve(name))


async def raw(driver: Driver, client: Any, name: str) -> Any:
    return (await driver.done(client.responses.with_raw_response.retrieve(name))).parse()


async def streaming_response(driver: Driver, client: Any, name: str) -> Any:
    async with driver.within(client.responses.with_streaming_response.retrieve(name)) as response:
        return await driver.done(response.parse())


async def resumed(driver: Driver, client: Any, name: str, after: int = 2) -> Any:
    """The last event's response of a resumed stream."""
    if "stream" in inspect.signature(client.responses.retrieve).parameters:
        stream = client.responses.retrieve(name, stream=True, starting_after=after)
    else:
        kind = (openai.AsyncStream if driver.is_async else openai.Stream)[ResponseStreamEvent]
        options = {"params": {"stream": "true", "starting_after": after}}
        stream = client.get(f"/responses/{name}", cast_to=Response, options=options, stream=True, stream_cls=kind)
    return (await driver.items(await driver.done(stream)))[-1].response


async def cancelled(driver: Driver, client: Any, name: str) -> Any:
    if hasattr(client.responses, "cancel"):
        return await driver.done(client.responses.cancel(name))
    return await driver.done(client.post(f"/responses/{name}/cancel", cast_to=Response))


FETCHES: dict[str, Fetch] = {"plain": plain, "raw": raw, "streaming_response": streaming_response, "resumed": resumed}
fetches = pytest.mark.parametrize("fetch", FETCHES.values(), ids=FETCHES)


@fetches
async def test_an_end_is_recorded_once(fetch: Fetch, driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """However it is fetched and however often. The call that asked says that its end is to come."""
    standin.script("*", [Reply(SAID.blocks, usage=USAGE, polls=3)])
    client = driver.client("openai", standin)
    queued = await ask(driver, client, reasoning={"effort": "high"})
    (turn,) = telemetry.turns
    assert (turn["otel_agent.response.finish_reason"], turn["otel_agent.response.finish_reasons_raw"]) == ("pending", ["queued"])
    assert turn["otel_agent.usage.state"] == "missing"
    assert not {"error.type", "otel_agent.response.fetched", "gen_ai.usage.input_tokens"} & set(turn)
    for _ in range(3):
        assert (await plain(driver, client, queued.id)).status == "in_progress"
    assert len(telemetry.turns) == 1
    for _ in range(3):
        assert (await fetch(driver, client, queued.id)).usage.output_tokens == 90
    for again in FETCHES.values():
        await again(driver, client, queued.id)
    _, ended = telemetry.turns
    expected = {
        **ENDED,
        "gen_ai.response.id": queued.id,
        "gen_ai.request.reasoning.level": "high",
        "otel_agent.response.finish_reason": "stop",
        "otel_agent.response.visible_blocks": 1,
    }
    assert expected.items() <= ended.items()
    assert ended["otel_agent.response.answer_digest"].startswith("hmac")
    assert ended.get("gen_ai.request.stream") == (True if fetch is resumed else None)


async def test_metrics_count_it_once(driver: Driver, standin: Standin) -> None:
    """Case 086: one call, one turn, its tokens; no turn without usage for an alert to find, older names included."""
    with capture(settings=Settings(older_metrics=True, digests=False)) as telemetry:
        standin.script("*", [SAID])
        client = driver.client("openai", standin)
        queued = await ask(driver, client)
        assert telemetry.total("otel_agent.turns") == 0
        for _ in range(4):
            await plain(driver, client, queued.id)
        labels = {"gen_ai__request__model": GPT, "otel_agent__response__finish_reason": "stop", "otel_agent__usage__state": "complete"}
        assert telemetry.total("otel_agent.turns") == telemetry.total("otel_agent.turns", **labels) == 1
        assert telemetry.total(TOKENS, gen_ai__request__model=GPT, gen_ai__operation__name="chat") == 90
        assert telemetry.total("gen_ai.client.inference.duration") == 1
        assert telemetry.total("gen_ai.client.operation.duration") == 1
        assert telemetry.total("gen_ai.client.token.usage", gen_ai__token__type="output") == 1


async def test_the_span_is_the_fetchs(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Below the run, as long as the fetch; polls have none."""
    standin.script("*", [SAID])
    client = driver.client("openai", standin)
    with agent_run("night-shift"):
        queued = await ask(driver, client)
        for _ in range(4):
            await plain(driver, client, queued.id)
    asked, ended, run = telemetry.spans
    assert [span["name"] for span in (asked, ended)] == [f"chat {GPT}"] * 2
    assert (ended["kind"], ended["status"], ended["parent_id"]) == ("CLIENT", "UNSET", run["span_id"])
    assert ended["seconds"] == pytest.approx(ended["attributes"]["otel_agent.duration"], abs=0.05)
    assert [record["span_id"] for record in telemetry.records if record["event"] == "otel_agent.model_turn"] == [
        asked["span_id"],
        ended["span_id"],
    ]


async def test_a_run_sums_it_as_one_turn(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Its tokens and calls belong to the run; what is due back is due once, and no budget of turns is used."""
    called = Reply([Thinking("Hm."), ToolUse("find", {}, id="call_1")], usage=USAGE)
    standin.script("*", [called, Reply([Text("Done.")], usage=USAGE)])
    client = driver.client("openai", standin)
    with agent_run("night-shift", budget=Budget(turns=2), on_exceed="raise"):
        queued = await ask(driver, client, tools=TOOLS)
        for _ in range(4):
            response = await plain(driver, client, queued.id)
        items = [item.to_dict() for item in response.output]
        answered = {"type": "function_call_output", "call_id": "call_1", "output": "Oslo"}
        given = [{"role": "user", "content": RESPONSES["input"]}, *items, answered]
        await driver.done(client.responses.create(model=GPT, input=given, tools=TOOLS))
    asked, ended, last = telemetry.turns
    assert [turn["otel_agent.run.turn"] for turn in (asked, ended, last)] == [1, 1, 2]
    assert (ended["otel_agent.response.finish_reason"], ended["otel_agent.response.tool_call_ids"]) == ("tool_call", ["call_1"])
    assert (last["otel_agent.replay.items"], last["otel_agent.replay.dropped"]) == (1, 0)
    (run,) = telemetry.runs
    assert (run["otel_agent.run.turns"], run["otel_agent.run.output_tokens"], run["otel_agent.run.usage_missing_turns"]) == (2, 180, 0)
    assert run["otel_agent.run.end_reason"] == "answered"


async def test_a_run_that_does_not_wait(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """It ends waiting, with a turn whose usage it does not know; a later run that fetches it gets the tokens and no turn."""
    standin.script("*", [SAID])
    client = driver.client("openai", standin)
    with agent_run("asks"):
        queued = await ask(driver, client)
    with agent_run("fetches"):
        for _ in range(3):
            await plain(driver, client, queued.id)
    asks, fetching = telemetry.runs
    assert (asks["otel_agent.run.end_reason"], asks["otel_agent.run.usage_missing_turns"]) == ("waiting", 1)
    assert "otel_agent.run.output_tokens" not in asks
    assert (fetching["otel_agent.run.turns"], fetching["otel_agent.run.usage_missing_turns"]) == (0, 0)
    assert fetching["otel_agent.run.output_tokens"] == 90
    assert "otel_agent.run.turn" not in telemetry.turns[1]


@fetches
async def test_a_response_of_another_process(fetch: Fetch, driver: Driver, standin: Standin) -> None:
    """Recorded by what it says itself: no model asked for, but the one that answered, the usage, the calls of the tools it echoes."""
    standin.script("*", [Reply([Thinking("Hm."), ToolUse("find", {}, id="call_1")], usage=USAGE, polls=0)])
    client = driver.client("openai", standin)
    with capture():
        queued = await ask(driver, client, tools=TOOLS)
    with capture() as elsewhere:
        for _ in range(2):
            await fetch(driver, client, queued.id)
        (turn,) = elsewhere.turns
        assert elsewhere.total(TOKENS) == 90
        assert elsewhere.spans[0]["name"] == "chat"
    assert {**COUNTS, "otel_agent.response.fetched": True, "gen_ai.response.model": GPT}.items() <= turn.items()
    assert (turn["otel_agent.response.tool_call_names"], turn["otel_agent.response.finish_reason"]) == (["find"], "tool_call")
    assert "gen_ai.request.model" not in turn


@fetches
async def test_a_response_that_was_waited_for(fetch: Fetch, driver: Driver, standin: Standin) -> None:
    """The call that asked has recorded all of it, here or in another process: reading it again adds nothing."""
    standin.script("*", [SAID])
    client = driver.client("openai", standin)
    with capture() as here:
        response = await driver.done(client.responses.create(**RESPONSES))
        await fetch(driver, client, response.id)
        assert len(here.turns) == len(here.spans) == 1
        assert here.total(TOKENS) == 90
    with capture() as elsewhere:
        await fetch(driver, client, response.id)
        assert (elsewhere.turns, elsewhere.spans, elsewhere.total(TOKENS)) == ([], [], 0)


async def test_a_stream_in_the_background(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Read to its end it is a turn like any other, and fetching it adds nothing."""
    standin.script("*", [SAID])
    client = driver.client("openai", standin)
    events = await driver.items(await ask(driver, client, stream=True))
    assert [event.type for event in events[:3]] == ["response.created", "response.queued", "response.in_progress"]
    for fetch in FETCHES.values():
        await fetch(driver, client, events[-1].response.id)
    (turn,) = telemetry.turns
    assert {**COUNTS, "otel_agent.response.finish_reason": "stop"}.items() <= turn.items()


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("after", [2, 6])
async def test_a_stream_that_is_resumed(clean: bool, after: int, driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """The stream that was cut off knows no end; the resumed one brings it, and a second reading of it does not."""
    standin.script("*", [BreakOff(SAID, after_events=after, clean=clean)])
    client = driver.client("openai", standin)
    with nullcontext() if clean else pytest.raises(Exception, match=r"incomplete|closed|Connection"):
        await driver.items(await ask(driver, client, stream=True))
    for _ in range(2):
        await resumed(driver, client, telemetry.turns[0]["gen_ai.response.id"], after - 1)
    cut, ended = telemetry.turns
    assert cut["otel_agent.usage.state"] == "missing"
    assert cut["otel_agent.response.finish_reason"] == ("unknown" if clean else "error")
    assert {**ENDED, "gen_ai.request.stream": True, "otel_agent.stream.end": "read"}.items() <= ended.items()
    assert telemetry.total(TOKENS) == 90


async def test_a_resumed_stream_that_is_left(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Brings no end, so the next one may."""
    standin.script("*", [SAID])
    client = driver.client("openai", standin)
    queued = await ask(driver, client)
    if "stream" not in inspect.signature(client.responses.retrieve).parameters:
        pytest.skip("this SDK resumes no stream")
    stream = await driver.done(client.responses.retrieve(queued.id, stream=True))
    await driver.step(stream)
    await driver.close(stream)
    assert len(telemetry.turns) == 1
    await resumed(driver, client, queued.id)
    assert len(telemetry.turns) == 2


async def test_the_helper_that_resumes(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """``responses.stream(response_id=...)`` fetches."""
    standin.script("*", [SAID])
    client = driver.client("openai", standin)
    if "starting_after" not in inspect.signature(client.responses.stream).parameters:
        pytest.skip("this SDK's helper resumes no stream")
    queued = await ask(driver, client)
    for _ in range(2):
        async with driver.within(client.responses.stream(response_id=queued.id)) as stream:
            assert (await driver.done(stream.get_final_response())).usage.output_tokens == 90
    assert [turn.get("otel_agent.response.fetched") for turn in telemetry.turns] == [None, True]


ENDS: dict[str, tuple[Reply, dict[str, Any]]] = {
    "cut off": (
        Reply([Thinking("Hm.")], stop="max_tokens", usage=USAGE),
        {"otel_agent.response.finish_reason": "length", "otel_agent.response.empty_truncated": True, **COUNTS},
    ),
    "refused": (Reply([Refusal("No.")], usage=USAGE), {"otel_agent.response.finish_reason": "content_filter", **COUNTS}),
    "failed": (Reply(stop="failed", usage=None), {"otel_agent.response.finish_reason": "error", "error.type": "server_error"}),
    "no usage": (Reply([Text("Hi.")], usage=None), {"otel_agent.response.finish_reason": "stop", "otel_agent.usage.state": "missing"}),
}


@pytest.mark.parametrize("case", ENDS)
async def test_other_ends(case: str, driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Every end is one."""
    reply, facts = ENDS[case]
    standin.script("*", [reply])
    client = driver.client("openai", standin)
    queued = await ask(driver, client)
    for _ in range(4):
        await plain(driver, client, queued.id)
    _, ended = telemetry.turns
    assert facts.items() <= ended.items()


async def test_cancelling(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """It is shown cancelled: without usage and no success, so that nobody takes it for a finished call that hides its usage."""
    standin.script("*", [Reply(SAID.blocks, polls=5)])
    client = driver.client("openai", standin)
    queued = await ask(driver, client)
    for _ in range(2):
        assert (await cancelled(driver, client, queued.id)).status == "cancelled"
    await plain(driver, client, queued.id)
    _, ended = telemetry.turns
    assert (ended["otel_agent.response.finish_reasons_raw"], ended["otel_agent.response.finish_reason"]) == (["cancelled"], "error")
    assert (ended["otel_agent.usage.state"], ended["error.type"]) == ("missing", "cancelled")


async def test_cancelling_too_late(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """A response that is over is shown as it ended."""
    standin.script("*", [Reply(SAID.blocks, usage=USAGE, polls=0)])
    client = driver.client("openai", standin)
    queued = await ask(driver, client)
    assert (await cancelled(driver, client, queued.id)).status == "completed"
    assert ENDED.items() <= telemetry.turns[1].items()


async def test_parsing_in_the_background(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """``parse`` asks like ``create``."""
    standin.script("*", [JSON])
    client = driver.client("openai", standin)
    parse = reach(client, "responses.parse")
    queued = await driver.done(parse(text_format=Place, extra_body={"background": True}, **RESPONSES))
    for _ in range(4):
        await plain(driver, client, queued.id)
    asked, ended = telemetry.turns
    assert asked["otel_agent.response.finish_reason"] == "pending"
    assert {**ENDED, "gen_ai.output.type": "json"}.items() <= ended.items()


async def test_a_fetch_that_fails(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """No turn has failed, and the caller gets the SDK's own exception."""
    client = driver.client("openai", standin)
    for fetch in FETCHES.values():
        with pytest.raises(openai.NotFoundError):
            await fetch(driver, client, "resp_gone")
    assert (telemetry.turns, telemetry.spans) == ([], [])


async def test_a_stretch_that_is_kept_unobserved(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """The ecosystem's own key holds for fetches too."""
    standin.script("*", [Reply(SAID.blocks, polls=0)])
    client = driver.client("openai", standin)
    queued = await ask(driver, client)
    token = otel_context.attach(otel_context.set_value(SUPPRESS, True))
    await plain(driver, client, queued.id)
    otel_context.detach(token)
    assert len(telemetry.turns) == 1


async def test_nothing_of_what_is_fetched_is_kept(driver: Driver, standin: Standin, telemetry: Capture, canaries: Canaries) -> None:
    """Neither thinking nor answer nor arguments."""
    blocks = [Thinking(canaries["thought"]), ToolUse("find", {"q": canaries["tool.arguments"]}), Text(canaries["said"])]
    standin.script("*", [Reply(blocks)])
    client = driver.client("openai", standin)
    queued = await ask(driver, client)
    for fetch in FETCHES.values():
        await fetch(driver, client, queued.id)
    assert len(telemetry.turns) == 2
    canaries.assert_absent(telemetry.everything())


def test_what_is_kept_in_mind_is_bounded() -> None:
    """The oldest are forgotten."""
    responses, asked = Responses(), Asked(RequestFacts("chat", "responses"), None, None, usage_missing=True)
    for number in range(MOST + 1):
        responses.begin(f"resp_{number}", asked)
    assert (responses.asked("resp_0"), responses.asked("resp_1")) == (None, asked)
    assert responses.tell("resp_1")
    assert not responses.tell("resp_1")
    assert responses.asked("resp_1") is None
