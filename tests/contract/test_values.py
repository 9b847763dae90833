"""What is sent and what comes back in odd shapes: nothing of the caller's is walked, nothing foreign reaches an attribute."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import otel_agent
from otel_agent.settings import Settings
from otel_agent.testing import TEST_KEY, Capture, Standin, capture
from otel_agent.testing.standin import Body, Failure, RawStream

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
async def test_null_and_foreign_types(
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
            except Exception as error:
                return type(error), str(error)

    bare = await got()
    with capture() as telemetry:
        assert await got() == bare
    assert len(telemetry.turns) == 1


async def test_request_metadata_is_left_alone(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 081: the caller's metadata goes out untouched, and its user id is not recorded."""
    standin.script("*", [SAID])
    await driver.done(driver.client("anthropic", standin).messages.create(**MESSAGES, metadata={"user_id": "customer-4711"}))
    assert standin.requests[0].json["metadata"] == {"user_id": "customer-4711"}
    assert "customer-4711" not in telemetry.everything()


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

    call = {"index": 0, "id": "\ud83e", "type": "function", "function": {"name": "\ud83e", "arguments": "{}"}}
    chunk = {"id": "\ud83e", "model": "\ud83e", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "\ud83e"}]}
    standin.script("*", [RawStream([f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()]), SAID])
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
        with pytest.raises(Exception):  # noqa: B017 - whichever class the SDK has for it
            await driver.done(client.chat.completions.create(**CHAT))
    assert [turn["http.response.status_code"] for turn in telemetry.turns] == [502, 401]
    assert "lantern" not in telemetry.everything()
