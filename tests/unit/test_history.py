"""The history chain: what a request repeats, what broke the prefix, and what it costs in readings."""

from __future__ import annotations

import copy
import enum
import gc
import hmac
import json
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types import RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseReasoningItem

from otel_agent import history as module
from otel_agent.digest import Digester
from otel_agent.history import History, HistoryFacts
from otel_agent.protocol import DIRECTIVES, Conversation, is_directive
from otel_agent.visible import encoded

KEY = b"history-key-of-tests"
DIGESTER = Digester.of_key(KEY, "tests")
SYSTEM = "You are an agent."
TOOLS: list[dict[str, Any]] = [
    {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}},
    {"name": "write", "description": "Writes."},
]


class Tripwire:
    """A thinking block whose text must not be asked for."""

    type = "thinking"

    @property
    def thinking(self) -> str:
        raise AssertionError("thinking was read")

    signature = data = thinking


class Sealed(Tripwire):
    """One that must not be asked for its role either."""

    role = Tripwire.thinking


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def call(at: int, **input_: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": f"step {at}"}, {"type": "tool_use", "id": f"tu_{at}", "name": "read", "input": {"at": at, **input_}}]
    return {"role": "assistant", "content": blocks}


def result(at: int, text: str = "row") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"tu_{at}", "content": f"{text} {at}", "is_error": False}]}


def loop(steps: int, first: int = 0) -> list[Any]:
    """A question and that many calls with their results."""
    return [user("question"), *(message for at in range(first, first + steps) for message in (call(at), result(at)))]


def seen(*requests: list[Any], **ahead: Any) -> HistoryFacts:
    """Facts of the last of several requests of one run."""
    history = History(DIGESTER)
    return [history.observe(Conversation(request, **{"system": SYSTEM, "tools": TOOLS, **ahead})) for request in requests][-1]


def shape(facts: HistoryFacts) -> tuple[Any, ...]:
    return facts.stable_prefix, facts.first_changed, facts.first_changed_role, facts.prefix_break


FRESH = (None, None, None, None)


class TestChain:
    def test_the_digest_is_a_chain_over_the_messages(self) -> None:
        """As the module writes it down, recomputed here."""
        items = loop(2)
        link = bytes(32)
        for item in items:
            link = hmac.digest(KEY, link + hmac.digest(KEY, encoded(item), "sha256"), "sha256")
        assert "hmac-sha256:tests:" + link.hex() == seen(items).history_digest

    def test_it_does_not_depend_on_how_one_got_there(self) -> None:
        """Grown turn by turn or sent at once."""
        items = loop(5)
        assert seen(items).history_digest == seen(*(items[: 1 + 2 * at] for at in range(6))).history_digest

    def test_the_projection_is_pinned(self) -> None:
        """What counts of a message, as JSON."""
        assert json.loads(encoded(call(1))) == [
            "message", "role", "assistant", "content",
            [["text", "text", "step 1"], ["tool_use", "id", "tu_1", "name", "read", "input", ['{"at":1}']]],
        ]  # fmt: skip

    def test_without_messages_there_is_no_digest(self) -> None:
        """Absent is not the digest of nothing."""
        facts = seen([])
        assert (facts.message_count, facts.history_digest) == (0, None)

    def test_system_and_tools_are_not_in_the_chain(self) -> None:
        """They have digests of their own."""
        assert seen(loop(1)).history_digest == seen(loop(1), system=None, tools=None).history_digest
        assert seen(loop(1)).tools_digest == DIGESTER.digest(TOOLS)
        assert seen(loop(1), tools=None).tools_digest is None

    def test_cache_markers_do_not_count(self) -> None:
        """Callers move them at each turn."""
        marked, tools = loop(1), copy.deepcopy(TOOLS)
        marked[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
        tools[-1]["cache_control"] = {"type": "ephemeral"}
        assert seen(loop(1)) == seen(marked) == seen(marked, tools=tools)


HIDDEN: list[Callable[[str], Any]] = [
    lambda text: {"type": "thinking", "thinking": text, "signature": text},
    lambda text: {"type": "redacted_thinking", "data": text},
    lambda text: {"type": "reasoning", "id": text, "summary": [{"type": "summary_text", "text": text}], "encrypted_content": text},
    lambda text: {"type": "reasoning_text", "text": text},
    lambda text: {"type": "compaction", "content": text, "encrypted_content": text},
    lambda text: {"type": "never_heard_of", "text": text},
    lambda text: {"text": text, "thought": True},
    lambda text: {"reasoningContent": {"reasoningText": {"text": text, "signature": text}}},
    lambda text: {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": text},
    lambda text: {"toolUse": {"toolUseId": "t", "name": "f", "input": {}, "reasoningSignature": text}},
    lambda text: {"type": "tool_use", "id": "t", "name": "f", "input": {}, "signature": text, "extras": {"signature": text}},
    lambda text: {"type": "text", "text": "seen", "citations": [{"cited_text": text, "encrypted_index": text}]},
    lambda text: {"type": "web_search_tool_result", "tool_use_id": "t", "content": [{"encrypted_content": text}]},
    lambda text: {"type": "message", "role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": text}]},
    lambda text: ThinkingBlock(type="thinking", thinking=text, signature=text),
    lambda text: RedactedThinkingBlock(type="redacted_thinking", data=text),
    lambda text: ResponseReasoningItem(type="reasoning", id=text, summary=[], encrypted_content=text),
    lambda text: ChatCompletionMessage.model_validate({"role": "assistant", "content": "seen", "reasoning_content": text}),
    lambda text: {"role": "assistant", "content": "seen", "reasoning_content": text, "reasoning": text, "reasoning_details": [text]},
    lambda text: {"role": "assistant", "content": "seen", "thinking": text, "tool_plan": text, "provider_specific_fields": {"x": text}},
]


