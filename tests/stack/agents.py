"""The agents of the alert scenarios: loops on the unmodified SDKs, started by ``otel-agent run`` as any program is.

``python -m tests.stack.agents STANDIN SERVICE well|ill [ACT ...]``
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property
from typing import Any

import anthropic
import openai

import otel_agent
from otel_agent import Decision, Governance, ToolCallView
from otel_agent.react import StepParser
from tests.stack.acts import ACTS

CLAUDE, GPT = "claude-sonnet-4-6", "gpt-5.5"
SYSTEM = "You answer questions about orders."
NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
REFUND = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
INPUTS = {"look_up": NUMBER, "store": NUMBER, "refund": REFUND}
OFFERED = [{"name": name, "description": "", "input_schema": schema} for name, schema in INPUTS.items()]
HIGHEST = 50


@otel_agent.tool(effect="read")
def look_up(number: int) -> dict[str, int]:
    """Numbers below zero are not there."""
    if number < 0:
        raise LookupError
    return {"number": number}


@otel_agent.tool(effect="read", result_ids=lambda found: [found["no such key"]])
def look_up_clumsily(number: int) -> dict[str, int]:
    """Watched with a function that fails: a failure of the instrumentation, not of the tool."""
    return {"number": number}


@otel_agent.tool(effect="write")
def store(number: int) -> int:
    """A write that takes a moment."""
    time.sleep(0.1)
    return number


def policy(call: ToolCallView) -> Decision:
    return Decision("allow" if call.arguments["amount"] <= HIGHEST else "deny", "refund.limit")


@otel_agent.tool(effect="write", governance=Governance(policy=policy))
def refund(amount: int) -> int:
    return amount


TOOLS: Mapping[str, Callable[..., Any]] = {"look_up": look_up, "store": store, "refund": refund}
Rewrite = Callable[[list[Any]], list[Any]]


class Agent:
    """One act: its name is the agent's, its address chooses what the stand-in answers."""

    def __init__(self, base: str, name: str, *, ill: bool) -> None:
        self.name, self.ill, self.runs = name, ill, ACTS[name].runs
        self._base = base

    @cached_property
    def anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self._base, api_key="none", max_retries=0)

    @cached_property
    def openai(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self._base}/v1", api_key="none", max_retries=0)

    def run(self) -> Any:
        return otel_agent.agent_run(self.name)

    def ask(self, messages: list[Any], system: str = SYSTEM) -> Any:
        return self.anthropic.messages.create(
            model=CLAUDE, max_tokens=500, system=system, messages=messages, tools=OFFERED,
            thinking={"type": "enabled", "budget_tokens": 1024},
        )  # type: ignore[call-overload]  # fmt: skip


def execute(call: Any, tools: Mapping[str, Callable[..., Any]] = TOOLS) -> dict[str, Any]:
    """One tool; errors are observations."""
    with otel_agent.tool_call(call.id):
        try:
            content, failed = json.dumps(tools[call.name](**call.input)), False
        except (LookupError, otel_agent.ToolDenied):
            content, failed = "failed", True
    return {"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": failed}


def one_by_one(requested: Iterable[Any]) -> list[dict[str, Any]]:
    return [execute(call) for call in requested]


def all_at_once(requested: Iterable[Any]) -> list[dict[str, Any]]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda call: copy_context().run(execute, call), requested))


def clumsily(requested: Iterable[Any]) -> list[dict[str, Any]]:
    return [execute(call, {"look_up": look_up_clumsily}) for call in requested]


def without_thinking(messages: list[Any]) -> list[Any]:
    """What a middleware does that strips parts it does not know."""
    return [
        {**message, "content": [block for block in message["content"] if block["type"] != "thinking"]}
        if message["role"] == "assistant" else message
        for message in messages
    ]  # fmt: skip


