"""The replay check: reasoning items of an open tool loop, due back unchanged and in place."""

from __future__ import annotations

import copy
import gc
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import Response

from otel_agent import replay as module
from otel_agent import tally
from otel_agent.protocol import Conversation
from otel_agent.replay import CALL, NOTHING_DUE, Replay, ReplayFacts, Seal, seal


class Tripwire:
    """A thinking block whose text must not be asked for."""

    type = "thinking"

    @property
    def thinking(self) -> str:
        raise AssertionError("thinking was read")

    signature = data = thinking


def anthropic_turn() -> list[Any]:
    return [
        {"type": "thinking", "thinking": "first", "signature": "s1"},
        {"type": "redacted_thinking", "data": "d2"},
        {"type": "text", "text": "looking"},
        {"type": "tool_use", "id": "tu_1", "name": "read", "input": {"a": 1}},
    ]


def anthropic_request(content: Any, *after: Any) -> Conversation:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tu_1", "content": "row"}]}
    return Conversation([{"role": "user", "content": "q"}, {"role": "assistant", "content": content}, result, *after])


def responses_turn() -> list[Any]:
    return [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "sum"}], "encrypted_content": "enc1"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "enc2"},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "f", "arguments": "{}"},
    ]


def responses_request(items: list[Any], **more: Any) -> Conversation:
    outputs = [{"type": "function_call_output", "call_id": name, "output": "row"} for name in ("c1", "c2")]
    return Conversation([{"role": "user", "content": "q"}, *items, *outputs], **more)


def chat_turn(**reasoning: Any) -> dict[str, Any]:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    return {"role": "assistant", "content": "c", "tool_calls": calls, **reasoning}


def chat_request(message: Any) -> Conversation:
    return Conversation([{"role": "user", "content": "q"}, message, {"role": "tool", "tool_call_id": "c1", "content": "row"}])


def checked(turn: Any, request: Conversation) -> tuple[Any, ...]:
    """Replayed, dropped and edited items after one response."""
    replay = Replay()
    replay.remember(turn)
    facts = replay.check(request, "messages")
    return facts.replayed_items, facts.dropped_items, facts.edited_items


def changed(make: Callable[[], list[Any]], change: Callable[[list[Any]], Any]) -> list[Any]:
    """A copy of a turn after a change in place."""
    turn = make()
    change(turn)
    return turn


NONE = (None, None, None)

ANTHROPIC: dict[str, tuple[Callable[[list[Any]], Any], tuple[int, int, int]]] = {
    "as returned": (lambda turn: None, (2, 0, 0)),
    "text changed": (lambda turn: turn[2].update(text="other"), (2, 0, 0)),
    "arguments changed": (lambda turn: turn[3]["input"].update(a=2), (2, 0, 0)),
    "thinking dropped": (lambda turn: turn.pop(0), (1, 1, 0)),
    "all dropped": (lambda turn: turn.__delitem__(slice(2)), (0, 2, 0)),
    "thinking edited": (lambda turn: turn[0].update(thinking="other"), (1, 0, 1)),
    "thinking emptied": (lambda turn: turn[0].update(thinking=""), (1, 0, 1)),
    "signature edited": (lambda turn: turn[0].update(signature="other"), (1, 0, 1)),
    "signature dropped": (lambda turn: turn[0].pop("signature"), (1, 0, 1)),
    "data edited": (lambda turn: turn[1].update(data="other"), (1, 0, 1)),
    "swapped": (lambda turn: turn.insert(0, turn.pop(1)), (1, 0, 1)),
    "behind the call": (lambda turn: turn.append(turn.pop(0)), (1, 0, 1)),
}


