"""Usage, effort and finish reasons as the real SDKs hand them over."""

from __future__ import annotations

import json
from typing import Any

import pytest

import otel_agent
from otel_agent.settings import Settings
from otel_agent.testing import TEST_KEY, Capture, Standin, capture
from otel_agent.testing.standin import RawBlock, RawStream, Reply, Text, ToolUse, Usage

from .drivers import Driver, reach
from .ways import CHAT, CHAT_STREAM, CLAUDE, MESSAGES, RESPONSES, SAID

TOOLS = [{"name": "find", "description": "Find it.", "input_schema": {"type": "object", "properties": {}}}]


def event(kind: str, **data: Any) -> bytes:
    """One event of a Messages stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def messages_stream(opening: dict[str, Any], closing: dict[str, Any] | None) -> RawStream:
    """A short Messages stream with these two usage objects."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": CLAUDE,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    chunks = [
        event("message_start", message={**message, "usage": opening}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Oslo"}),
        event("content_block_stop", index=0),
    ]
    if closing is not None:
        chunks += [event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=closing), event("message_stop")]
    return RawStream(chunks)


@pytest.mark.parametrize(
    ("opening", "closing", "counts"),
    [
        ({"input_tokens": 15, "output_tokens": 1}, {"input_tokens": None, "output_tokens": 20}, (15, 20, "complete")),
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 123, "output_tokens": 45}, (123, 45, "complete")),
        ({"input_tokens": 15, "output_tokens": 3}, {"output_tokens": 159}, (15, 159, "complete")),
        ({"input_tokens": 15, "output_tokens": 1}, None, (15, None, "partial")),
    ],
)
async def test_cumulative_usage(driver: Driver, opening: Any, closing: Any, counts: Any, standin: Standin, telemetry: Capture) -> None:
    """Cases 028, 031, 043: per field a later number replaces an earlier one, a null erases nothing, nothing is summed."""
    standin.script("*", [messages_stream(opening, closing)])
    await driver.items(await driver.done(driver.client("anthropic", standin).messages.create(stream=True, **MESSAGES)))
    (turn,) = telemetry.turns
    assert (turn.get("gen_ai.usage.input_tokens"), turn.get("gen_ai.usage.output_tokens"), turn["otel_agent.usage.state"]) == counts


@pytest.mark.parametrize("path", ["chat.completions.create", "responses.create"])
async def test_cache_writes_of_openai(driver: Driver, path: str, standin: Standin, telemetry: Capture) -> None:
    """Case 036: read and write are subsets of the input, in both spellings."""
    standin.script("*", [Reply([Text("Oslo")], usage=Usage(input=2600, cache_read=2000, cache_write=400, output=5))])
    await driver.done(reach(driver.client("openai", standin), path)(**(CHAT if "chat" in path else RESPONSES)))
    (turn,) = telemetry.turns
    names = ("input_tokens", "cache_read.input_tokens", "cache_write.input_tokens")
    assert [turn[f"gen_ai.usage.{name}"] for name in names] == [2600, 2000, 400]


