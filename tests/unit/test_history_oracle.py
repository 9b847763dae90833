"""The history of agents that talk at random, against what the definitions say when all of each request is read."""

from __future__ import annotations

import copy
import json
from collections import Counter, OrderedDict
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock

from otel_agent.digest import Digester
from otel_agent.history import History
from otel_agent.protocol import Conversation

DIGESTER = Digester.of_key(b"history-key-of-tests", "tests")
MODELS: Final[dict[str, Any]] = {"text": TextBlock, "thinking": ThinkingBlock, "tool_use": ToolUseBlock}
COUNTING: Final = {
    "message": ("role", "content"), "text": ("text",), "tool_use": ("id", "name", "input"), "thinking": (),
    "tool_result": ("tool_use_id", "content"),
}  # fmt: skip

Facts = tuple[int | None, int | None, str | None, str | None]


# What the definitions say


def counting(block: Any) -> Any:
    """What of a message counts, as JSON values."""
    if isinstance(block, str):
        return block
    members = block if isinstance(block, dict) else block.model_dump()
    kind = members.get("type", "message")
    found = {name: members[name] for name in COUNTING[kind]}
    if isinstance(found.get("content"), (list, tuple)):
        found["content"] = [counting(inner) for inner in found["content"]]
    return [kind, found]


def written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


class Request:
    """One request, read in full."""

    def __init__(self, agent: Agent) -> None:
        self.messages = [written(counting(message)) for message in agent.items]
        self.roles = [message["role"] for message in agent.items]
        self.system = agent.system
        self.tools = written([{name: tool[name] for name in tool if name != "cache_control"} for tool in agent.tools])


def expected(before: Request | None, now: Request) -> Facts:
    """Facts of ``now``, which goes on with ``before``."""
    if before is None:
        return None, None, None, None
    old, new = before.messages, now.messages
    prefix = next((at for at in range(min(len(old), len(new))) if old[at] != new[at]), min(len(old), len(new)))
    if prefix == len(old):
        return prefix, None, None, _ahead(before, now)
    return prefix, prefix, before.roles[prefix], _ahead(before, now) or _rewritten(old[prefix:], new[prefix:], len(new) < len(old))


def _ahead(before: Request, now: Request) -> str | None:
    return "tools_changed" if before.tools != now.tools else "system_changed" if before.system != now.system else None


def _rewritten(old: list[str], new: list[str], shorter: bool) -> str:
    if Counter(old) == Counter(new[: len(old)]):
        return "reordered"
    kept = (Counter(old) & Counter(new)).total()
    last = max((at for at, message in enumerate(new) if message in old), default=-1)
    inserted = sum(message not in old for message in new[: last + 1])
    vanished = len(old) - kept
    return "summarised" if vanished >= 2 and (shorter or (kept > 0 and inserted < vanished)) else "edited"


# Agents that talk at random


class Agent:
    """A conversation with tools; ``dressed`` makes the assistant's messages what its SDK or framework makes them."""

    def __init__(self, random: Random, name: str) -> None:
        self.random, self.name, self.step = random, name, 0
        self.dressed = random.choice([dict, OrderedDict, modelled])
        self.system = f"You are {name}."
        self.tools: list[dict[str, Any]] = [{"name": "read", "description": "Reads."}, {"name": "write", "description": "Writes."}]
        self.items: list[Any] = [{"role": "user", "content": f"question {name}"}]

    def go_on(self) -> None:
        """A turn of the model, with one call or two, and the results."""
        self.step += 1
        ids = [f"{self.name}{self.step}{number}" for number in range(self.random.randint(1, 2))]
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": f"step {self.step}"}]
        calls = [{"type": "tool_use", "id": one, "name": "read", "input": {"at": self.step, "deep": [True, 1, None]}} for one in ids]
        content = [*self.random.sample(blocks, self.random.randint(0, 2)), *calls]
        results = [{"type": "tool_result", "tool_use_id": one, "content": f"row {one}"} for one in ids]
        self.items += [self.dressed({"role": "assistant", "content": content}), {"role": "user", "content": results}]


