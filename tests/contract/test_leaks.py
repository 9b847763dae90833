"""Canaries in every carrier that these SDKs can carry: in none of what is emitted, in none of our own log lines."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import otel_agent
from otel_agent import guard
from otel_agent.testing import Canaries, Capture, Standin
from otel_agent.testing.standin import Body, Failure, RawBlock, Redacted, Refusal, Reply, StreamError, Text, Thinking, ToolUse

from .drivers import Driver, reach
from .test_host_safety import FAULTS
from .ways import CHAT_STREAM, CLAUDE, GPT


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Everything our own logger says, with whatever a handler could add to a line."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s %(exc_info)s %(stack_info)s %(args)s"))
    guard.log.addHandler(handler)
    yield stream
    guard.log.removeHandler(handler)


def said(c: Canaries) -> Reply:
    """A reply with a canary in every place of every dialect."""
    blocks = [
        Thinking(c["anthropic.thinking"], signature=c["anthropic.signature"], summary=c["responses.reasoning_summary"]),
        Redacted(c["anthropic.redacted_thinking"]),
        RawBlock(
            {"anthropic": {"type": "compaction", "content": c["anthropic.compaction"], "signature": c["anthropic.compaction_signature"]}}
        ),
        RawBlock({"anthropic": {"type": "pondering", "text": c["anthropic.unknown_block"], "thinking": c["anthropic.unknown_field"]}}),
        RawBlock(
            {
                "anthropic": {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s1",
                    "content": [
                        {
                            "type": "web_search_result",
                            "encrypted_content": c["anthropic.web_encrypted"],
                            "title": c["anthropic.server_tool_result"],
                            "url": "https://a.b",
                        }
                    ],
                }
            }
        ),
        RawBlock({"openai.responses": {"type": "pondering", "id": "p1", "text": c["responses.unknown_item"]}}),
        RawBlock(
            {
                "openai.responses": {
                    "type": "agent_message",
                    "id": "a1",
                    "content": [{"type": "text", "text": c["responses.agent_message"]}],
                    "encrypted_content": c["responses.agent_encrypted"],
                }
            }
        ),
        Text(f"<think>{c['anthropic.inline_think']}</think>{c['anthropic.text']}"),
        Text(c["responses.commentary"], phase="commentary"),
        Refusal(c["chat.refusal"]),
        ToolUse("find", {"q": c["anthropic.tool_input"]}, id="toolu_1"),
        ToolUse(c["tool.arguments"], c["chat.tool_arguments"], id="toolu_2"),
    ]
    extra = {
        "anthropic": {"stop_sequence": c["anthropic.stop_sequence"], "unknown": c["anthropic.unknown_field"]},
        "openai.chat": {"unknown": c["chat.unknown_field"]},
        "openai.responses": {"unknown": c["responses.unknown_field"], "instructions": c["responses.instructions"]},
    }
    return Reply(blocks, extra=extra, stop_details={"category": "cyber", "explanation": c["anthropic.stop_explanation"]})


def asked(c: Canaries) -> dict[str, dict[str, Any]]:
    """Requests with a canary in every place."""
    schema = {
        "type": "object",
        "description": c["request.schema_description"],
        "properties": {"q": {"type": "string", "enum": [c["request.schema_enum"]]}},
    }
    history = [
        {"role": "user", "content": [{"type": "text", "text": c["request.user"]}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": c["request.thinking"], "signature": c["request.signature"]},
                {"type": "text", "text": c["request.assistant"]},
                {"type": "tool_use", "id": "toolu_0", "name": "find", "input": {"q": c["request.tool_arguments"]}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_0", "content": c["request.tool_result"]}]},
    ]
    chat_history = [
        {"role": "system", "content": c["request.system"]},
        {"role": "user", "content": c["request.assistant_thinking_wrapper"]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": c["request.thinking"],
            "tool_calls": [
                {
                    "id": "call_0",
                    "type": "function",
                    "function": {"name": "find", "arguments": json.dumps({"q": c["request.tool_arguments"]})},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_0", "content": c["request.tool_result"]},
    ]
    items = [
        {"role": "user", "content": c["request.user"]},
        {
            "type": "reasoning",
            "id": "rs_0",
            "summary": [{"type": "summary_text", "text": c["request.thinking"]}],
            "encrypted_content": c["request.signature"],
        },
        {"type": "function_call", "call_id": "call_0", "name": "find", "arguments": c["request.tool_arguments"]},
        {"type": "function_call_output", "call_id": "call_0", "output": c["request.tool_result"]},
    ]
    headers = {"extra_headers": {"x-note": c["request.header"]}, "extra_body": {"note": c["request.extra_body"]}}
    function = {"name": "find", "description": c["request.tool_description"], "parameters": schema}
    return {
        "anthropic": {
            "model": CLAUDE,
            "max_tokens": 50,
            "system": c["request.system"],
            "messages": history,
            "metadata": {"user_id": c["request.metadata"]},
            "stop_sequences": [c["request.stop"]],
            "tools": [{"name": "find", "description": c["request.tool_description"], "input_schema": schema}],
            **headers,
        },
        "chat": {
            **CHAT_STREAM,
            "messages": chat_history,
            "stop": [c["request.stop"]],
            "metadata": {"m": c["request.metadata"]},
            "tools": [{"type": "function", "function": function}],
            **headers,
        },
        "responses": {
            "model": GPT,
            "instructions": c["request.system"],
            "input": items,
            "metadata": {"m": c["request.metadata"]},
            "tools": [{"type": "function", "strict": False, **function}],
            **headers,
        },
    }


ROUTES = {"anthropic": ("anthropic", "messages"), "chat": ("openai", "chat.completions"), "responses": ("openai", "responses")}
EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES)


async def talk(driver: Driver, client: Any, path: str, options: dict[str, Any]) -> None:
    """Plain, streamed, raw."""
    resource = reach(client, path)
    plain = {key: value for key, value in options.items() if key != "stream_options"}
    await driver.done(resource.create(**plain))
    await driver.items(await driver.done(resource.create(stream=True, **options)))
    await driver.done(resource.with_raw_response.create(**plain))


@EVERY_ROUTE
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
async def test_nothing_of_an_exchange_comes_out(
    driver: Driver,
    route: str,
    standin: Standin,
    telemetry: Capture,
    canaries: Canaries,
    lines: io.StringIO,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Cases 055, 056: responses, replayed inputs, tool schemas, parameters, headers; names only, and only those that were offered."""
    sdk, path = ROUTES[route]
    standin.script("*", [said(canaries)], after="repeat")
    with otel_agent.agent_run("leaky"):
        await talk(driver, driver.client(sdk, standin), path, asked(canaries)[route])
    sent = b"".join(request.body for request in standin.requests)
    assert canaries.find_in(sent), "the canaries were never on the wire"
    assert len(telemetry.turns) == 3
    assert telemetry.turns[0]["otel_agent.tools.offered_names"] == ["find"]
    assert telemetry.turns[0]["otel_agent.response.tool_call_names"] == ["find", "_OTHER"]
    canaries.assert_absent(telemetry.everything(), lines.getvalue(), caplog.text)


