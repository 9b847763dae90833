"""The openai SDK, unmodified, against the stand-in."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from voices import Voice, reach

from otel_agent.testing.standin import (
    Body,
    BreakOff,
    Chopped,
    Failure,
    Redacted,
    Refusal,
    Reply,
    Standin,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    Usage,
)

MODEL = "gpt-6-sol"
CHAT: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "Where is order A1?"}]}
ASK: dict[str, Any] = {"model": MODEL, "input": "Where is order A1?"}
COUNTS = Usage(input=2600, cache_read=2000, cache_write=400, output=500, reasoning=450)
CALL = ToolUse("find_order", {"id": "A1", "deep": {"n": [1, 2]}}, id="call_1")
EVERY_BLOCK = Reply([Thinking("I should look.", signature="sealed=="), Text("Let me see, naïve café."), CALL], usage=COUNTS)
ARGUMENTS = {"id": "A1", "deep": {"n": [1, 2]}}


def with_usage(**options: Any) -> dict[str, Any]:
    """A streamed chat request that asks for counts."""
    return {**CHAT, "stream": True, "stream_options": {"include_usage": True}, **options}


class TestChat:
    """Chat completions."""

    def test_a_reply_is_a_completion(self, voice: Voice, standin: Standin) -> None:
        """Text, tool call and counts arrive; OpenAI itself returns no reasoning here."""
        standin.script(MODEL, [EVERY_BLOCK])
        completion = voice.run(voice.openai().chat.completions.create(**CHAT))
        choice = completion.choices[0]
        assert (choice.message.content, choice.finish_reason) == ("Let me see, naïve café.", "tool_calls")
        assert json.loads(choice.message.tool_calls[0].function.arguments) == ARGUMENTS
        usage = completion.usage.to_dict()
        assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (2600, 500, 3100)
        assert usage["prompt_tokens_details"] == {"cached_tokens": 2000, "cache_write_tokens": 400}
        assert usage["completion_tokens_details"] == {"reasoning_tokens": 450}
        assert "I should look" not in completion.to_json()

    def test_a_stream_adds_up_and_ends_with_usage_when_asked(self, voice: Voice, standin: Standin) -> None:
        """Role first, finish reason on the last choice, counts in a chunk without choices."""
        standin.script(MODEL, [EVERY_BLOCK, EVERY_BLOCK])
        client = voice.openai()
        chunks = voice.items(voice.run(client.chat.completions.create(**with_usage())))
        deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
        assert "".join(delta.content or "" for delta in deltas) == "Let me see, naïve café."
        pieces = [call.function.arguments for delta in deltas for call in delta.tool_calls or ()]
        assert json.loads("".join(pieces)) == ARGUMENTS
        assert deltas[0].role == "assistant"
        assert chunks[-2].choices[0].finish_reason == "tool_calls"
        assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 3100)
        unasked = voice.items(voice.run(client.chat.completions.create(stream=True, **CHAT)))
        assert all(chunk.usage is None for chunk in unasked)

    def test_the_stream_helper_works(self, voice: Voice, standin: Standin) -> None:
        """`chat.completions.stream` gives the final completion."""
        standin.script(MODEL, [EVERY_BLOCK])
        stream = _chat_helper(voice.openai())
        final = voice.within(stream(**CHAT), lambda entered: entered.get_final_completion())
        assert final.choices[0].message.content == "Let me see, naïve café."

    def test_raw_and_streaming_responses_work(self, voice: Voice, standin: Standin) -> None:
        """`with_raw_response` and `with_streaming_response` show headers and parse."""
        standin.script(MODEL, [EVERY_BLOCK, EVERY_BLOCK])
        completions = voice.openai().chat.completions
        raw = voice.run(completions.with_raw_response.create(**CHAT))
        assert raw.headers["x-request-id"].startswith("req_")
        assert voice.run(raw.parse()).usage.prompt_tokens == 2600
        streamed = completions.with_streaming_response.create(**CHAT)
        assert voice.within(streamed, lambda response: response.parse()).usage.prompt_tokens == 2600

    def test_parse_raises_when_the_answer_is_cut_off(self, voice: Voice, standin: Standin) -> None:
        """A length stop makes the SDK's own parse raise, with the completion inside."""
        pydantic = pytest.importorskip("pydantic")
        answer = pydantic.create_model("Answer", place=(str, ...))
        standin.script(MODEL, [Reply([Text('{"place":"Oslo"}')]), Reply([Text('{"pl')], stop="max_tokens")])
        parse = reach(voice.openai(), "beta.chat.completions.parse")
        parsed = voice.run(parse(response_format=answer, **CHAT))
        assert parsed.choices[0].message.parsed.place == "Oslo"
        with pytest.raises(openai.LengthFinishReasonError):
            voice.run(parse(response_format=answer, **CHAT))

    def test_two_choices_may_end_differently(self, voice: Voice, standin: Standin) -> None:
        """Alternatives are further choices, streamed or not."""
        reply = Reply([Text("a")], alternatives=(Reply([Text("b")], stop="max_tokens"),))
        standin.script(MODEL, [reply, reply])
        client = voice.openai()
        completion = voice.run(client.chat.completions.create(n=2, **CHAT))
        assert [choice.finish_reason for choice in completion.choices] == ["stop", "length"]
        chunks = voice.items(voice.run(client.chat.completions.create(n=2, stream=True, **CHAT)))
        ends = [(chunk.choices[0].index, chunk.choices[0].finish_reason) for chunk in chunks]
        assert [end for end in ends if end[1]] == [(0, "stop"), (1, "length")]

    def test_an_error_chunk_raises(self, voice: Voice, standin: Standin) -> None:
        """A chunk that holds an error object raises in the SDK."""
        standin.script(MODEL, [StreamError(EVERY_BLOCK, after_events=2, type="server_error", message="Overloaded")])
        stream = voice.run(voice.openai().chat.completions.create(stream=True, **CHAT))
        with pytest.raises(openai.APIError, match="Overloaded"):
            voice.items(stream)

    def test_bytes_may_be_cut_anywhere(self, voice: Voice, standin: Standin) -> None:
        """A stream in chunks of five bytes reads the same."""
        standin.script(MODEL, [Chopped(EVERY_BLOCK, size=5)])
        chunks = voice.items(voice.run(voice.openai().chat.completions.create(**with_usage())))
        assert chunks[-1].usage.total_tokens == 3100

    def test_the_sdk_retries_and_each_try_is_recorded(self, voice: Voice, standin: Standin) -> None:
        """A 429 and a 500 are followed by a third request with the same bytes."""
        standin.script(MODEL, [Failure(429, retry_after=0), Failure(500, retry_after=0), EVERY_BLOCK])
        voice.run(voice.openai().chat.completions.create(**CHAT))
        assert [request.attempt for request in standin.requests] == [0, 1, 2]
        assert len({request.body for request in standin.requests}) == 1


