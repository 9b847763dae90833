"""What is sent and what comes back in odd shapes: nothing of the caller's is walked, nothing foreign reaches an attribute."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

import otel_agent
from otel_agent.settings import Settings
from otel_agent.testing import TEST_KEY, Capture, Standin, capture
from otel_agent.testing.standin import Body, Failure, RawBlock, RawStream, Reply, Text, ToolUse, Usage

from .drivers import Driver, reach
from .test_transparency import content, wire
from .ways import ASK, CHAT, CHAT_STREAM, CLAUDE, GPT, MESSAGES, RESPONSES, SAID


def once(items: list[Any], walked: list[int]) -> Iterator[Any]:
    """A generator of items that says what was taken from it."""
    for number, item in enumerate(items):
        walked.append(number)
        yield item


TOOLS = [{"name": "find", "description": "Find it.", "input_schema": {"type": "object", "properties": {}}}]


async def test_one_shot_iterables_are_the_sdks_to_walk(driver: Driver) -> None:
    """Case 016: generators of messages and tools are walked as often as without us, and the request is byte-equal."""

    async def sent() -> tuple[Any, list[int]]:
        with Standin(seed="same") as standin:
            standin.script("*", [SAID, SAID])
            client = driver.client("anthropic", standin)
            walked: list[int] = []
            given = {"messages": once(ASK, walked), "tools": once(TOOLS, walked)}
            await driver.done(client.messages.create(model=CLAUDE, max_tokens=5, **given))
            stream = await driver.done(client.messages.create(model=CLAUDE, max_tokens=5, messages=once(ASK, walked), stream=True))
            await driver.items(stream)
            return [wire(request) for request in standin.requests], walked

    bare = await sent()
    assert b"Where is order A1?" in bare[0][0][3]
    with capture() as telemetry, otel_agent.agent_run("lazy"):
        assert await sent() == bare
    assert len(telemetry.turns) == 2


async def test_sentinels(driver: Driver, standin: Standin, telemetry: Capture, caplog: pytest.LogCaptureFixture) -> None:
    """Case 026: values that mean "not given" are no values; of a response format only the type is kept; no warnings."""
    import anthropic
    import openai

    standin.script("*", [SAID, SAID])
    schema = {"type": "json_schema", "json_schema": {"name": "place", "schema": {"type": "object", "description": "a lantern"}}}
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        client = driver.client("openai", standin)
        options = {"top_p": openai.NOT_GIVEN, "tools": openai.NOT_GIVEN, "response_format": schema}
        await driver.done(client.chat.completions.create(**CHAT, **options))
        client = driver.client("anthropic", standin)
        await driver.done(
            client.messages.create(**MESSAGES, stop_sequences=anthropic.NOT_GIVEN, tools=anthropic.NOT_GIVEN, system=anthropic.NOT_GIVEN)
        )
    chat, message = telemetry.turns
    assert chat["gen_ai.output.type"] == "json"
    for turn in (chat, message):
        assert not {"gen_ai.request.top_p", "otel_agent.tools.offered_names", "otel_agent.tools.offered_count"} & set(turn)
    assert "lantern" not in telemetry.everything()
    assert caplog.records == []


ODD = {
    "id": None, "object": "chat.completion", "created": None, "model": None, "service_tier": None, "system_fingerprint": 7,
    "choices": [{"index": 0, "finish_reason": {"type": "stop"}, "message": {"role": "assistant", "content": "Oslo", "tool_calls": None}}],
    "usage": {"prompt_tokens": None, "completion_tokens": "9", "total_tokens": True, "prompt_tokens_details": []},
}  # fmt: skip
ODD_MESSAGE = {
    "id": 7, "type": "message", "role": "assistant", "model": ["x"], "content": [None, "text", {"type": 3}, {"type": "text", "text": None}],
    "stop_reason": {"why": "not"}, "stop_sequence": None, "usage": {"input_tokens": None, "output_tokens": -1},
}  # fmt: skip
ODD_RESPONSE = {
    "id": {},
    "object": "response",
    "status": 5,
    "model": None,
    "output": [None, {"type": None}],
    "usage": None,
    "created_at": "x",
}


@pytest.mark.parametrize(
    ("sdk", "path", "options", "body"),
    [
        ("openai", "chat.completions.create", CHAT, ODD), ("anthropic", "messages.create", MESSAGES, ODD_MESSAGE),
        ("openai", "responses.create", RESPONSES, ODD_RESPONSE), ("openai", "chat.completions.create", CHAT, {}),
        ("anthropic", "messages.create", MESSAGES, {}), ("openai", "responses.create", RESPONSES, {}),
    ],
    ids=["chat", "messages", "responses", "chat-empty", "messages-empty", "responses-empty"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")
async def test_null_and_foreign_types(  # noqa: PLR0913 - a row's columns
    driver: Driver, sdk: str, path: str, options: Any, body: Any, standin: Standin, telemetry: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    """Case 027: missing means absent; no null and no foreign type reaches an attribute or a label; no warning."""
    standin.script("*", [Body(body)] * 2)
    call = reach(driver.client(sdk, standin), path)
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        await driver.done(call(**options))
        raw = reach(driver.client(sdk, standin), path.rpartition(".")[0]).with_raw_response
        await driver.done(raw.create(**options))
    assert len(telemetry.turns) == 2
    for turn in telemetry.turns:
        assert all(isinstance(value, str | int | float | bool | list) for value in turn.values())
        assert not {"gen_ai.response.model", "gen_ai.usage.input_tokens"} & set(turn)
        assert turn["otel_agent.response.finish_reason"] in {"unknown", "other"}
    assert caplog.records == []


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
@pytest.mark.parametrize("body", [b"not json", b"", b"[1, 2]", b"null", b'"text"', b"\xff\xfe"], ids=repr)
async def test_a_body_that_is_no_object(driver: Driver, sdk: str, body: bytes) -> None:
    """Case 003: whatever the SDK makes of it is what the caller gets, with one record of the call."""
    path, options = ("messages.create", MESSAGES) if sdk == "anthropic" else ("chat.completions.create", CHAT)

    async def got() -> Any:
        with Standin(seed="same") as standin:
            standin.script("*", [Body(body)])
            try:
                return content(await driver.done(reach(driver.client(sdk, standin), path)(**options)))
            except Exception as error:  # noqa: BLE001 - the SDK's own, compared
                return type(error), str(error)

    bare = await got()
    with capture() as telemetry:
        assert await got() == bare
    assert len(telemetry.turns) == 1


# Usage


def event(kind: str, **data: Any) -> bytes:
    """One event of a Messages stream."""
    import json

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
async def test_cumulative_usage(  # noqa: PLR0913 - a row's columns
    driver: Driver, opening: Any, closing: Any, counts: Any, standin: Standin, telemetry: Capture
) -> None:
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
    ("anthropic", "messages.create", {**MESSAGES, "extra_body": {"output_config": {"effort": "max"}}}, {"gen_ai.request.reasoning.level": "max"}),
    (
        "anthropic", "messages.create", {**MESSAGES, "thinking": {"type": "enabled", "budget_tokens": 4096}},
        {"otel_agent.request.reasoning.budget_tokens": 4096, "otel_agent.request.reasoning.mode": "enabled"},
    ),
    ("anthropic", "messages.create", {**MESSAGES, "thinking": {"type": "adaptive"}}, {"otel_agent.request.reasoning.mode": "adaptive"}),
    ("openai", "chat.completions.create", {**CHAT, "extra_body": {"reasoning": {"effort": "low"}}}, {"gen_ai.request.reasoning.level": "low"}),
    ("openai", "chat.completions.create", CHAT, {}),
]  # fmt: skip


@pytest.mark.parametrize(("sdk", "path", "options", "facts"), EFFORTS)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
async def test_effort(  # noqa: PLR0913 - a row's columns
    driver: Driver, sdk: str, path: str, options: Any, facts: Any, standin: Standin, telemetry: Capture
) -> None:
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
    [("anthropic", "messages.create", MESSAGES, "max_tokens"), ("openai", "chat.completions.create", CHAT_STREAM, "length"), ("openai", "responses.create", RESPONSES, "max_output_tokens")],
    ids=["messages", "chat", "responses"],
)  # fmt: skip
async def test_truncation_is_one_word_everywhere(  # noqa: PLR0913 - a row's columns
    driver: Driver,
    sdk: str,
    path: str,
    options: Any,
    raw: str,
    streaming: bool,
    standin: Standin,
    telemetry: Capture,  # noqa: FBT001
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
async def test_a_tool_call_with_an_unknown_stop_reason(driver: Driver, streaming: bool, standin: Standin, telemetry: Capture) -> None:  # noqa: FBT001
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


async def test_a_background_response_is_polled(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 086: asking for a stored response again is no second model turn with the same tokens."""
    standin.script("*", [SAID])
    client = driver.client("openai", standin)
    queued = await driver.done(client.responses.create(**RESPONSES, background=True))
    for _ in range(4):
        last = await driver.done(client.responses.retrieve(queued.id))
    assert last.status == "completed"
    complete = [turn for turn in telemetry.turns if turn["otel_agent.usage.state"] == "complete"]
    assert len(complete) <= 1
    assert telemetry.total("gen_ai.client.inference.usage.output_tokens") in {0, 90}
    assert len([turn for turn in telemetry.turns if turn["gen_ai.operation.name"] == "chat"]) == 1


