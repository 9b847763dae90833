"""The replay check of agents at random, against a count over all that was due and all that was sent."""

from __future__ import annotations

import copy
from collections import Counter
from random import Random
from typing import Any

import pytest
from anthropic.types import Message

from otel_agent.protocol import Conversation
from otel_agent.replay import NOTHING_DUE, Replay, ReplayFacts

Block = dict[str, Any]
REASONING = ("thinking", "redacted_thinking")


def answered(random: Random, step: int) -> list[Block]:
    """A turn of the model: up to three reasoning blocks, one to three calls, somewhere a word."""
    blocks: list[Block] = [{"type": "tool_use", "id": f"c{step}{at}", "name": "f", "input": {}} for at in range(random.randint(1, 3))]
    for at in range(random.randint(0, 3)):
        thinking = {"type": "thinking", "thinking": f"t{step}{at}", "signature": "s"}
        blocks.insert(random.randrange(len(blocks)), random.choice([thinking, {"type": "redacted_thinking", "data": f"d{step}{at}"}]))
    return blocks


def tampered(random: Random, blocks: list[Block]) -> list[Block]:
    """The turn as a careless caller sends it back."""
    sent = copy.deepcopy(blocks)
    for _ in range(random.choice([0, 0, 1, 2])):
        block = next((one for one in random.sample(sent, len(sent)) if one["type"] in REASONING), None)
        if block is not None:
            random.choice([drop, change, move])(random, sent, block)
    return sent


def drop(random: Random, sent: list[Block], block: Block) -> None:
    sent.remove(block)


def change(random: Random, sent: list[Block], block: Block) -> None:
    block["thinking" if block["type"] == "thinking" else "data"] = f"other {random.random()}"


def move(random: Random, sent: list[Block], block: Block) -> None:
    sent.remove(block)
    sent.insert(random.randint(0, len(sent)), block)


def placed(blocks: list[Block]) -> list[tuple[Block, str | None]]:
    """Reasoning blocks, each with the call it stands before."""
    return [
        (block, next((later["id"] for later in blocks[at:] if later["type"] == "tool_use"), None))
        for at, block in enumerate(blocks)
        if block["type"] in REASONING
    ]


def longest(due: list[Any], sent: list[Any]) -> int:
    """How many stayed in order, by trying all ways."""
    if not due or not sent:
        return 0
    skipped = longest(due[1:], sent)
    at = sent.index(due[0]) if due[0] in sent else None
    return skipped if at is None else max(skipped, 1 + longest(due[1:], sent[at + 1 :]))


def expected(steps: list[tuple[list[Block], list[Block]]]) -> ReplayFacts:
    due = [one for step, _ in steps for one in placed(step)]
    sent = [one for _, back in steps for one in placed(back)]
    if not due:
        return NOTHING_DUE
    there = (Counter(block["type"] for block, _ in due) & Counter(block["type"] for block, _ in sent)).total()
    kept = longest(due, sent)
    return ReplayFacts(kept, len(due) - there, there - kept)


def returned(blocks: list[Block]) -> Any:
    """The turn as the SDK gives it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks, "usage": usage}
    return Message.model_validate(whole).content


@pytest.mark.parametrize("seed", range(200))
def test_every_due_item_is_found_again(seed: int) -> None:
    """In one step, in the last two of several, and after the user spoke in between."""
    random, replay = Random(seed), Replay()
    items: list[Any] = [{"role": "user", "content": "question"}]
    steps: list[tuple[list[Block], list[Block]]] = []
    for step in range(6):
        turn = answered(random, step)
        back = tampered(random, turn)
        replay.remember(returned(turn) if random.random() < 0.5 else turn)
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "row"} for block in turn if block["type"] == "tool_use"]
        items += [{"role": "assistant", "content": back}, {"role": "user", "content": results}]
        steps.append((turn, back))
        assert replay.check(Conversation(items), "messages") == expected(steps[-2:])
        if random.random() < 0.2:
            items.append({"role": "user", "content": "by the way"})
            steps.clear()
            assert replay.check(Conversation(items), "messages") == NOTHING_DUE