async def test_a_chat_stream_without_the_usage_flag(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Cases 040, 041: no usage is missing usage, never zero or an estimate; and the request is not touched to get it."""
    standin.script("*", [SAID])
    await driver.items(await driver.done(driver.client("openai", standin).chat.completions.create(stream=True, **CHAT)))
    (turn,) = telemetry.turns
    assert turn["otel_agent.usage.state"] == "missing"
    assert not [name for name in turn if name.startswith("gen_ai.usage.")]
    assert standin.requests[0].json == {**CHAT, "stream": True}
    assert telemetry.total("otel_agent.turns", otel_agent__usage__state="missing") == 1
    assert telemetry.points("gen_ai.client.inference.usage.input_tokens") == []


async def test_metrics_do_not_depend_on_sampling(driver: Driver, standin: Standin) -> None:
    """Case 042: with every span sampled away, tokens, durations and the log record are there."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    standin.script("*", [SAID])
    with capture() as telemetry:
        memory = telemetry._memory
        otel_agent.instrument(TracerProvider(sampler=ALWAYS_OFF), memory.meter, memory.logger, settings=Settings(digest_key=TEST_KEY))
        stream = await driver.done(driver.client("openai", standin).chat.completions.create(stream=True, **CHAT_STREAM))
        await driver.items(stream)
        assert telemetry.spans == []
        assert telemetry.total("gen_ai.client.inference.usage.input_tokens") == 1000
        assert telemetry.total("gen_ai.client.inference.usage.output_tokens") == 90
        assert telemetry.total("gen_ai.client.inference.duration") == 1
        assert len(telemetry.turns) == 1


EFFORTS = [
    ("openai", "chat.completions.create", {**CHAT, "reasoning_effort": "minimal"}, {"gen_ai.request.reasoning.level": "minimal"}),
    ("openai", "responses.create", {**RESPONSES, "reasoning": {"effort": "xhigh"}}, {"gen_ai.request.reasoning.level": "xhigh"}),
    ("openai", "responses.create", {**RESPONSES, "reasoning": {"effort": "galactic"}}, {"gen_ai.request.reasoning.level": "galactic"}),
    (
        "anthropic",
        "messages.create",
        {**MESSAGES, "extra_body": {"output_config": {"effort": "max"}}},
        {"gen_ai.request.reasoning.level": "max"},
    ),
    (
        "anthropic",
        "messages.create",
        {**MESSAGES, "thinking": {"type": "enabled", "budget_tokens": 4096}},
        {"otel_agent.request.reasoning.budget_tokens": 4096, "otel_agent.request.reasoning.mode": "enabled"},
    ),
    ("anthropic", "messages.create", {**MESSAGES, "thinking": {"type": "adaptive"}}, {"otel_agent.request.reasoning.mode": "adaptive"}),
    (
        "openai",
        "chat.completions.create",
        {**CHAT, "extra_body": {"reasoning": {"effort": "low"}}},
        {"gen_ai.request.reasoning.level": "low"},
    ),
    ("openai", "chat.completions.create", CHAT, {}),
]


@pytest.mark.parametrize(("sdk", "path", "options", "facts"), EFFORTS)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
async def test_effort(driver: Driver, sdk: str, path: str, options: Any, facts: Any, standin: Standin, telemetry: Capture) -> None:
    """Case 047: the level exactly as sent, budgets apart, unset absent; unknown words are folded on metrics."""
    standin.script("*", [SAID])
    await driver.done(reach(driver.client(sdk, standin), path)(**options))
    (turn,) = telemetry.turns
    names = ("gen_ai.request.reasoning.level", "otel_agent.request.reasoning.budget_tokens", "otel_agent.request.reasoning.mode")
    assert {name: turn[name] for name in names if name in turn} == facts
    labels = {point["attributes"].get("gen_ai.request.reasoning.level") for point in telemetry.points("otel_agent.turns")}
    level = facts.get("gen_ai.request.reasoning.level")
    assert labels == {"_OTHER" if level == "galactic" else level}


# Finish reasons


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("sdk", "path", "options", "raw"),
    [
        ("anthropic", "messages.create", MESSAGES, "max_tokens"),
        ("openai", "chat.completions.create", CHAT_STREAM, "length"),
        ("openai", "responses.create", RESPONSES, "max_output_tokens"),
    ],
    ids=["messages", "chat", "responses"],
)
async def test_truncation_is_one_word_everywhere(
    driver: Driver,
    sdk: str,
    path: str,
    options: Any,
    raw: str,
    streaming: bool,
    standin: Standin,
    telemetry: Capture,
) -> None:
    """Cases 114, 117: raw as spelled, normal the same for all, and on the metric."""
    standin.script("*", [Reply([Text("It waits in")], stop="max_tokens")])
    options = {key: value for key, value in options.items() if streaming or key != "stream_options"}
    got = await driver.done(reach(driver.client(sdk, standin), path)(**options, **({"stream": True} if streaming else {})))
    if streaming:
        await driver.items(got)
    (turn,) = telemetry.turns
    assert (turn["otel_agent.response.finish_reasons_raw"], turn["gen_ai.response.finish_reasons"]) == ([raw], ["length"])
    assert telemetry.total("otel_agent.turns", otel_agent__response__finish_reason="length", otel_agent__response__truncated=True) == 1


async def test_one_choice_of_two_is_cut(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 114: with two choices both reasons in order; the worse one stands for the turn."""
    standin.script("*", [Reply([Text("Oslo")], alternatives=(Reply([Text("It waits")], stop="max_tokens"),))])
    await driver.done(driver.client("openai", standin).chat.completions.create(**CHAT, n=2))
    (turn,) = telemetry.turns
    assert turn["gen_ai.response.finish_reasons"] == ["stop", "length"]
    assert (turn["otel_agent.response.finish_reason"], turn["gen_ai.request.choice.count"]) == ("length", 2)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_tool_call_with_an_unknown_stop_reason(driver: Driver, streaming: bool, standin: Standin, telemetry: Capture) -> None:
    """Case 069: the reply is passed on whole; the raw word is kept, the metric says other, and the unknown is counted."""
    block = {"type": "pondering", "depth": 3}
    standin.script("*", [Reply([RawBlock({"anthropic": block}), ToolUse("find", {}, id="toolu_1")], stop="bored_now")])
    got = await driver.done(driver.client("anthropic", standin).messages.create(**MESSAGES, tools=TOOLS, stream=streaming))
    if streaming:
        await driver.items(got)
    else:
        assert (got.stop_reason, got.content[-1].name) == ("bored_now", "find")
    (turn,) = telemetry.turns
    assert turn["otel_agent.response.tool_call_names"] == ["find"]
    assert turn["otel_agent.response.finish_reasons_raw"] == ["bored_now"]
    assert telemetry.total("otel_agent.turns", otel_agent__response__finish_reason="other") == 1
    assert telemetry.total("otel_agent.self.events", otel_agent__self__kind="unknown") >= 1


async def test_a_parse_that_raises_for_length(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 117: truncation that the SDK turns into an exception is a truncation with usage, not a plain error."""
    from .ways import Place

    standin.script("*", [Reply([Text('{"pl')], stop="max_tokens", usage=Usage(input=10, output=5))])
    parse = reach(driver.client("openai", standin), "chat.completions.parse", "beta.chat.completions.parse")
    with pytest.raises(Exception, match="length limit"):
        await driver.done(parse(response_format=Place, **CHAT))
    (turn,) = telemetry.turns
    assert (turn["otel_agent.response.truncated"], turn["otel_agent.response.finish_reason"]) == (True, "length")
    assert turn["gen_ai.usage.output_tokens"] == 5
    assert turn["error.type"] == "LengthFinishReasonError"