def converse(agent: Agent, executor: Callable[..., Any] = one_by_one, rewrite: Rewrite = list, clock: bool = False) -> None:
    """Ask, run the tools asked for, append, ask again."""
    messages: list[Any] = [{"role": "user", "content": "Where is it?"}]
    while True:
        system = f"{SYSTEM} It is {time.monotonic_ns()}." if clock else SYSTEM
        reply = agent.ask(rewrite(messages), system)
        requested = [block for block in reply.content if block.type == "tool_use"]
        if not requested:
            return
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
        messages.append({"role": "user", "content": executor(requested)})


def tools(agent: Agent) -> None:
    """Runs with tools, of which the answers decide everything."""
    for _ in range(agent.runs):
        with agent.run():
            converse(agent)


def answers(agent: Agent) -> None:
    """Runs of one call each."""
    for _ in range(agent.runs):
        try:
            with agent.run():
                agent.ask([{"role": "user", "content": "Where is it?"}])
        except anthropic.BadRequestError:
            continue


def left_open(agent: Agent) -> None:
    """Runs that nobody ends."""
    for _ in range(agent.runs):
        active = agent.run().begin()
        active.bind(converse)(agent)
        if not agent.ill:
            active.finish(None)


def at_once(agent: Agent) -> None:
    """Two writes of one turn."""
    for _ in range(agent.runs):
        with agent.run():
            converse(agent, all_at_once if agent.ill else one_by_one)


def clock(agent: Agent) -> None:
    """The time in the system prompt."""
    for _ in range(agent.runs):
        with agent.run():
            converse(agent, clock=agent.ill)


def forgetful(agent: Agent) -> None:
    """A middleware that strips reasoning items."""
    for _ in range(agent.runs):
        with agent.run():
            converse(agent, rewrite=without_thinking if agent.ill else list)


def clumsy(agent: Agent) -> None:
    """A tool watched with a function that fails."""
    with agent.run():
        converse(agent, clumsily if agent.ill else one_by_one)


def steps(agent: Agent) -> None:
    """An agent that finds its actions in text."""
    parser = StepParser(tools={"look_up": NUMBER})
    with agent.run():
        for _ in range(agent.runs):
            reply = agent.openai.chat.completions.create(model=GPT, messages=[{"role": "user", "content": "Where is it?"}])
            parser.parse(reply.choices[0].message.content or "")


def uncounted(agent: Agent) -> None:
    """Streams without a word about usage, which is what compatible interfaces do unless they are asked."""
    more: dict[str, Any] = {} if agent.ill else {"stream_options": {"include_usage": True}}
    for _ in range(agent.runs):
        with agent.run():
            for _ in agent.openai.chat.completions.create(model=GPT, messages=[{"role": "user", "content": "?"}], stream=True, **more):
                pass


def effort(agent: Agent) -> None:
    """Effort by a setting."""
    for _ in range(agent.runs):
        with agent.run():
            agent.openai.responses.create(model=GPT, input="?", reasoning={"effort": "high" if agent.ill else "low"})


PLAYS: Mapping[str, Callable[[Agent], None]] = {
    "cut-off": answers, "cut-off-more": answers, "empty": answers, "unanswered": answers, "cache": answers, "spender": answers,
    "open": left_open, "two-writes": at_once, "clock": clock, "forgetful": forgetful, "clumsy": clumsy, "garbled": steps,
    "inventing": steps, "uncounted": uncounted, "new-snapshot": effort, "new-effort": effort,
}  # fmt: skip
"""What an act does; the others are :func:`tools`."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.stack.agents")
    parser.add_argument("standin", help="root URL of the stand-in")
    parser.add_argument("service", help="whose scripts the stand-in holds")
    parser.add_argument("state", choices=("well", "ill"))
    parser.add_argument("acts", nargs="*", default=list(ACTS), metavar="ACT")
    arguments = parser.parse_args()
    for name in arguments.acts:
        base = f"{arguments.standin}/s/{arguments.service}.{name}"
        PLAYS.get(name, tools)(Agent(base, name, ill=arguments.state == "ill"))


if __name__ == "__main__":
    main()