class TestHidden:
    @pytest.mark.parametrize("make", HIDDEN)
    def test_reasoning_counts_by_its_type_alone(self, make: Callable[[str], Any]) -> None:
        """The digest is the same whatever was thought, as a block of a message and as an item."""
        first, another = make("first thought"), make("another")
        for one, other in (
            ([user("q"), {"role": "assistant", "content": [first]}], [user("q"), {"role": "assistant", "content": [another]}]),
            ([user("q"), first], [user("q"), another]),
        ):
            assert seen(one).history_digest == seen(other).history_digest
            assert shape(seen(one, other)) == (2, None, None, None)
            assert b"thought" not in encoded(one[1]).replace(b'"thought"', b"")

    def test_that_there_was_a_block_counts(self) -> None:
        """Its type is structure."""
        content = [{"type": "text", "text": "a"}]
        one = seen([{"role": "assistant", "content": content}])
        other = seen([{"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, *content]}])
        assert one.history_digest != other.history_digest

    def test_a_tripwire_passes(self) -> None:
        """At first sight, unchanged, and replaced by another."""
        history = History(DIGESTER)
        content = [Tripwire(), TextBlock(type="text", text="a")]
        items = [user("q"), {"role": "assistant", "content": content}]
        for wanted in (FRESH, (2, None, None, None), (2, None, None, None)):
            assert shape(history.observe(Conversation(items))) == wanted
            items = [user("q"), {"role": "assistant", "content": [Tripwire(), *content[1:]]}]

    def test_no_thinking_object_is_kept_alive(self) -> None:
        """Nor a message that carries reasoning beside its text."""
        # A model class built late keeps the local names of whoever makes its first instance, so that is done elsewhere.
        for make in HIDDEN:
            make("t")
        history = History(DIGESTER)
        block = ThinkingBlock(type="thinking", thinking="t", signature="s")
        message = ChatCompletionMessage.model_validate({"role": "assistant", "content": "c", "reasoning_content": "t"})
        gone: list[weakref.ref[Any]] = [weakref.ref(block), weakref.ref(message)]
        history.observe(Conversation([user("q"), {"role": "assistant", "content": [block]}, message]))
        del block, message
        gc.collect()
        assert [None, None] == [each() for each in gone]

    def test_no_thinking_text_is_held(self) -> None:
        """Not in a copy, not by reference."""
        history = History(DIGESTER)
        secret = "".join(["se", "cret ", "thought"])
        before = len(gc.get_referrers(secret))
        items = [{"role": "assistant", "content": [{"type": "thinking", "thinking": secret}], "reasoning_content": secret}]
        history.observe(Conversation(items))
        del items
        gc.collect()
        assert before == len(gc.get_referrers(secret))


BREAKS: dict[str, tuple[list[Any], list[Any], tuple[Any, ...]]] = {
    "grown": (loop(1), loop(2), (3, None, None, None)),
    "sent again": (loop(2), loop(2), (5, None, None, None)),
    "edited": (loop(2), [*loop(1)[:2], result(0, "trimmed"), *loop(3)[3:]], (2, 2, "user", "edited")),
    "edited call": (loop(2), [user("question"), call(0, more=1), *loop(3)[2:]], (1, 1, "assistant", "edited")),
    "first message edited": ([user("q")], [user("Q"), call(0), result(0)], (0, 0, "user", "edited")),
    "inserted": (loop(2), [user("question"), user("by the way"), *loop(3)[1:]], (1, 1, "assistant", "edited")),
    "one removed": (loop(2), [user("question"), *loop(3)[2:]], (1, 1, "assistant", "edited")),
    "reordered": (loop(2), [user("question"), result(0), call(0), *loop(3)[3:]], (1, 1, "assistant", "reordered")),
    "summarised": (loop(4), [user("question"), user("summary"), *loop(1, 3)[1:]], (1, 1, "assistant", "summarised")),
    "summarised to one": (loop(4), [user("question"), user("summary")], (1, 1, "assistant", "summarised")),
    "summarised, first gone": (loop(4), [user("summary"), *loop(2, 2)[1:], *loop(1, 4)[1:]], (0, 0, "user", "summarised")),
    "oldest dropped": (loop(4), [user("question"), *loop(4, 1)[1:]], (1, 1, "assistant", "summarised")),
    "system message changed": (
        [{"role": "system", "content": "at 10:00"}, *loop(1)],
        [{"role": "system", "content": "at 10:01"}, *loop(2)],
        (0, 0, "system", "system_changed"),
    ),
    "went back": (loop(3), loop(2), FRESH),
    "last message replaced": (loop(1), [*loop(1)[:2], result(0, "other")], FRESH),
    "another conversation": (loop(3), [user("something else")], FRESH),
    "the same prompt for another document": (
        [{"role": "system", "content": "s"}, user("document a")],
        [{"role": "system", "content": "s"}, user("document b")],
        FRESH,
    ),
    "examples shared": ([*loop(2), user("document a")], [*loop(2), user("document b")], FRESH),
}


class TestDirectives:
    @given(st.data())
    def test_they_are_those_that_a_look_at_every_message_finds(self, data: st.DataObject) -> None:
        """Whatever is added, edited in place, replaced, moved or removed between the turns of a run."""
        kinds = [
            user,
            lambda text: {"role": "system", "content": text},
            lambda text: {"role": "developer", "content": text},
            *map(typed, DIRECTIVES),
        ]
        made = st.builds(lambda make, text: make(text), st.sampled_from(kinds), st.sampled_from("abc"))
        history, items = History(DIGESTER), data.draw(st.lists(made, max_size=4))
        for _ in range(4):
            facts = history.observe(Conversation(list(items), server_held=data.draw(st.booleans())))
            assert [item for item in items if is_directive(item)] == facts.directives
            for change in data.draw(st.lists(st.sampled_from([append, edit, swap, drop]), max_size=3)):
                change(items, data.draw(made), data.draw(st.integers(0, 9)))

    def test_an_item_that_carries_reasoning_is_asked_for_its_type_alone(self) -> None:
        """Its role would be the first member to tell something."""
        assert not is_directive(Sealed())


def typed(kind: str) -> Callable[[str], Any]:
    """Makes items of a type that changes settings on the way."""
    return lambda text: {"type": kind, "reasoning": {"effort": text}}


def append(items: list[Any], other: Any, at: int) -> None:
    items.append(other)


def edit(items: list[Any], other: Any, at: int) -> None:
    if items:
        items[at % len(items)].update(other)


def swap(items: list[Any], other: Any, at: int) -> None:
    if items:
        items[at % len(items)] = other


def drop(items: list[Any], other: Any, at: int) -> None:
    del items[at:]


class TestBreaks:
    @pytest.mark.parametrize("name", BREAKS)
    def test_it_says_what_changed(self, name: str) -> None:
        """The first difference, its role, and what kind of change it was; nothing where nothing broke."""
        before, after, expected = BREAKS[name]
        assert expected == shape(seen(before, after))

    @pytest.mark.parametrize(
        ("ahead", "expected"),
        [
            ({"system": "You are another."}, "system_changed"),
            ({"tools": TOOLS[::-1]}, "tools_changed"),
            ({"tools": TOOLS[:1]}, "tools_changed"),
            ({"tools": None}, "tools_changed"),
            ({"tools": TOOLS[:1], "system": "You are another."}, "tools_changed"),
            ({"system": [{"type": "text", "text": SYSTEM}]}, "system_changed"),
            ({"tools": copy.deepcopy(TOOLS), "system": "".join(["You are ", "an agent."])}, None),
        ],
    )
    def test_what_stands_before_the_messages_is_named_first(self, ahead: dict[str, Any], expected: str | None) -> None:
        """Tools, then system: the order in which the prefix is built."""
        history = History(DIGESTER)
        history.observe(Conversation(loop(1), SYSTEM, TOOLS))
        facts = history.observe(Conversation(loop(2), **{"system": SYSTEM, "tools": TOOLS, **ahead}))
        assert shape(facts) == (3, None, None, expected)

    def test_a_change_of_messages_is_reported_beside_it(self) -> None:
        """Which message changed stays known when the tools changed as well."""
        history = History(DIGESTER)
        history.observe(Conversation(loop(2), SYSTEM, TOOLS))
        facts = history.observe(Conversation(BREAKS["edited"][1], SYSTEM, TOOLS[:1]))
        assert shape(facts) == (2, 2, "user", "tools_changed")

    def test_the_same_message_under_another_system_is_another_conversation(self) -> None:
        """Several experts asked one question."""
        history = History(DIGESTER)
        for system in ("expert a", "expert b", "expert c"):
            assert shape(history.observe(Conversation([user("q")], system))) == FRESH
        for system in ("expert b", "expert a"):
            assert shape(history.observe(Conversation([user("q"), call(0), result(0)], system))) == (1, None, None, None)

    def test_after_a_break_the_new_messages_count(self) -> None:
        """One change is reported once."""
        before, after, _ = BREAKS["summarised"]
        history = History(DIGESTER)
        for request in (before, after):
            history.observe(Conversation(request))
        assert shape(history.observe(Conversation([*after, call(9), result(9)]))) == (len(after), None, None, None)

    def test_a_short_list_that_goes_on_at_the_provider_breaks_nothing(self) -> None:
        """With ``previous_response_id`` only new items are sent."""
        history = History(DIGESTER)
        history.observe(Conversation(loop(3)))
        facts = history.observe(Conversation([user("next")], server_held=True))
        assert (shape(facts), facts.message_count, facts.history_digest) == (FRESH, 1, seen([user("next")]).history_digest)
        assert shape(history.observe(Conversation(loop(4)))) == (7, None, None, None)

    def test_parallel_conversations_do_not_disturb_each_other(self) -> None:
        """Up to sixteen are told apart."""
        history = History(DIGESTER)
        lines = [[user(f"part {name}")] for name in range(module.MAX_LINES)]
        for _ in range(3):
            for line in lines:
                facts = history.observe(Conversation(line))
                assert facts.prefix_break is None
                line += [call(len(line)), result(len(line))]
        assert [5] * module.MAX_LINES == [history.observe(Conversation(line)).stable_prefix for line in lines]
        for other in range(module.MAX_LINES + 1):
            history.observe(Conversation([user(f"other {other}")]))
        assert len(history._lines) == module.MAX_LINES

    def test_more_conversations_than_are_remembered_break_nothing(self) -> None:
        """One that was forgotten begins afresh; it shares nothing with the others, so it is no edit of theirs."""
        history = History(DIGESTER)
        lines = [[user(f"part {name}")] for name in range(2 * module.MAX_LINES)]
        for turn in range(3):
            for line in lines:
                assert shape(history.observe(Conversation(line, SYSTEM, TOOLS))) == FRESH
                line += [call(turn), result(turn, line[0]["content"])]

    def test_an_edited_question_belongs_to_the_only_line_that_could_be_meant(self) -> None:
        """With two that could be, it would be a guess, and the other conversation would be broken by its own next turn."""
        history, lines = History(DIGESTER), [[user("part 1")], [user("part 2")]]
        for line in lines:
            history.observe(Conversation(line, SYSTEM))
        edited = [user("part 1, at noon"), call(1), result(1)]
        assert shape(history.observe(Conversation(edited, SYSTEM))) == FRESH
        assert shape(history.observe(Conversation([*lines[1], call(2), result(2)], SYSTEM))) == (1, None, None, None)
        assert shape(seen(lines[0], edited)) == (0, 0, "user", "edited")

    def test_a_longer_conversation_that_shares_nothing_is_another(self) -> None:
        """A reply at the place where the other one ended is chance."""
        assert shape(seen(loop(1), [user("another"), *loop(2, 5)[1:]])) == FRESH

    def test_responses_items(self) -> None:
        """Roles are few there: an item without one is an item."""
        call_ = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "c1", "output": "row"}
        items = [user("q"), {"type": "reasoning", "id": "rs_1", "summary": []}, call_, output]
        assert shape(seen(items[:1], items)) == (1, None, None, None)
        changed = [*items[:2], {**call_, "arguments": '{"a":1}'}, output, {**call_, "call_id": "c2"}]
        assert shape(seen(items, changed)) == (2, 2, "item", "edited")

    def test_gemini_contents(self) -> None:
        """Parts without a type, in both spellings."""
        items = [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"text": "h", "thought": True}, {"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": [1]}}}]},
        ]
        assert shape(seen(items[:1], items)) == (1, None, None, None)
        edited = copy.deepcopy(items)
        edited[1]["parts"][1]["functionCall"]["args"]["a"] = 2  # type: ignore[index]
        assert shape(seen(items, [*edited, {"role": "model", "parts": []}])) == (1, 1, "assistant", "edited")