@EVERY_ROUTE
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("fault", ["adapter.read_response", "accumulator.feed", "history", "replay.check", "emitter.finish", "digester"])
async def test_our_own_failures_say_nothing_either(
    driver: Driver, route: str, fault: str, standin: Standin, quiet_telemetry: Capture, canaries: Canaries, lines: io.StringIO
) -> None:
    """Case 066: when we fail over such an exchange, our log line has the place and the class alone."""
    sdk, path = ROUTES[route]
    standin.script("*", [said(canaries)], after="repeat")
    guard._reported.clear()
    with pytest.MonkeyPatch.context() as patch, otel_agent.agent_run("leaky"):
        FAULTS[fault](patch)
        await talk(driver, driver.client(sdk, standin), path, asked(canaries)[route])
    assert "FaultError" in lines.getvalue()
    canaries.assert_absent(quiet_telemetry.everything(), lines.getvalue())


@EVERY_ROUTE
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
async def test_nothing_of_an_error_comes_out(
    driver: Driver, route: str, standin: Standin, telemetry: Capture, canaries: Canaries, lines: io.StringIO
) -> None:
    """Case 054: an error body that quotes the request, its codes and types, an error in the middle of a stream."""
    sdk, path = ROUTES[route]
    body = canaries["error.body"]
    steps = [
        Failure(400, message=body, echo_request=True),
        Failure(500, type=body, code=canaries["chat.error_message"], param=body, message=body),
        Body({"error": {"type": body, "code": body, "message": body}, "type": "error", "detail": body}, status=422),
        Body(body.encode(), status=503, content_type="text/html", headers={"request-id": body, "x-request-id": body}),
        StreamError(said(canaries), 3, body, body, body),
    ]
    standin.script("*", steps)
    options = asked(canaries)[route]
    for step in steps:
        try:
            got = await driver.done(reach(driver.client(sdk, standin), path).create(stream=True, **options))
            assert step is steps[-1]
            await driver.items(got)
        except Exception as error:
            assert canaries.find_in(error) or step is steps[-1]
    assert len(telemetry.turns) == len(steps)
    assert all("error.type" in turn for turn in telemetry.turns)
    canaries.assert_absent(telemetry.everything(), lines.getvalue())