class TestAnthropic:
    @pytest.mark.parametrize("name", ANTHROPIC)
    def test_blocks_are_due_before_the_call(self, name: str) -> None:
        """Unmodified and in order; their neighbours may change."""
        change, expected = ANTHROPIC[name]
        assert expected == checked(anthropic_turn(), anthropic_request(changed(anthropic_turn, change)))

    def test_model_objects_and_dictionaries_are_the_same(self) -> None:
        """The response's own objects, or what they were dumped to."""
        content = Message.model_validate({
            "id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use", "content": anthropic_turn(),
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }).content  # fmt: skip
        assert checked(content, anthropic_request(content)) == (2, 0, 0)
        assert checked(content, anthropic_request([block.model_dump() for block in content])) == (2, 0, 0)
        assert checked(anthropic_turn(), anthropic_request(content)) == (2, 0, 0)

    def test_an_edit_of_the_object_itself_is_seen(self) -> None:
        """The seal was made when the response came."""
        block = ThinkingBlock(type="thinking", thinking="t", signature="s")
        content = [block, ToolUseBlock(type="tool_use", id="tu_1", name="f", input={})]
        replay = Replay()
        replay.remember(content)
        block.thinking = "u"
        assert replay.check(anthropic_request(content)) == ReplayFacts(0, 0, 1)

    def test_empty_thinking_with_a_signature_is_due_too(self) -> None:
        """Hidden thinking comes so."""
        turn = [{"type": "thinking", "thinking": "", "signature": "s"}, anthropic_turn()[3]]
        assert checked(turn, anthropic_request(turn)) == (1, 0, 0)
        assert checked(turn, anthropic_request(turn[1:])) == (0, 1, 0)

    def test_a_tripwire_counts_as_present(self) -> None:
        """Its text is not where it could be read without running it."""
        turn = [Tripwire(), ToolUseBlock(type="tool_use", id="tu_1", name="f", input={})]
        assert checked(turn, anthropic_request(turn)) == (1, 0, 0)
        assert checked(turn, anthropic_request(turn[1:])) == (0, 1, 0)


RESPONSES: dict[str, tuple[Callable[[list[Any]], Any], tuple[int, int, int]]] = {
    "as returned": (lambda turn: None, (2, 0, 0)),
    "one dropped": (lambda turn: turn.pop(2), (1, 1, 0)),
    "encrypted content edited": (lambda turn: turn[0].update(encrypted_content="x"), (1, 0, 1)),
    "encrypted content dropped": (lambda turn: turn[0].pop("encrypted_content"), (1, 0, 1)),
    "summary dropped": (lambda turn: turn[0].update(summary=[]), (2, 0, 0)),
    "id dropped": (lambda turn: turn[0].pop("id"), (2, 0, 0)),
    "id of another": (lambda turn: turn[0].update(id="rs_9"), (1, 0, 1)),
    "all moved to the front": (lambda turn: turn.insert(0, turn.pop(2)), (1, 0, 1)),
    "by reference": (lambda turn: turn.__setitem__(0, {"type": "item_reference", "id": "rs_1"}), (2, 0, 0)),
}


class TestResponses:
    @pytest.mark.parametrize("name", RESPONSES)
    def test_items_are_due_before_what_they_belong_to(self, name: str) -> None:
        """By id and encrypted content."""
        change, expected = RESPONSES[name]
        assert expected == checked(responses_turn(), responses_request(changed(responses_turn, change)))

    def test_nothing_is_due_when_the_provider_holds_the_conversation(self) -> None:
        """``previous_response_id``: only outputs are sent."""
        assert checked(responses_turn(), responses_request([], server_held=True)) == NONE

    def test_model_objects(self) -> None:
        """The output of a response as it is."""
        output = Response.model_validate({
            "id": "r", "object": "response", "created_at": 0, "model": "m", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "output": [{**item, "status": "completed"} for item in responses_turn()],
        }).output  # fmt: skip
        assert checked(output, responses_request(list(output))) == (2, 0, 0)
        assert checked(output, responses_request([item.model_dump() for item in output][1:])) == (1, 1, 0)

    def test_results_may_stand_right_after_their_calls(self) -> None:
        """The turn then lies in pieces."""
        turn = responses_turn()
        outputs = [{"type": "function_call_output", "call_id": name, "output": "row"} for name in ("c1", "c2")]
        items = [{"role": "user", "content": "q"}, *turn[:2], outputs[0], *turn[2:], outputs[1]]
        assert checked(turn, Conversation(items)) == (2, 0, 0)
        assert checked(turn, Conversation([items[0], *items[2:]])) == (1, 1, 0)

    def test_without_encrypted_content_the_summary_may_not_change(self) -> None:
        """It is all there is."""
        turn = [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "a"}]}, responses_turn()[1]]
        other = copy.deepcopy(turn)
        other[0]["summary"][0]["text"] = "b"
        assert checked(turn, responses_request(copy.deepcopy(turn))) == (1, 0, 0)
        assert checked(turn, responses_request(other)) == (0, 0, 1)