def edits() -> dict[str, Callable[[list[Any]], Any]]:
    """Edits in place of the third message or of what is in the second, each of which a provider would see."""
    return {
        "text of a block": lambda items: items[1]["content"][0].update(text="other"),
        "argument": lambda items: items[1]["content"][1]["input"].update(at=7),
        "nested argument": lambda items: items[1]["content"][1]["input"]["deep"][0].update(x=2),
        "argument added": lambda items: items[1]["content"][1]["input"].update(more=None),
        "argument renamed": lambda items: items[1]["content"][1]["input"].update(new=items[1]["content"][1]["input"].pop("at")),
        "flag for a number": lambda items: items[1]["content"][1]["input"].update(one=True),
        "number for a flag": lambda items: items[1]["content"][1]["input"].update(yes=1),
        "block removed": lambda items: items[1]["content"].pop(0),
        "block added": lambda items: items[1]["content"].append({"type": "text", "text": "x"}),
        "blocks swapped": lambda items: items[1]["content"].reverse(),
        "type of a block": lambda items: items[1]["content"][0].update(type="output_text"),
        "role": lambda items: items[1].update(role="user"),
        "content replaced": lambda items: items[1].update(content="text"),
    }


class TestInPlace:
    @pytest.mark.parametrize("name", edits())
    def test_an_edit_in_place_is_seen(self, name: str) -> None:
        """The list and the message are the same objects as before."""
        history = History(DIGESTER)
        items = [user("question"), call(0, deep=[{"x": 1}], one=1, yes=True), result(0)]
        history.observe(Conversation(items))
        assert shape(history.observe(Conversation(items))) == (3, None, None, None)
        edits()[name](items)
        items += [call(1), result(1)]
        assert shape(history.observe(Conversation(items))) == (1, 1, "assistant", "edited")
        assert shape(history.observe(Conversation(items))) == (5, None, None, None)

    @pytest.mark.parametrize(
        "edit",
        [
            lambda content: setattr(content[0], "text", "other"),
            lambda content: setattr(content[1], "input", {"at": 9}),
            lambda content: content[1].input.update(at=9),
        ],
    )
    def test_an_edit_of_a_model_object_is_seen(self, edit: Callable[[Any], None]) -> None:
        """``response.content`` is appended as it came, and changed later."""
        history = History(DIGESTER)
        content = [TextBlock(type="text", text="t"), ToolUseBlock(type="tool_use", id="tu_0", name="f", input={"at": 1})]
        items = [user("question"), {"role": "assistant", "content": content}, result(0)]
        history.observe(Conversation(items))
        assert shape(history.observe(Conversation(items))) == (3, None, None, None)
        edit(content)
        items += [call(1), result(1)]
        assert shape(history.observe(Conversation(items))) == (1, 1, "assistant", "edited")

    def test_an_edit_of_a_chat_message_object_is_seen(self) -> None:
        """With reasoning beside its text or without."""
        for more in ({}, {"reasoning_content": "hm"}):
            message = ChatCompletionMessage.model_validate({
                "role": "assistant", "content": "c", **more,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            })  # fmt: skip
            history = History(DIGESTER)
            items = [user("q"), message, {"role": "tool", "tool_call_id": "c1", "content": "row"}]
            for _ in range(2):
                facts = history.observe(Conversation(items))
            assert shape(facts) == (3, None, None, None)
            message.tool_calls[0].function.arguments = '{"a":1}'  # type: ignore[index,union-attr]
            assert shape(history.observe(Conversation([*items, user("next"), user("more")]))) != (3, None, None, None)

    def test_an_edit_of_thinking_is_none_of_the_historys(self) -> None:
        """That is for the replay check."""
        history = History(DIGESTER)
        items = [user("q"), {"role": "assistant", "content": [{"type": "thinking", "thinking": "a"}, *call(0)["content"]]}, result(0)]
        history.observe(Conversation(items))
        items[1]["content"][0]["thinking"] = "b"
        assert shape(history.observe(Conversation(items))) == (3, None, None, None)