async def test_request_metadata_is_left_alone(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 081: the caller's metadata goes out untouched, and its user id is not recorded."""
    standin.script("*", [SAID])
    await driver.done(driver.client("anthropic", standin).messages.create(**MESSAGES, metadata={"user_id": "customer-4711"}))
    assert standin.requests[0].json["metadata"] == {"user_id": "customer-4711"}
    assert "4711" not in telemetry.everything()


async def test_many_model_names(driver: Driver, standin: Standin) -> None:
    """Case 104: distinct values of an open label are capped; spans keep what was asked for."""
    standin.script("*", [SAID], after="repeat")
    with capture(settings=Settings(digest_key=TEST_KEY, label_limit=3)) as telemetry:
        client = driver.client("openai", standin)
        for number in range(6):
            await driver.done(client.chat.completions.create(model=f"m-{number}", messages=ASK))
        labels = {point["attributes"]["gen_ai.request.model"] for point in telemetry.points("otel_agent.turns")}
        assert labels == {"m-0", "m-1", "m-2", "_OTHER"}
        assert [turn["gen_ai.request.model"] for turn in telemetry.turns] == [f"m-{number}" for number in range(6)]


async def test_a_lone_surrogate_among_good_names(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 094: one name that cannot be encoded costs neither its own record nor the others'."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    standin.script("*", [RawStream([f'data: {{"id":"\\ud83e","model":"\\ud83e","choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"\\ud83e","type":"function","function":{{"name":"\\ud83e","arguments":"{{}}"}}}}]}},"finish_reason":"\\ud83e"}}]}}\n\ndata: [DONE]\n\n'.encode()]), SAID])  # fmt: skip
    client = driver.client("openai", standin)
    await driver.items(await driver.done(client.chat.completions.create(stream=True, **CHAT_STREAM)))
    await driver.done(client.chat.completions.create(**CHAT))
    assert encode_spans(telemetry._memory.spans()).SerializeToString()
    assert [turn.get("gen_ai.response.model") for turn in telemetry.turns] == ["_OTHER", GPT]


async def test_an_error_body_that_is_no_json(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 054: an error page of a proxy is a status and a class."""
    standin.script("*", [Body(b"<html>a lantern</html>", status=502, content_type="text/html"), Failure(401)])
    client = driver.client("openai", standin)
    for _ in range(2):
        with pytest.raises(Exception):  # noqa: B017, PT011 - whichever class the SDK has for it
            await driver.done(client.chat.completions.create(**CHAT))
    assert [turn["http.response.status_code"] for turn in telemetry.turns] == [502, 401]
    assert "lantern" not in telemetry.everything()