def test_nothing_of_a_tools_failure_comes_out(telemetry: Capture, canaries: Canaries, lines: io.StringIO) -> None:
    """Cases 054, 067: message, repr, arguments, cause, context, notes, class name, and the source lines around the raise."""

    @otel_agent.tool
    def lookup(words: str) -> str:
        error_class = type(canaries["error.repr"], (Exception,), {"__repr__": lambda _: canaries["error.repr"]})
        try:
            try:
                raise LookupError(canaries["error.context"])
            except LookupError:
                raise KeyError(canaries["error.cause"]) from None
        except KeyError as cause:
            error = error_class(canaries["error.message"], words)
            error.add_note(canaries["error.note"])
            raise error from cause

    with pytest.raises(Exception) as raised, otel_agent.agent_run("leaky"):
        lookup(canaries["tool.arguments"])
    assert canaries.find_in(raised.value)
    assert telemetry.tools[0]["error.type"] == telemetry.runs[0]["error.type"] == "_OTHER"
    canaries.assert_absent(telemetry.everything(), lines.getvalue())


def test_nothing_of_a_tool_comes_out(telemetry: Capture, canaries: Canaries, lines: io.StringIO) -> None:
    """Case 055: arguments, argument names the model made up, results, failures as data, documentation, progress."""

    def store(**given: Any) -> Any:
        return {"isError": True, "content": canaries["tool.error_result"], **given}

    def progress() -> Iterator[str]:
        yield canaries["tool.progress"]

    store.__doc__ = canaries["tool.docstring"]
    schema = {"type": "object", "description": canaries["request.tool_description"], "properties": {"order": {"type": "integer"}}}
    watched = otel_agent.tool(schema=schema)(store)
    with otel_agent.agent_run(canaries["request.user"], conversation_id=canaries["request.metadata"], version=canaries["request.stop"]):
        watched(order=canaries["tool.arguments"], **{canaries["chat.tool_arguments"]: canaries["tool.result"]})
        list(otel_agent.tool(progress)())
        with otel_agent.tool_call(canaries["tool.result"]):
            otel_agent.tool("echo")(lambda: canaries["tool.result"])()
        with otel_agent.retrieval(canaries["request.system"], top_k=3) as found:
            found.documents([canaries["request.document_title"], "doc-1"])
        otel_agent.feedback("accepted", response_id=canaries["request.user"])
    assert telemetry.tools[0]["otel_agent.tool.argument_names"] == ["order"]
    assert telemetry.runs[0]["gen_ai.agent.name"] == "_OTHER"
    canaries.assert_absent(telemetry.everything(), lines.getvalue())