def modelled(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": [MODELS[block["type"]].model_validate(block) for block in message["content"]]}


def edit(agent: Agent) -> None:
    """In place, somewhere after the question."""
    of_blocks = [message for message in agent.items[1:] if not isinstance(message["content"], str)]
    for message in agent.random.sample(of_blocks, min(1, len(of_blocks))):
        block = message["content"][-1]
        if isinstance(block, ToolUseBlock):
            block.input["at"] = f"edited {agent.step}"
        else:
            block["input" if block["type"] == "tool_use" else "content"] = f"edited {agent.step}"


def trim(agent: Agent) -> None:
    """Old results make room."""
    for message in agent.items[1:-3]:
        for block in message["content"]:
            if isinstance(block, dict) and block["type"] == "tool_result":
                block["content"] = "[trimmed]"


def compact(agent: Agent) -> None:
    """The first message stays, a summary takes the place of the middle; at the end less is left than there was."""
    kept = agent.random.choice([0, 2])
    if len(agent.items) > 5 + kept:
        summary = {"role": "user", "content": f"summary {agent.name}{agent.step}"}
        agent.items = [agent.items[0], summary, *agent.items[len(agent.items) - kept :]]


def reorder(agent: Agent) -> None:
    if len(agent.items) > 4:
        agent.items[1:5] = [*agent.items[3:5], *agent.items[1:3]]


def stamp(agent: Agent) -> None:
    agent.system = f"You are {agent.name}. It is {agent.step} o'clock."


def offer(agent: Agent) -> None:
    agent.tools = [*reversed(agent.tools)] if agent.random.random() < 0.5 else [*agent.tools, {"name": f"tool_{agent.step}"}]


def mark(agent: Agent) -> None:
    """The cache marker goes to the last result and the last tool."""
    agent.tools = [{name: tool[name] for name in tool if name != "cache_control"} for tool in agent.tools]
    agent.tools[-1]["cache_control"] = {"type": "ephemeral"}
    for message in agent.items[2::2]:
        if isinstance(message["content"][0], dict):
            message["content"][0].pop("cache_control", None)
    if isinstance(agent.items[-1]["content"], list) and isinstance(agent.items[-1]["content"][-1], dict):
        agent.items[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}


def rebuild(agent: Agent) -> None:
    agent.items = copy.deepcopy(agent.items)


def through_json(agent: Agent) -> None:
    agent.items = json.loads(json.dumps(agent.items, default=lambda block: block.model_dump()))


def tuples(agent: Agent) -> None:
    agent.items = [{**message, "content": tuple(message["content"])} if at % 3 == 2 else message for at, message in enumerate(agent.items)]


def nothing(agent: Agent) -> None:
    """The next turn, and nothing else."""


CHANGES: Final[tuple[Callable[[Agent], None], ...]] = (
    edit, trim, compact, reorder, stamp, offer, mark, rebuild, through_json, nothing, nothing, nothing,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
def test_facts_are_those_of_the_whole_requests(seed: int) -> None:
    """Of up to five conversations side by side; digests are equal where the messages are, and nowhere else."""
    random, history = Random(seed), History(DIGESTER)
    agents = [Agent(random, f"agent{number}") for number in range(random.randint(1, 5))]
    sent: dict[str, Request] = {}
    digests: dict[str | None, str] = {}
    for _ in range(16):
        agent = random.choice(agents)
        if agent.name in sent:
            random.choice(CHANGES)(agent)
            agent.go_on()
        now = Request(agent)
        items = tuple(agent.items) if random.random() < 0.2 else agent.items
        facts = history.observe(Conversation(items, agent.system, agent.tools))
        found = (facts.stable_prefix, facts.first_changed, facts.first_changed_role, facts.prefix_break)
        assert found == expected(sent.get(agent.name), now)
        assert facts.message_count == len(now.messages)
        assert digests.setdefault(facts.history_digest, written(now.messages)) == written(now.messages)
        sent[agent.name] = now
    assert len(set(digests.values())) == len(digests)