def _chat_helper(client: Any) -> Any:
    beta = getattr(client.beta, "chat", None)
    return getattr(client.chat.completions, "stream", None) or beta.completions.stream


class TestFlavours:
    """Servers that speak chat completions in their own way."""

    @pytest.mark.parametrize(
        ("flavour", "fields"),
        [
            ("deepseek", {"reasoning_content"}),
            ("vllm", {"reasoning"}),
            ("groq", {"reasoning"}),
            ("xai", {"reasoning_content"}),
            ("openrouter", {"reasoning", "reasoning_details"}),
            ("copilot", {"reasoning_text", "reasoning_opaque"}),
        ],
    )
    def test_reasoning_sits_in_the_servers_own_fields(self, voice: Voice, standin: Standin, flavour: str, fields: set[str]) -> None:
        """Message and deltas carry the same extra fields."""
        reply = Reply([Thinking("hm hm", signature="s"), Redacted("zz"), Text("Yes.")])
        standin.script(MODEL, [reply, reply], flavour=flavour)
        client = voice.openai()
        message = voice.run(client.chat.completions.create(**CHAT)).choices[0].message
        assert set(message.model_extra) == fields
        chunks = voice.items(voice.run(client.chat.completions.create(**with_usage())))
        extras = [set(chunk.choices[0].delta.model_extra) for chunk in chunks if chunk.choices]
        assert set().union(*extras) == fields

    def test_xai_counts_output_without_reasoning(self, voice: Voice, standin: Standin) -> None:
        """The total holds what the output leaves out, and every chunk has counts."""
        standin.script(MODEL, [EVERY_BLOCK, EVERY_BLOCK], flavour="xai")
        client = voice.openai()
        usage = voice.run(client.chat.completions.create(**CHAT)).usage
        assert (usage.completion_tokens, usage.total_tokens) == (50, 3100)
        chunks = voice.items(voice.run(client.chat.completions.create(stream=True, **CHAT)))
        assert all(chunk.usage.total_tokens == 3100 for chunk in chunks)

    def test_deepseek_splits_the_cache_and_wants_its_field_back(self, voice: Voice) -> None:
        """Hit and miss counts; a tool turn without `reasoning_content` is rejected."""
        with Standin(check_replay=True) as checking:
            checking.script(MODEL, [EVERY_BLOCK, Reply([Text("Done.")])], flavour="deepseek")
            client = voice.openai(base_url=checking.openai_url)
            completion = voice.run(client.chat.completions.create(**CHAT))
            assert completion.usage.model_extra == {"prompt_cache_hit_tokens": 2000, "prompt_cache_miss_tokens": 600}
            answered = completion.choices[0].message.to_dict()
            result = {"role": "tool", "tool_call_id": "call_1", "content": "Oslo"}
            whole = [*CHAT["messages"], answered, result]
            without = [*CHAT["messages"], {**answered, "reasoning_content": None}, result]
            del without[1]["reasoning_content"]
            with pytest.raises(openai.BadRequestError, match="must be passed back"):
                voice.run(client.chat.completions.create(model=MODEL, messages=without))
            assert voice.run(client.chat.completions.create(model=MODEL, messages=whole)).choices[0].finish_reason == "stop"

    def test_groq_puts_counts_into_its_own_object(self, voice: Voice, standin: Standin) -> None:
        """The last chunk has `x_groq.usage` and no usage of its own."""
        standin.script(MODEL, [EVERY_BLOCK], flavour="groq")
        chunks = voice.items(voice.run(voice.openai().chat.completions.create(stream=True, **CHAT)))
        assert chunks[-1].model_extra["x_groq"]["usage"]["total_tokens"] == 3100