class TestChat:
    @pytest.mark.parametrize(
        ("sent", "expected"),
        [
            (chat_turn(reasoning_content="hm"), (1, 0, 0)),
            (chat_turn(), (0, 1, 0)),
            (chat_turn(reasoning_content="other"), (0, 0, 1)),
            (chat_turn(reasoning_content=""), (0, 0, 1)),
        ],
    )
    def test_reasoning_content_is_due(self, sent: Any, expected: tuple[int, int, int]) -> None:
        """On an assistant message with tool calls, from a dictionary and from an SDK's object."""
        returned = ChatCompletionMessage.model_validate(chat_turn(reasoning_content="hm"))
        assert expected == checked([chat_turn(reasoning_content="hm")], chat_request(sent))
        assert expected == checked([returned], chat_request(sent))
        assert expected == checked(returned, chat_request(ChatCompletionMessage.model_validate(sent)))

    def test_reasoning_details_are_due_one_by_one(self) -> None:
        """In order; the plain copies beside them are not."""
        details = [{"type": "reasoning.text", "id": "a", "text": "x"}, {"type": "reasoning.encrypted", "id": "b", "data": "y"}]
        turn = chat_turn(reasoning_details=details, reasoning="x", reasoning_content="x")
        assert checked([turn], chat_request(chat_turn(reasoning_details=copy.deepcopy(details)))) == (2, 0, 0)
        assert checked([turn], chat_request(chat_turn(reasoning_details=details[1:]))) == (1, 1, 0)
        assert checked([turn], chat_request(chat_turn(reasoning_details=details[::-1]))) == (1, 0, 1)

    @pytest.mark.parametrize("turn", [chat_turn(), chat_turn(reasoning="hm"), chat_turn(reasoning_content=None)])
    def test_nothing_is_due_without_such_members(self, turn: Any) -> None:
        """Nor where sending it back is up to the caller."""
        assert checked([turn], chat_request(chat_turn())) == NONE