class Attributes(dict[str, Any]):
    """A dictionary with attribute access, which keeps its members as its own ``__dict__``."""

    def __init__(self, members: Any) -> None:
        super().__init__(members)
        self.__dict__ = self


class Dotted(dict[str, Any]):
    """One that looks its attributes up."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("code of the caller's ran")


class Guarded(dict[str, Any]):
    """One whose every method is the caller's own code."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("code of the caller's ran")

    get = items = keys = values = __iter__ = __getitem__ = __contains__ = __len__ = __eq__ = __getattr__  # type: ignore[assignment]
    __hash__ = None


class Pieces(list[Any]):
    pass


class GuardedPieces(list[Any]):
    """A list whose every method is the caller's own code."""

    def __iter__(self) -> Any:
        raise AssertionError("code of the caller's ran")

    __len__ = __getitem__ = __eq__ = __contains__ = __iter__  # type: ignore[assignment]
    __hash__ = None


class Markup(str):
    pass


class Word(str, enum.Enum):  # noqa: UP042 - both ways of writing it exist
    ASSISTANT = "assistant"
    USER = "user"


def dressed(value: Any, mapping: Callable[[Any], Any], sequence: Callable[[Any], Any], text: Callable[[str], Any]) -> Any:
    """The same value in other classes, all the way down."""
    if isinstance(value, dict):
        return mapping({name: dressed(inner, mapping, sequence, text) for name, inner in value.items()})
    if isinstance(value, list):
        return sequence([dressed(inner, mapping, sequence, text) for inner in value])
    return text(value) if isinstance(value, str) else value