class TestResponses:
    """The Responses API."""

    def test_a_reply_is_a_response_with_every_item(self, voice: Voice, standin: Standin) -> None:
        """Reasoning with summary, text and sealed content; message; call; counts."""
        standin.script(MODEL, [EVERY_BLOCK])
        create = reach(voice.openai(), "responses.create")
        response = voice.run(create(reasoning={"effort": "high"}, **ASK))
        assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
        reasoning = response.output[0].to_dict()
        assert reasoning["encrypted_content"] == "sealed=="
        assert reasoning["summary"] == [{"type": "summary_text", "text": "I should look."}]
        assert (response.output_text, response.status) == ("Let me see, naïve café.", "completed")
        assert response.reasoning.effort == "high"
        usage = response.usage.to_dict()
        assert usage["input_tokens_details"] == {"cached_tokens": 2000, "cache_write_tokens": 400}
        assert (usage["output_tokens_details"], usage["total_tokens"]) == ({"reasoning_tokens": 450}, 3100)

    # Old versions know no part of type reasoning_text and warn when it is serialised.
    @pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
    def test_the_events_come_numbered_and_in_order(self, voice: Voice, standin: Standin) -> None:
        """Created, items with their parts, completed; no number is missing."""
        standin.script(MODEL, [Reply([Thinking("a"), Text("b"), ToolUse("f", {})])])
        create = reach(voice.openai(), "responses.create")
        events = voice.items(voice.run(create(stream=True, **ASK)))
        kinds = [event.type.removeprefix("response.") for event in events]
        assert kinds == [
            *("created", "in_progress", "output_item.added"),
            *("reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done"),
            *("reasoning_summary_part.done", "content_part.added", "reasoning_text.delta", "reasoning_text.done"),
            *("content_part.done", "output_item.done", "output_item.added", "content_part.added"),
            *("output_text.delta", "output_text.done", "content_part.done", "output_item.done"),
            *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done"),
            *("output_item.done", "completed"),
        ]
        # Not ``to_dict``: what an old SDK builds without validating, a part of a type it does not know, pydantic cannot always write out.
        assert [event.sequence_number for event in events] == list(range(len(events)))

    def test_the_stream_helper_works(self, voice: Voice, standin: Standin) -> None:
        """`responses.stream` gives the final response with its counts."""
        standin.script(MODEL, [EVERY_BLOCK])
        stream = reach(voice.openai(), "responses.stream")
        final = voice.within(stream(**ASK), lambda entered: entered.get_final_response())
        assert (final.usage.input_tokens, final.output_text) == (2600, "Let me see, naïve café.")

    def test_a_truncated_stream_is_incomplete(self, voice: Voice, standin: Standin) -> None:
        """The helper raises when the response is incomplete, as it does with the real service."""
        standin.script(MODEL, [Reply([Thinking("hm")], stop="max_tokens"), Reply([Thinking("hm")], stop="max_tokens")])
        client = voice.openai()
        response = voice.run(reach(client, "responses.create")(**ASK))
        assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
        stream = reach(client, "responses.stream")
        with pytest.raises(RuntimeError, match=r"response\.completed"):
            voice.within(stream(**ASK), lambda entered: entered.get_final_response())

    def test_parse_reads_structured_output(self, voice: Voice, standin: Standin) -> None:
        """`responses.parse` gets the JSON text of the script as an object."""
        pydantic = pytest.importorskip("pydantic")
        answer = pydantic.create_model("Answer", place=(str, ...))
        standin.script(MODEL, [Reply([Thinking("hm"), Text('{"place":"Oslo"}')])])
        parse = reach(voice.openai(), "responses.parse")
        assert voice.run(parse(text_format=answer, **ASK)).output_parsed.place == "Oslo"

    def test_refusals_and_failures_have_their_places(self, voice: Voice, standin: Standin) -> None:
        """A refusal is a part of the message; a failed response has an error."""
        standin.script(MODEL, [Reply([Refusal("No.")], stop="refusal"), Reply(stop="failed")])
        create = reach(voice.openai(), "responses.create")
        refused, failed = voice.run(create(**ASK)), voice.run(create(**ASK))
        assert (refused.output[0].content[0].type, refused.incomplete_details.reason) == ("refusal", "content_filter")
        assert (failed.status, failed.error.code) == ("failed", "server_error")

    def test_background_responses_are_polled(self, voice: Voice, standin: Standin) -> None:
        """Queued, then in progress, then complete, under one id."""
        standin.script(MODEL, [EVERY_BLOCK])
        responses = reach(voice.openai(), "responses")
        seen = [voice.run(responses.create(extra_body={"background": True}, **ASK))]
        seen += [voice.run(responses.retrieve(seen[0].id)) for _ in range(2)]
        assert [response.status for response in seen] == ["queued", "in_progress", "completed"]
        assert (len({response.id for response in seen}), seen[2].usage.input_tokens) == (1, 2600)

    def test_a_stream_is_resumed_after_a_number(self, voice: Voice, standin: Standin) -> None:
        """`retrieve(stream=True, starting_after=n)` sends the events that come after n."""
        standin.script(MODEL, [EVERY_BLOCK])
        client = voice.openai()
        first = voice.items(voice.run(reach(client, "responses.create")(stream=True, **ASK)))
        query = {"stream": "true", "starting_after": "3"}
        raw = voice.run(client.get(f"/responses/{first[0].response.id}", cast_to=str, options={"params": query}))
        assert raw.count("event: ") == len(first) - 4
        assert raw.startswith(f"event: {first[4].type}\n")

    def test_a_conversation_goes_on_from_a_response(self, voice: Voice, standin: Standin) -> None:
        """With `previous_response_id` the server has the history, for the count as for the script."""
        standin.script(MODEL, [Reply([Thinking("hm"), CALL]), lambda request: Reply([Text(f"turn {request.turn}")])])
        create = reach(voice.openai(), "responses.create")
        first = voice.run(create(**ASK))
        output = [{"type": "function_call_output", "call_id": "call_1", "output": "Oslo"}]
        second = voice.run(create(model=MODEL, input=output, previous_response_id=first.id))
        assert second.output_text == "turn 2"
        assert second.usage.input_tokens > first.usage.input_tokens
        with pytest.raises(openai.BadRequestError) as caught:
            voice.run(create(model=MODEL, input=output, previous_response_id="resp_gone"))
        assert caught.value.code == "previous_response_not_found"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda items: items[1:], "provided without its required .*reasoning.* item"),
            (lambda items: items[:1], "provided without its required following item"),
            (lambda items: [{**items[0], "encrypted_content": "forged"}, *items[1:]], "could not be verified"),
            (lambda items: items, None),
        ],
    )
    def test_a_broken_replay_is_rejected(self, voice: Voice, change: Any, words: str | None) -> None:
        """Reasoning items have to come back with what follows them, sealed as they were."""
        with Standin(check_replay=True) as checking:
            checking.script(MODEL, [Reply([Thinking("hm"), CALL]), Reply([Text("Done.")])])
            create = reach(voice.openai(base_url=checking.openai_url), "responses.create")
            said = [{"role": "user", "content": "Where is order A1?"}]
            first = voice.run(create(model=MODEL, input=said, store=False))
            output = {"type": "function_call_output", "call_id": "call_1", "output": "Oslo"}
            again = [*said, *change([item.to_dict() for item in first.output]), output]
            if words is None:
                assert voice.run(create(model=MODEL, input=again, store=False)).output_text == "Done."
                return
            with pytest.raises(openai.BadRequestError, match=words):
                voice.run(create(model=MODEL, input=again, store=False))

    def test_an_error_event_is_an_event(self, voice: Voice, standin: Standin) -> None:
        """The SDK yields a Responses error event instead of raising; old ones wrap it, without a type."""
        standin.script(MODEL, [StreamError(EVERY_BLOCK, after_events=2, type="server_error")])
        create = reach(voice.openai(), "responses.create")
        events = voice.items(voice.run(create(stream=True, **ASK)))
        kinds = [event.type or event.event for event in events]
        assert kinds == ["response.created", "response.in_progress", "error"]

    def test_a_cut_body_is_a_connection_error(self, voice: Voice, standin: Standin) -> None:
        """A body cut in the middle makes the SDK try again, then give up."""
        standin.script(MODEL, [BreakOff(EVERY_BLOCK)], after="repeat")
        create = reach(voice.openai(max_retries=1), "responses.create")
        with pytest.raises(openai.APIConnectionError):
            voice.run(create(**ASK))
        assert len(standin.requests) == 2


