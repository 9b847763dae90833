"""Chat completions in pieces: what goes back is what a whole completion would have sent back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from talking import MODEL, Way, adapter, client_of, scripted

from otel_agent.loop import Loop, Tool, Toolbox
from otel_agent.loop.chat_chunks import Completion
from otel_agent.protocol import DUE_MEMBERS
from otel_agent.testing import Standin, capture
from otel_agent.testing.standin import RawBlock, Redacted, Refusal, Reply, Text, Thinking, ToolUse, Usage

Json = dict[str, Any]
TOOLS = Toolbox([Tool("find", lambda order="": f"order {order} was sent", effect="read")])


def chunks(deltas: Sequence[Json], reason: str | None = "stop", **last: Any) -> Iterator[ChatCompletionChunk]:
    """Deltas as a server sends them, one a chunk."""
    head = {"id": "c", "created": 1, "model": "m", "object": "chat.completion.chunk"}
    for delta in deltas:
        yield ChatCompletionChunk.construct(**head, choices=[{"index": 0, "delta": delta, "finish_reason": None}])
    yield ChatCompletionChunk.construct(**head, choices=[{"index": 0, "delta": {}, "finish_reason": reason}], **last)


def gathered(deltas: Sequence[Json], reason: str | None = "stop", **last: Any) -> Any:
    """What comes of them."""
    completion = Completion()
    for chunk in chunks(deltas, reason, **last):
        completion.take(chunk)
    return completion.whole()


def message(deltas: Sequence[Json]) -> Json:
    """The message that goes back."""
    sent: Json = gathered(deltas).choices[0].message.to_dict()
    return sent


def called(number: int | None, **call: Any) -> Json:
    """A delta with a piece of one call."""
    return {"tool_calls": [{**({} if number is None else {"index": number}), **call}]}


def function(name: str, arguments: str, call_id: str) -> Json:
    """A call as a whole message has it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


FIND = function("find", '{"order": "A"}', "c1")
LOOK = function("look", "{}", "c2")
CALLS: dict[str, tuple[list[Json], list[Json]]] = {
    "pieces between pieces": (
        [
            called(0, id="c1", type="function", function={"name": "find", "arguments": ""}),
            called(1, id="c2", type="function", function={"name": "look", "arguments": ""}),
            called(0, function={"arguments": '{"order": '}),
            called(1, function={"arguments": "{}"}),
            called(0, function={"arguments": '"A"}'}),
        ],
        [FIND, LOOK],
    ),
    "both in one chunk": (
        [{"tool_calls": [{"index": 0, **FIND}, {"index": 1, **LOOK}]}],
        [FIND, LOOK],
    ),
    "no index": ([{"tool_calls": [FIND, LOOK]}], [FIND, LOOK]),
    "every call is number 0": ([called(0, **FIND), called(0, **LOOK)], [FIND, LOOK]),
    "all repeated with each piece": (
        [called(0, **function("find", '{"order"', "c1")), called(0, **function("find", ': "A"}', "c1"))],
        [FIND],
    ),
    "emptied with each piece": (
        [called(0, **function("find", '{"order"', "c1")), called(0, id="", type=None, function={"name": "", "arguments": ': "A"}'})],
        [FIND],
    ),
    "a name in pieces": (
        [called(0, **function("fi", "", "c1")), called(0, function={"name": "nd"}), called(0, function={"arguments": '{"order": "A"}'})],
        [FIND],
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_calls_from_pieces(case: str) -> None:
    """In every manner of sending them, the calls of a whole message."""
    deltas, calls = CALLS[case]
    assert message([{"role": "assistant", "content": None}, *deltas])["tool_calls"] == calls


def detail(**entry: Any) -> Json:
    return {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, **entry}


def thinking(text: str, signature: str | None = None) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


SEALED = {"type": "redacted_thinking", "data": "sealed"}
REASONING: dict[str, tuple[str, list[Any], Any]] = {
    "text": ("reasoning_content", ["Let me ", None, "see."], "Let me see."),
    "details, then their signature": (
        "reasoning_details",
        [[detail(text="Let me ")], [detail(text="see.")], [detail(signature="sig")]],
        [detail(text="Let me see.", signature="sig")],
    ),
    "details of one number that are two": (
        "reasoning_details",
        [[detail(text="One.", signature="sig")], [detail(text="Two.")], [detail(type="reasoning.encrypted", data="sealed")]],
        [detail(text="One.", signature="sig"), detail(text="Two."), detail(type="reasoning.encrypted", data="sealed")],
    ),
    "blocks without a number": (
        "thinking_blocks",
        [[thinking("Let me ")], [thinking("see.")], [thinking("", "sig")], [SEALED], [SEALED], [thinking("More.", "sig2")]],
        [thinking("Let me see.", "sig"), SEALED, SEALED, thinking("More.", "sig2")],
    ),
}


@pytest.mark.parametrize("case", REASONING)
def test_reasoning_from_pieces(case: str) -> None:
    """The members that must come back, as a whole message has them."""
    name, pieces, whole = REASONING[case]
    assert name in DUE_MEMBERS
    assert message([{"role": "assistant", "content": None}, *({name: piece} for piece in pieces), {"content": "Done."}]) == {
        "role": "assistant",
        "content": "Done.",
        name: whole,
    }


def test_content_that_is_parts() -> None:
    """Mistral: parts while it thinks, then plain text. The parts go back, and the text is the answer."""
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    whole = gathered([{"content": ""}, {"content": [part]}, {"content": [part]}, {"content": "Do"}, {"content": "ne."}])
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "HmHm"}]}
    assert whole.choices[0].message.content == [thought, {"type": "text", "text": "Done."}]
    with scripted([]) as (standin, _), client_of("chat", standin, False) as client:
        assert adapter("chat", client).read(whole).text == "Done."