class TestLoop:
    def test_no_tool_call_no_obligation(self) -> None:
        """The turn was over."""
        turn = anthropic_turn()[:3]
        assert checked(turn, anthropic_request(turn)) == NONE

    def test_a_new_question_closes_the_loop(self) -> None:
        """Older turns may be dropped."""
        turn = anthropic_turn()
        after = {"role": "assistant", "content": "done"}, {"role": "user", "content": "next"}
        assert checked(turn, anthropic_request(turn[2:], *after)) == NONE

    def test_a_reminder_from_the_system_does_not_close_it(self) -> None:
        """Only the user does."""
        request = anthropic_request(anthropic_turn()[2:], {"role": "system", "content": "mind the budget"})
        assert checked(anthropic_turn(), request) == (0, 2, 0)

    def test_a_turn_that_was_summarised_away_owes_nothing(self) -> None:
        """Its tool call is gone as well."""
        assert checked(anthropic_turn(), Conversation([{"role": "user", "content": "summary"}])) == NONE

    def test_a_retry_is_checked_again(self) -> None:
        """The first try may have failed on the way."""
        replay = Replay()
        replay.remember(anthropic_turn())
        for _ in range(2):
            assert replay.check(anthropic_request(anthropic_turn())) == ReplayFacts(2, 0, 0)

    def test_the_last_two_responses_are_looked_at(self) -> None:
        """The loop's items are due as a whole; a bound keeps the check cheap."""
        replay = Replay()
        items: list[Any] = [{"role": "user", "content": "q"}]
        for at in range(5):
            turn = [{"type": "thinking", "thinking": str(at)}, {"type": "tool_use", "id": f"t{at}", "name": "f", "input": {}}]
            replay.remember(turn)
            result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{at}"}]}
            items += [{"role": "assistant", "content": turn[at != 4 :]}, result]
        assert replay.check(Conversation(items)) == ReplayFacts(1, 1, 0)

    def test_parallel_conversations_are_told_apart(self) -> None:
        """By the ids of their calls."""
        replay = Replay()
        replay.remember(anthropic_turn())
        replay.remember(responses_turn())
        assert replay.check(anthropic_request(anthropic_turn())) == ReplayFacts(2, 0, 0)
        assert replay.check(responses_request(responses_turn())) == ReplayFacts(2, 0, 0)

    def test_what_a_stream_showed_is_enough(self) -> None:
        """Items in pieces by type and id, whole ones sealed."""
        turn = anthropic_turn()
        observed = [Seal("thinking", None), seal(turn[1]), Seal(CALL, "tu_1")]
        assert checked(observed, anthropic_request(turn)) == (2, 0, 0)
        assert checked(observed, anthropic_request(turn[1:])) == (1, 1, 0)
        assert checked(observed, anthropic_request(changed(anthropic_turn, lambda turn: turn[1].update(data="x")))) == (1, 0, 1)


def thought(name: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": name, "signature": name}


def tool_use(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "f", "input": {}}


class TestOrder:
    """What moved is counted as few times as explain the order, wherever it went."""

    @pytest.mark.parametrize(
        ("due", "sent", "expected"),
        [
            ("abc", "cab", (2, 0, 1)),
            ("abc", "bca", (2, 0, 1)),
            ("abcd", "dabc", (3, 0, 1)),
            ("abc", "cba", (1, 0, 2)),
            ("abc", "ca", (1, 1, 1)),
            ("abc", "bxa", (1, 0, 2)),
        ],
    )
    def test_of_several_before_one_call(self, due: str, sent: str, expected: tuple[int, int, int]) -> None:
        """Letters are thinking blocks; ``x`` is none of them."""
        turn, back = ([*map(thought, names), anthropic_turn()[3]] for names in (due, sent))
        assert expected == checked(turn, anthropic_request(back))

    def test_items_of_two_kinds_that_changed_places(self) -> None:
        """Both are there."""
        thinking, redacted, text, call = anthropic_turn()
        sent = [{**redacted, "data": "x"}, {**thinking, "signature": "x"}, text, call]
        assert checked(anthropic_turn(), anthropic_request(sent)) == (0, 0, 2)

    def test_an_item_put_behind_the_results(self) -> None:
        """It is there, in no turn of its own."""
        reasoning, call = responses_turn()[:2]
        output = {"type": "function_call_output", "call_id": "c1", "output": "row"}
        for late in (reasoning, {"type": "item_reference", "id": "rs_1"}):
            request = Conversation([{"role": "user", "content": "q"}, call, output, late])
            assert checked([reasoning, call], request) == (0, 0, 1)

    def test_an_item_put_into_the_next_turn(self) -> None:
        """It is missing in its own, and not lost."""
        replay = Replay()
        turns = [[thought(name), tool_use(f"tu_{name}")] for name in "ab"]
        for turn in turns:
            replay.remember(turn)
        results = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"tu_{name}"}]} for name in "ab"]
        sent = [{"role": "assistant", "content": turns[0][1:]}, results[0]]
        sent += [{"role": "assistant", "content": [turns[0][0], *turns[1]]}, results[1]]
        assert replay.check(Conversation([{"role": "user", "content": "q"}, *sent])) == ReplayFacts(1, 0, 1)