def word(text: str) -> str:
    return Word(text) if text in {"user", "assistant"} else text


DRESSES: dict[str, tuple[Any, Any, Any]] = {
    "ordered": (OrderedDict, list, str),
    "defaults": (lambda members: defaultdict(str, members), list, str),
    "attributes": (Attributes, list, str),
    "dotted": (Dotted, list, str),
    "sequences": (dict, Pieces, str),
    "strings": (dict, list, Markup),
    "enums": (dict, list, word),
    "guarded": (Guarded, list, str),
    "guarded sequences": (dict, GuardedPieces, str),
}


class TestSubclasses:
    """Dictionaries, lists and strings of other classes are JSON like the plain ones; the anthropic SDK hands them on as they are."""

    @pytest.mark.parametrize("dress", DRESSES)
    def test_they_are_read_as_the_plain_ones(self, dress: str) -> None:
        """Messages, system prompt and tools."""
        items = [*loop(2), {"role": "assistant", "content": "done"}, user("next")]
        system = [{"type": "text", "text": SYSTEM}]
        marked = [{**TOOLS[0], "cache_control": {"type": "ephemeral"}}, TOOLS[1]]
        made = [dressed(item, *DRESSES[dress]) for item in items]
        tools = [dressed(tool, *DRESSES[dress]) for tool in marked]
        assert seen(made, system=dressed(system, *DRESSES[dress]), tools=tools) == seen(items, system=system)
        assert shape(seen(items, made)) == shape(seen(made, items)) == (len(items), None, None, None)
        assert seen([user("one")]).history_digest != seen([dressed(user("other"), *DRESSES[dress])]).history_digest

    @pytest.mark.parametrize("dress", DRESSES)
    @pytest.mark.parametrize("name", [name for name in edits() if name not in {"block removed", "block added", "blocks swapped"}])
    def test_an_edit_in_place_is_seen(self, name: str, dress: str) -> None:
        """As it is in plain ones."""
        history = History(DIGESTER)
        plain = [user("question"), call(0, deep=[{"x": 1}], one=1, yes=True), result(0)]
        changed = copy.deepcopy(plain)
        edits()[name](changed)
        items = [dressed(item, *DRESSES[dress]) for item in plain]
        history.observe(Conversation(items))
        put(items[1], dressed(changed[1], *DRESSES[dress]))
        assert shape(history.observe(Conversation([*items, call(1), result(1)]))) == (1, 1, "assistant", "edited")

    @pytest.mark.parametrize("dress", DRESSES)
    def test_they_are_recognised_without_being_read(self, dress: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same objects, and equal ones built anew."""
        history = History(DIGESTER)
        items = [dressed(item, *DRESSES[dress]) for item in loop(20)]
        history.observe(Conversation(items))
        reads = Reads(monkeypatch)
        for again in (items, [dressed(item, *DRESSES[dress]) for item in loop(20)]):
            assert shape(history.observe(Conversation(again))) == (41, None, None, None)
        assert reads.count == 0

    def test_a_list_of_messages_of_another_class(self) -> None:
        """It is walked by nobody's code."""
        assert seen(GuardedPieces(loop(2)), tools=GuardedPieces(TOOLS)) == seen(loop(2))

    def test_an_object_is_asked_for_nothing_that_its_class_computes(self) -> None:
        """What the class has for all is there to be read."""

        class Computed(Sealed):
            content = Sealed.role

        assert encoded({"role": "user", "content": [Computed()]}) == b'["message","role","user","content",[["thinking"]]]'


def put(old: Any, new: Any) -> None:
    """Make a message that the caller holds into another, in place, by no method that its class overrides."""
    dict.clear(old)
    dict.update(old, dict.items(new))


class Reads:
    """Counts how many messages are digested."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr(module, "encoded", self)

    def __call__(self, item: Any) -> bytes:
        self.count += 1
        return encoded(item)


MAKERS: dict[str, Callable[[int], list[Any]]] = {
    "dictionaries": loop,
    "objects": lambda steps: [
        user("question"),
        *(
            message
            for at in range(steps)
            for message in (
                {"role": "assistant", "content": [
                    ThinkingBlock(type="thinking", thinking="t", signature="s"), TextBlock(type="text", text="x"),
                    ToolUseBlock(type="tool_use", id=f"tu_{at}", name="f", input={"at": at}),
                ]},
                result(at),
            )
        ),
    ],
    "items": lambda steps: [
        user("question"),
        *(
            item
            for at in range(steps)
            for item in (
                ResponseReasoningItem(type="reasoning", id=f"rs_{at}", summary=[]),
                ResponseFunctionToolCall(type="function_call", id=f"fc{at}", call_id=f"c{at}", name="f", arguments="{}"),
                {"type": "function_call_output", "call_id": f"c{at}", "output": "row"},
            )
        ),
        ResponseOutputMessage.model_validate({
            "type": "message", "id": "m", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        }),
    ],
}  # fmt: skip


class TestCost:
    @pytest.mark.parametrize("name", MAKERS)
    def test_only_new_messages_are_read(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The caller's own list grows."""
        history, items = History(DIGESTER), MAKERS[name](20)
        history.observe(Conversation(items, SYSTEM, TOOLS))
        reads = Reads(monkeypatch)
        items += [call(30), result(30)]
        assert history.observe(Conversation(items, SYSTEM, TOOLS)).stable_prefix == len(items) - 2
        assert reads.count == 2

    @pytest.mark.parametrize("name", MAKERS)
    def test_equal_messages_that_were_built_anew_are_recognised(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """New objects at each turn, as frameworks make them, are no break; dictionaries are not even read again."""
        history = History(DIGESTER)
        history.observe(Conversation(MAKERS[name](20)))
        reads = Reads(monkeypatch)
        again = MAKERS[name](20)
        assert shape(history.observe(Conversation(again))) == (len(again), None, None, None)
        assert reads.count == 0

    def test_a_marker_moved_along_costs_the_messages_it_touched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cache breakpoints are moved at each turn."""
        history, items = History(DIGESTER), loop(20)
        items[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
        history.observe(Conversation(items))
        reads = Reads(monkeypatch)
        del items[-1]["content"][0]["cache_control"]
        items += [call(30), result(30)]
        assert shape(history.observe(Conversation(items))) == (41, None, None, None)
        assert reads.count == 3
        assert shape(history.observe(Conversation(items))) == (43, None, None, None)
        assert reads.count == 3

    def test_a_model_object_for_the_dictionary_it_was(self) -> None:
        """Another representation of the same message is the same message."""
        items = MAKERS["objects"](2)
        dumped = [json.loads(json.dumps(item, default=lambda block: block.model_dump())) for item in items]
        assert shape(seen(items, dumped)) == (5, None, None, None)
        assert seen(items).history_digest == seen(dumped).history_digest


class TestStrange:
    def test_what_is_no_list_is_not_walked(self) -> None:
        """A one-shot iterable belongs to the SDK."""
        items = iter([user("q")])
        facts = seen(items)  # type: ignore[arg-type]
        assert facts.message_count == 0
        assert list(items) == [user("q")]
        content = iter(["a"])
        seen([{"role": "user", "content": content}])
        assert list(content) == ["a"]

    def test_objects_of_unknown_make_do_not_break_a_message(self) -> None:
        """The rest of it still counts."""
        block = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": object()}}
        message = {"role": "user", "content": [block, {"type": "text", "text": "a"}]}
        assert shape(seen([message], [message, call(0)])) == (1, None, None, None)

    @pytest.mark.parametrize(
        "items", [[None], [1, "text"], [{}], [[]], [{"role": 1, "type": [], "content": {}}], ["\ud800"], [{"content": [None, [[]]]}]]
    )
    def test_nonsense_gets_a_digest(self, items: list[Any]) -> None:
        """The provider will refuse it; we do not."""
        assert seen(items, items).stable_prefix == len(items)

    def test_a_message_without_bottom(self) -> None:
        """It cannot be sent, but it can be looked at."""
        value: dict[str, Any] = {}
        value.update(a=value, b=value)
        message = {"role": "user", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": value}]}
        assert shape(seen([message], [message])) == (1, None, None, None)

    def test_a_very_long_text_is_compared_in_full(self) -> None:
        """It counts by its length in the digest only."""
        image = "x" * (1 << 21)
        blocks = [{"type": "image", "source": {"type": "base64", "data": image}}, {"type": "text", "text": image}]
        message = {"role": "user", "content": blocks}
        assert len(encoded(message)) < 1000
        assert shape(seen([message], [message, call(0)])) == (1, None, None, None)

    def test_an_error_on_the_way_leaves_no_half_made_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The next request begins afresh."""
        history = History(DIGESTER)
        history.observe(Conversation(loop(1)))

        def broken(_item: Any) -> bytes:
            raise RuntimeError

        with monkeypatch.context() as patch:
            patch.setattr(module, "encoded", broken)
            with pytest.raises(RuntimeError):
                history.observe(Conversation(loop(2)))
        assert shape(history.observe(Conversation(loop(2)))) == FRESH


words = st.sampled_from("abcdef")
messages = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": words})
conversations = st.lists(messages, max_size=8)


class TestProperties:
    @given(st.lists(conversations, min_size=1, max_size=5))
    def test_facts_are_consistent(self, requests: list[list[Any]]) -> None:
        """Whatever is sent after whatever."""
        history = History(DIGESTER)
        for request in requests:
            facts = history.observe(Conversation(request))
            assert facts.message_count == len(request)
            assert facts.history_digest == seen(request).history_digest
            assert (facts.first_changed is None) == (facts.first_changed_role is None)
            if facts.first_changed is not None:
                assert facts.first_changed == facts.stable_prefix
            if facts.prefix_break is not None:
                assert facts.stable_prefix is not None

    @given(conversations.filter(bool), conversations)
    def test_what_is_added_never_breaks(self, before: list[Any], added: list[Any]) -> None:
        """Appending is what keeps a prefix."""
        assert shape(seen(before, copy.deepcopy(before) + added)) == (len(before), None, None, None)

    @given(conversations, conversations)
    def test_digests_differ_when_messages_do(self, one: list[Any], other: list[Any]) -> None:
        """And only then."""
        assert (one == other) == (seen(one).history_digest == seen(other).history_digest)