def test_entries_that_are_no_pieces() -> None:
    """Two quotations stay two."""
    quoted = [{"type": "url_citation", "url_citation": {"url": url, "title": "T"}} for url in ("a", "b")]
    assert message([{"content": "x", "annotations": [each]} for each in quoted])["annotations"] == quoted


def test_without_a_finish_reason_it_is_not_whole() -> None:
    """Though there is a message."""
    assert gathered([{"content": "Do"}], None) is None


@pytest.mark.parametrize("last", [{"usage": {"prompt_tokens": 3}}, {"x_groq": {"usage": {"prompt_tokens": 3}}}], ids=["usage", "x_groq"])
def test_usage_where_servers_put_it(last: Json) -> None:
    """In the interface's place or in Groq's."""
    assert gathered([{"content": "x"}], **last).usage.prompt_tokens == 3


def test_it_is_the_sdks_own_kind() -> None:
    """And the other choices, which the loop does not ask for, are not mixed in."""
    completion = Completion()
    for index in (0, 1):
        completion.take(
            ChatCompletionChunk.construct(id="c", choices=[{"index": index, "delta": {"content": f"{index}"}, "finish_reason": "stop"}])
        )
    whole = completion.whole()
    assert isinstance(whole, ChatCompletion)
    assert whole.choices[0].message.content == "0"


ANSWERS = {
    "tools": [
        Reply([Thinking("Hm, which?"), ToolUse("find", {"order": "ä" * 40}, id="c1"), ToolUse("find", {}, id="c2")]),
        Reply([Redacted("sealed"), Thinking("More."), Text("Looking."), ToolUse("find", {"order": "B"}, id="c3")]),
        Reply([Text("Done.")]),
    ],
    "cut off": [Reply([Thinking("Hm."), Text("Some words")], stop="max_tokens")],
    "cut off in a call": [Reply([Thinking("Hm."), ToolUse("find", '{"order": "', id="c1")], stop="max_tokens")],
    "cut off before a word": [Reply([Thinking("Hm.")], stop="max_tokens", usage=Usage(input=9, output=9, reasoning=9))],
    "refused": [Reply([Refusal("I will not.")])],
    "filtered": [Reply([Text("Some")], stop="refusal")],
    "bad arguments": [Reply([Thinking("Hm."), ToolUse("find", "{not json", id="c1")]), Reply([Text("Done.")])],
    "a member of its own": [
        Reply([Thinking("Hm."), RawBlock({"openai.chat": {"custom_member": {"a": [1]}}}), ToolUse("find", {}, id="c1")]),
        Reply([Text("x")]),
    ],
}
WAY_OF_A_STREAM = (
    "stream", "first_chunk", "visible_chunk", "thinking_seconds", "chunks", "duration", ".id", "request_id", "attempts", "port",
    "replay.items",
)  # fmt: skip


def played(way: Way, flavour: str, steps: Sequence[Reply]) -> Json:
    """A run: how it ended, what it sent and had at the end, and what was recorded but for the times and the stream itself."""
    with Standin(seed="chat", check_replay=True) as standin, capture() as telemetry:
        standin.script(MODEL, [*steps], flavour=flavour)
        history: list[Any] = []
        outcome = way.run(standin, TOOLS, history)
        return {
            "outcome": (outcome.reason, outcome.partial, outcome.answer, outcome.turns, outcome.input_tokens, outcome.output_tokens),
            "sent": [request.messages for request in standin.requests],
            "kept": [item if isinstance(item, dict) else item.to_dict() for item in history],
            "turns": [{name: value for name, value in turn.items() if not ends(name)} for turn in telemetry.turns],
            "run": {name: value for name, value in telemetry.runs[0].items() if not ends(name)},
        }


def ends(name: str) -> bool:
    """Whether a fact is the stream's own. How many entries reasoning has is not known of a stream; whether they came back is."""
    return name.endswith(WAY_OF_A_STREAM) or "stream.end" in name or "digest" in name


SERVERS = [
    (flavour, waits)
    for waits in (False, True)
    for flavour in ("openai", "deepseek", "xai", "openrouter", "groq", "every-carrier")
    if not waits or flavour in {"deepseek", "every-carrier"}
]


@pytest.mark.parametrize(("flavour", "waits"), SERVERS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_streamed_run_is_the_run_that_came_whole(answer: str, flavour: str, waits: bool) -> None:
    """Each request, the transcript, the outcome and the facts, whatever the server's habits."""
    streamed, whole = (played(Way("chat", waits, stream), flavour, ANSWERS[answer]) for stream in (True, False))
    assert streamed == whole


def test_a_server_that_knows_no_stream_options() -> None:
    """They can be left out."""
    with scripted([Reply([Text("Done.")])]) as (standin, _), client_of("chat", standin, False) as client:
        model = adapter("chat", client, stream=True, stream_options=openai.NOT_GIVEN)
        assert Loop(model, TOOLS).run("Do it.").answer == "Done."
        assert "stream_options" not in json.loads(standin.requests[0].body)