class Ordered(OrderedDict[str, Any]):
    pass


class TestSubclasses:
    @pytest.mark.parametrize("turn", [anthropic_turn, responses_turn, lambda: [chat_turn(reasoning_content="hm")]])
    def test_dictionaries_of_other_classes_are_as_good(self, turn: Callable[[], list[Any]]) -> None:
        """Remembered plain and sent in another class, and the other way round."""
        request = {anthropic_turn: anthropic_request, responses_turn: responses_request}.get(turn, lambda items: chat_request(items[0]))
        dressed = json.loads(json.dumps(turn()), object_pairs_hook=Ordered)
        lost = [*filter(lambda item: item.get("type") not in module.REASONING, turn())]
        whole = checked(turn(), request(turn()))
        assert whole == checked(turn(), request(dressed)) == checked(dressed, request(turn()))
        assert whole[0] is not None
        if len(lost) < len(dressed):
            assert checked(dressed, request(lost)) == (0, whole[0], 0)


class TestSecrecy:
    def test_a_seal_holds_no_text(self) -> None:
        """A type, an id and a number that another process would not find."""
        found = seal({"type": "thinking", "thinking": "secret thought", "signature": "secret sign"})
        assert found is not None
        assert (found.kind, found.id, type(found.mark)) == ("thinking", None, int)

    def test_no_object_is_kept(self) -> None:
        """The response may die."""
        secret = "".join(["a ", "thought"])
        before = len(gc.get_referrers(secret))
        replay = Replay()
        turn = [{"type": "thinking", "thinking": secret, "signature": "s"}, anthropic_turn()[3]]
        replay.remember(turn)
        replay.check(anthropic_request(turn))
        del turn
        gc.collect()
        assert before == len(gc.get_referrers(secret))

    def test_memory_is_bounded_and_the_loss_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run may leave thousands of loops open."""
        monkeypatch.setattr(module, "MAX_STEPS", 3)
        before = tally.tallies().get(("dropped", "replay"), 0)
        replay = Replay()
        for at in range(10):
            replay.remember([Seal("thinking", None), Seal(CALL, f"c{at}")])
        assert len(replay._steps) == 3
        assert tally.tallies()["dropped", "replay"] == before + 7


class TestStrange:
    @pytest.mark.parametrize(
        "items",
        [None, "text", [], [None], [1], iter([1]), [{"type": 3}], [{"role": "assistant", "tool_calls": "x", "content": 5}], object()],
    )
    def test_nonsense_owes_nothing(self, items: Any) -> None:
        """And is not walked."""
        assert checked(items, anthropic_request(items)) == NONE

    def test_a_check_before_anything_was_remembered(self) -> None:
        """The first turn of a run."""
        assert Replay().check(anthropic_request([TextBlock(type="text", text="a")])) == NOTHING_DUE

    @given(st.data())
    def test_every_due_item_is_counted_once(self, data: st.DataObject) -> None:
        """Whatever is left out, changed, doubled or put elsewhere."""
        names = data.draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=5))
        turn = [{"type": "thinking", "thinking": name, "signature": name} for name in names]
        others = [{"type": "thinking", "thinking": "z"}, {"type": "text", "text": "t"}]
        sent = data.draw(st.lists(st.sampled_from([*turn, *others]), max_size=7))
        replayed, dropped, edited = checked([*turn, anthropic_turn()[3]], anthropic_request([*sent, anthropic_turn()[3]]))
        assert replayed + dropped + edited == len(turn)
        assert replayed + edited <= sum(block["type"] == "thinking" for block in sent)
