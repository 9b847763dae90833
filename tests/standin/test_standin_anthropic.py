"""The anthropic SDK, unmodified, against the stand-in."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from voices import Voice, reach

from otel_agent.testing.standin import (
    BreakOff,
    Chopped,
    Failure,
    RawBlock,
    Redacted,
    Reply,
    Standin,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    Usage,
)

ASK: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 512,
    "messages": [{"role": "user", "content": "Where is order A1?"}],
}
EVERY_BLOCK = Reply(
    [
        Thinking("I should look the order up before I answer.", signature="sig=="),
        Redacted("c2VhbGVk"),
        Text("Let me see, naïve café."),
        ToolUse("find_order", {"id": "A1", "deep": {"n": [1, 2]}}, id="toolu_1"),
    ],
    usage=Usage(input=1000, cache_read=700, cache_write=200, output=90, reasoning=60),
)
CONTENT = [
    {"type": "thinking", "thinking": "I should look the order up before I answer.", "signature": "sig=="},
    {"type": "redacted_thinking", "data": "c2VhbGVk"},
    {"type": "text", "text": "Let me see, naïve café."},
    {"type": "tool_use", "id": "toolu_1", "name": "find_order", "input": {"id": "A1", "deep": {"n": [1, 2]}}},
]


def content_of(message: Any) -> list[dict[str, Any]]:
    """A message's content as it would be sent back, without what old SDKs add as None."""
    shown = ("type", "thinking", "signature", "data", "text", "id", "name", "input")
    return [{key: value for key, value in block.to_dict().items() if key in shown} for block in message.content]