class TestBesides:
    """Other routes."""

    def test_models_are_listed(self, voice: Voice) -> None:
        """`models.list()` pages through the aliases and what they resolve to, and answers use the latter."""
        with Standin(models={"gpt-5": "gpt-5-2026-01-01"}) as named:
            named.script("gpt-5", [Reply([Text("x")])])
            client = voice.openai(base_url=named.openai_url)
            assert [model.id for model in voice.items(client.models.list())] == ["gpt-5", "gpt-5-2026-01-01"]
            completion = voice.run(client.chat.completions.create(model="gpt-5", messages=CHAT["messages"]))
            assert completion.model == "gpt-5-2026-01-01"

    def test_embeddings_are_the_same_for_the_same_text(self, voice: Voice) -> None:
        """Vectors follow from the text."""
        made = voice.run(voice.openai().embeddings.create(model="embed", input=["a", "b", "a"]))
        first, second, third = (entry.embedding for entry in made.data)
        assert first == third != second
        assert made.usage.prompt_tokens == 3

    def test_any_route_can_be_scripted(self, voice: Voice, standin: Standin) -> None:
        """A script under a route answers there, as often as it has steps."""
        result = {"id": "modr-1", "model": "omni", "results": []}
        standin.script("/v1/moderations", [Body(result), Body(result)])
        client = voice.openai()
        assert [voice.run(client.moderations.create(input="x")).id for _ in range(2)] == ["modr-1", "modr-1"]