class TestMessages:
    """`messages.create` and what stands around it."""

    def test_a_reply_is_a_message_with_every_block(self, voice: Voice, standin: Standin) -> None:
        """Thinking, redacted thinking, text and tool use arrive with the counts of the script."""
        standin.script(ASK["model"], [EVERY_BLOCK])
        message = voice.run(voice.anthropic().messages.create(**ASK))
        assert content_of(message) == CONTENT
        assert message.stop_reason == "tool_use"
        usage = message.usage
        counts = (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
        assert counts == (100, 700, 200)
        assert usage.to_dict()["output_tokens_details"] == {"thinking_tokens": 60}

    def test_a_stream_adds_up_to_the_same_message(self, voice: Voice, standin: Standin) -> None:
        """The helper's final message of a stream has the content and counts of the plain reply."""
        standin.script(ASK["model"], [EVERY_BLOCK])
        client = voice.anthropic()
        message = voice.within(client.messages.stream(**ASK), lambda stream: stream.get_final_message())
        assert content_of(message) == CONTENT
        assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", 90)

    def test_the_events_come_in_the_documented_order(self, voice: Voice, standin: Standin) -> None:
        """Start, blocks with their deltas, message delta with cumulative usage, stop."""
        standin.script(ASK["model"], [Reply([Thinking("ab"), Text("cd")], usage=Usage(input=10, output=9))])
        stream = voice.run(voice.anthropic().messages.create(stream=True, **ASK))
        events = voice.items(stream)
        assert [event.type for event in events] == [
            "message_start",
            *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
            *("content_block_start", "content_block_delta", "content_block_stop"),
            "message_delta",
            "message_stop",
        ]
        assert (events[0].message.usage.input_tokens, events[0].message.usage.output_tokens) == (10, 1)
        assert [event.delta.type for event in events if event.type == "content_block_delta"] == [
            "thinking_delta",
            "signature_delta",
            "text_delta",
        ]
        assert events[-2].usage.output_tokens == 9

    def test_the_beta_route_speaks_the_same(self, voice: Voice, standin: Standin) -> None:
        """The beta namespace gets its message, whether its SDK marks the request in the query or not at all."""
        standin.script(ASK["model"], [EVERY_BLOCK])
        message = voice.run(voice.anthropic().beta.messages.create(**ASK))
        assert content_of(message) == CONTENT
        assert standin.requests[0].route == "/v1/messages"

    def test_the_beta_stream_helper_works(self, voice: Voice, standin: Standin) -> None:
        """`beta.messages.stream` gives its final message."""
        standin.script(ASK["model"], [EVERY_BLOCK])
        stream = reach(voice.anthropic(), "beta.messages.stream")
        message = voice.within(stream(**ASK), lambda entered: entered.get_final_message())
        assert content_of(message) == CONTENT

    def test_raw_and_streaming_responses_work(self, voice: Voice, standin: Standin) -> None:
        """`with_raw_response` and `with_streaming_response` show headers and parse."""
        standin.script(ASK["model"], [EVERY_BLOCK, EVERY_BLOCK])
        messages = voice.anthropic().messages
        raw = voice.run(messages.with_raw_response.create(**ASK))
        assert raw.headers["request-id"].startswith("req_")
        assert content_of(voice.run(raw.parse())) == CONTENT
        streamed = messages.with_streaming_response.create(**ASK)
        assert content_of(voice.within(streamed, lambda response: response.parse())) == CONTENT

    def test_parse_reads_structured_output(self, voice: Voice, standin: Standin) -> None:
        """`messages.parse` gets the JSON text of the script as an object."""
        pydantic = pytest.importorskip("pydantic")
        answer = pydantic.create_model("Answer", place=(str, ...))
        standin.script(ASK["model"], [Reply([Thinking("hm"), Text('{"place":"Oslo"}')])])
        parse = reach(voice.anthropic(), "messages.parse")
        parsed = voice.run(parse(output_format=answer, **ASK))
        assert parsed.parsed_output.place == "Oslo"

    def test_tokens_are_counted_without_a_script(self, voice: Voice) -> None:
        """`count_tokens` follows the stand-in's rule."""
        asked = {key: ASK[key] for key in ("model", "messages")}
        counted = voice.run(voice.anthropic().messages.count_tokens(**asked))
        assert counted.input_tokens == -(-len(json.dumps(ASK["messages"][0])) // 4)

    def test_unknown_blocks_and_stop_reasons_pass(self, voice: Voice, standin: Standin) -> None:
        """What no SDK knows goes out as the script has it, streamed or not."""
        block = {"type": "pondering", "depth": 3}
        reply = Reply([RawBlock({"anthropic": block}), ToolUse("f")], stop="bored")
        standin.script(ASK["model"], [reply, reply])
        client = voice.anthropic()
        message = voice.run(client.messages.create(**ASK))
        assert (message.content[0].type, message.stop_reason) == ("pondering", "bored")
        streamed = voice.within(client.messages.stream(**ASK), lambda stream: stream.get_final_message())
        assert (streamed.content[0].type, streamed.stop_reason) == ("pondering", "bored")

    def test_bytes_may_be_cut_anywhere(self, voice: Voice, standin: Standin) -> None:
        """A stream in chunks of three bytes, cut inside characters, reads the same."""
        standin.script(ASK["model"], [Chopped(EVERY_BLOCK, size=3)])
        client = voice.anthropic()
        message = voice.within(client.messages.stream(**ASK), lambda stream: stream.get_final_message())
        assert content_of(message) == CONTENT


class TestToolRunner:
    """The SDK's own loop."""

    def test_the_loop_sends_thinking_back_unchanged(self, voice: Voice) -> None:
        """A run of two turns passes the replay check, and its history is whole: sent again, or held by the server."""
        run_with_check(voice, _tool_runner_turns)

    def test_a_lost_thread_is_told(self, voice: Voice, standin: Standin) -> None:
        """Going on from an answer that the server does not know is a 404 with the documented code."""
        standin.script(ASK["model"], [EVERY_BLOCK])
        going_on = {"thread": {"type": "continue", "previous_message_id": "msg_gone"}}
        with pytest.raises(anthropic.NotFoundError) as caught:
            voice.run(voice.anthropic().beta.messages.create(extra_body=going_on, **ASK))
        assert caught.value.body["error"]["details"] == {"error_code": "thread_not_found"}


def run_with_check(voice: Voice, use: Any) -> None:
    """Run against a stand-in that checks replay."""
    with Standin(seed="checked", check_replay=True) as checking:
        use(voice, checking)


def _tool_runner_turns(voice: Voice, checking: Standin) -> None:
    tools = [_async_tool() if voice.is_async else _sync_tool()]
    checking.script(ASK["model"], [EVERY_BLOCK, Reply([Thinking("Now I know."), Text("In Oslo.")])])
    client = voice.anthropic(base_url=checking.anthropic_url)
    runner = reach(client, "beta.messages.tool_runner")(tools=tools, thinking=THINKING, **ASK)
    messages = voice.items(voice.run(runner))
    assert [message.stop_reason for message in messages] == ["tool_use", "end_turn"]
    second = checking.requests[1]
    came_back = second.conversation[1]["content"]
    assert [block["type"] for block in came_back] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert (second.tool_results[0].call_id, second.turn, second.tool_names) == ("toolu_1", 2, ("find_order",))


THINKING = {"type": "enabled", "budget_tokens": 1024}


def _sync_tool() -> Any:
    make = getattr(anthropic, "beta_tool", None) or pytest.skip("this SDK has no tool runner")

    @make
    def find_order(id: str, deep: dict[str, Any]) -> str:
        """Find an order.

        Args:
            id: Its number.
            deep: More.

        """
        return f"order {id} is in Oslo, {len(deep)}"

    return find_order


def _async_tool() -> Any:
    make = getattr(anthropic, "beta_async_tool", None) or pytest.skip("this SDK has no tool runner")

    @make
    async def find_order(id: str, deep: dict[str, Any]) -> str:
        """Find an order.

        Args:
            id: Its number.
            deep: More.

        """
        return f"order {id} is in Oslo, {len(deep)}"

    return find_order


class TestFailures:
    """Errors, retries, broken streams."""

    def test_the_sdk_retries_and_each_try_is_recorded(self, voice: Voice, standin: Standin) -> None:
        """A 429 with `retry-after` 0 is followed by a second request that says so in its header."""
        standin.script(ASK["model"], [Failure(429, retry_after=0), Failure(529, retry_after=0), EVERY_BLOCK])
        message = voice.run(voice.anthropic().messages.create(**ASK))
        assert message.stop_reason == "tool_use"
        assert [request.attempt for request in standin.requests] == [0, 1, 2]
        assert [exchange.status for exchange in standin.exchanges] == [429, 529, 200]
        assert len({request.body for request in standin.requests}) == 1

    def test_an_error_may_echo_the_prompt(self, voice: Voice, standin: Standin) -> None:
        """The message of a 400 quotes what the user said, as providers do."""
        standin.script(ASK["model"], [Failure(400, echo_request=True)])
        with pytest.raises(anthropic.BadRequestError, match="Where is order A1"):
            voice.run(voice.anthropic().messages.create(**ASK))

    def test_an_error_event_raises_in_the_stream(self, voice: Voice, standin: Standin) -> None:
        """The SDK raises at the error event, with the type in the body."""
        standin.script(ASK["model"], [StreamError(EVERY_BLOCK, after_events=4)])
        stream = voice.run(voice.anthropic().messages.create(stream=True, **ASK))
        with pytest.raises(anthropic.APIStatusError) as caught:
            voice.items(stream)
        assert caught.value.body == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    def test_a_cut_connection_raises(self, voice: Voice, standin: Standin) -> None:
        """A stream cut after three events is a transport error, and the exchange says it was cut."""
        standin.script(ASK["model"], [BreakOff(EVERY_BLOCK, after_events=3)])
        stream = voice.run(voice.anthropic().messages.create(stream=True, **ASK))
        with pytest.raises(Exception, match=r"(?i)incomplete|closed"):
            voice.items(stream)
        exchange = standin.exchanges[0]
        assert (exchange.wait(), exchange.events_sent) == ("cut", 3)

    def test_a_stream_may_just_end(self, voice: Voice, standin: Standin) -> None:
        """A clean end without the closing events raises nothing."""
        standin.script(ASK["model"], [BreakOff(EVERY_BLOCK, after_events=5, clean=True)])
        stream = voice.run(voice.anthropic().messages.create(stream=True, **ASK))
        assert len(voice.items(stream)) == 4  # the SDK keeps pings to itself

    def test_a_missing_script_is_loud_and_not_retried(self, voice: Voice, standin: Standin) -> None:
        """A model without a script is an error that names it."""
        with pytest.raises(anthropic.NotFoundError, match="claude-sonnet-4-6"):
            voice.run(voice.anthropic().messages.create(**ASK))
        assert len(standin.requests) == 1

    def test_a_script_that_is_used_up_is_loud(self, voice: Voice, standin: Standin) -> None:
        """One step answers one request."""
        standin.script(ASK["model"], [EVERY_BLOCK])
        client = voice.anthropic()
        voice.run(client.messages.create(**ASK))
        with pytest.raises(anthropic.BadRequestError, match="no step 2"):
            voice.run(client.messages.create(**ASK))


class TestReplay:
    """Reasoning in an open tool loop."""

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda content: content[2:], "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
            (lambda content: [{**content[0], "thinking": "other"}, *content[1:]], "cannot be modified"),
            (lambda content: [{**content[0], "thinking": ""}, *content[1:]], "must contain thinking"),
            (lambda content: [{**content[0], "signature": "forged"}, *content[1:]], "Invalid `signature`"),
            (lambda content: [content[1], content[0], *content[2:]], "cannot be modified"),
            (lambda content: [content[0], *content[2:]], "but found `tool_use`"),
        ],
    )
    def test_a_broken_replay_is_rejected_and_quoted(self, voice: Voice, change: Any, words: str) -> None:
        """Dropped, edited, emptied, forged and reordered blocks get the provider's words, with the content in them."""

        def second_turn(voice: Voice, checking: Standin) -> None:
            with pytest.raises(anthropic.BadRequestError, match=words) as caught:
                _second_turn(voice, checking, change)
            assert "find_order" in str(caught.value)

        run_with_check(voice, second_turn)

    @pytest.mark.parametrize("change", [lambda content: content, lambda content: [*content[:2], content[3]]])
    def test_an_unchanged_replay_passes(self, voice: Voice, change: Any) -> None:
        """The blocks as they came pass, and text beside them may go."""
        run_with_check(voice, lambda voice, checking: _second_turn(voice, checking, change))


def _second_turn(voice: Voice, checking: Standin, change: Any) -> Any:
    checking.script(ASK["model"], [EVERY_BLOCK, Reply([Text("Done.")])])
    client = voice.anthropic(base_url=checking.anthropic_url)
    asked = {**ASK, "thinking": THINKING, "max_tokens": 2000}
    content = content_of(voice.run(client.messages.create(**asked)))
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Oslo"}
    history = [{"role": "assistant", "content": change(content)}, {"role": "user", "content": [result]}]
    return voice.run(client.messages.create(**{**asked, "messages": [*ASK["messages"], *history]}))
