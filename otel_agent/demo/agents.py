"""The demo's agents: loops of the kind people write, on the unmodified SDKs. Run as a program of its own.

Model calls are observed without a line in here: ``otel-agent run`` starts this program. What a program adds for itself are the names of
its runs and the decorator on its tools (:mod:`otel_agent.demo.tools`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final

import anthropic
import openai

import otel_agent
from otel_agent import Budget
from otel_agent.demo.scripts import SCENARIOS
from otel_agent.demo.tools import BOOKING, TOOLS, find_order, read_policy
from otel_agent.loop import AnthropicMessages, Loop, Tool, Toolbox

MODEL: Final = "claude-sonnet-4-6"
OPENAI_MODEL: Final = "gpt-5.5-2026-04-01"
SYSTEM: Final = "You serve the customers of a small shop. " * 30
OFFERED: Final = [
    {"name": name, "description": "", "input_schema": BOOKING if name == "book_table" else {"type": "object"}} for name in TOOLS
]


class Shop:
    """Clients of one scenario: the script is chosen by the address."""

    def __init__(self, standin: str, scenario: str) -> None:
        self.scenario = scenario
        self.anthropic = anthropic.Anthropic(base_url=f"{standin}/s/{scenario}", api_key="none", max_retries=3)
        self.openai = openai.OpenAI(base_url=f"{standin}/s/{scenario}/v1", api_key="none")

    def ask(self, messages: list[Any], *, system: str = SYSTEM) -> Any:
        """One turn on the Messages interface."""
        return self.anthropic.messages.create(
            model=MODEL,
            max_tokens=1024,
            system=system,
            messages=messages,
            tools=OFFERED,
            thinking={"type": "enabled", "budget_tokens": 1024},
        )  # type: ignore[call-overload]


def execute(call: Any) -> dict[str, Any]:
    """Run one tool; errors are observations, not crashes."""
    with otel_agent.tool_call(call.id):
        try:
            result, failed = TOOLS[call.name](**call.input), False
        except (ConnectionError, PermissionError, TypeError) as error:
            result, failed = type(error).__name__, True
    return {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(result), "is_error": failed}


Executor = Callable[[Iterable[Any]], list[dict[str, Any]]]
Rewrite = Callable[[list[Any]], list[Any]]


def one_by_one(calls: Iterable[Any]) -> list[dict[str, Any]]:
    """The safe way."""
    return [execute(call) for call in calls]


def all_at_once(calls: Iterable[Any]) -> list[dict[str, Any]]:
    """The way that lets two writes overlap."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda call: copy_context().run(execute, call), calls))


def converse(shop: Shop, question: str, *, systems: Iterable[str] = (), executor: Executor = one_by_one, rewrite: Rewrite = list) -> str:
    """The loop: ask, run the tools asked for, append, ask again."""
    messages: list[Any] = [{"role": "user", "content": question}]
    prompts = iter(systems)
    while True:
        reply = shop.ask(rewrite(messages), system=next(prompts, SYSTEM))
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "user", "content": executor(calls)})


def reference(shop: Shop) -> None:
    """A run of the reference loop, which does by itself what the others do by hand."""
    model = AnthropicMessages(shop.anthropic, model=MODEL, max_tokens=1024, system=SYSTEM)
    tools = [Tool("find_order", find_order, effect="read"), Tool("read_policy", read_policy, effect="read")]
    Loop(model, Toolbox(tools), agent=shop.scenario, budget=Budget(turns=10)).run("Where is my order?")


def plain(shop: Shop) -> None:
    """An ordinary run."""
    with otel_agent.agent_run(shop.scenario):
        converse(shop, "Where is my order?")


def looping(shop: Shop) -> None:
    """A run whose budget of turns is enforced."""
    try:
        with otel_agent.agent_run(shop.scenario, budget=Budget(turns=6), on_exceed="raise"):
            converse(shop, "Is there a warranty?")
    except otel_agent.BudgetExceeded:
        pass


def cache_breaking(shop: Shop) -> None:
    """A run that puts the time into its system prompt."""
    systems = [SYSTEM, SYSTEM, f"{SYSTEM}It is 10:31.", f"{SYSTEM}It is 10:32.", f"{SYSTEM}It is 10:32."]
    with otel_agent.agent_run(shop.scenario):
        converse(shop, "Read me the four pages.", systems=systems)


def cut_short(shop: Shop) -> None:
    """One call of the Responses interface."""
    with otel_agent.agent_run(shop.scenario):
        shop.openai.responses.create(model=OPENAI_MODEL, input="Write the report.", max_output_tokens=300, reasoning={"effort": "high"})


def streamed(shop: Shop) -> None:
    """A streamed chat completion."""
    with otel_agent.agent_run(shop.scenario):
        messages: Any = [{"role": "user", "content": "Tell me."}]
        options = {"include_usage": True}
        for _ in shop.openai.chat.completions.create(model="deepseek-v4", messages=messages, stream=True, stream_options=options):  # type: ignore[call-overload]
            pass


def rejected(shop: Shop) -> None:
    """A call that the provider refuses."""
    try:
        with otel_agent.agent_run(shop.scenario):
            converse(shop, "Customer 4711 writes that the lamp is broken.")
    except anthropic.BadRequestError:
        pass


def conflicting(shop: Shop) -> None:
    """Tools of one turn, all at once."""
    with otel_agent.agent_run(shop.scenario):
        converse(shop, "Two more of k1.", executor=all_at_once)


def _without_thinking(messages: list[Any]) -> list[Any]:
    """What a middleware does that strips parts it does not know."""
    return [
        {**message, "content": [block for block in message["content"] if block["type"] != "thinking"]}
        if message["role"] == "assistant" else message
        for message in messages
    ]  # fmt: skip


def _edited_thinking(messages: list[Any]) -> list[Any]:
    """What a middleware does that trims white space or masks words."""
    return [
        {**message, "content": [{**block, "thinking": "..."} if block["type"] == "thinking" else block for block in message["content"]]}
        if message["role"] == "assistant" else message
        for message in messages
    ]  # fmt: skip


def dropped(shop: Shop) -> None:
    """A run behind a middleware that drops reasoning items."""
    with otel_agent.agent_run(shop.scenario):
        converse(shop, "Find B-1 and B-2.", rewrite=_without_thinking)


def edited(shop: Shop) -> None:
    """A run behind a middleware that edits reasoning items."""
    with otel_agent.agent_run(shop.scenario):
        converse(shop, "Find B-1 and B-2.", rewrite=_edited_thinking)


def text_protocol(shop: Shop) -> None:
    """An agent that finds its actions in text."""
    from otel_agent.react import StepParser

    parser = StepParser(tools={"search": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}})
    prompt = "Question: how many lamps?"
    with otel_agent.agent_run(shop.scenario):
        for _ in range(5):
            messages: Any = [{"role": "user", "content": prompt}]
            reply = shop.openai.chat.completions.create(model=OPENAI_MODEL, messages=messages)
            step = parser.parse(reply.choices[0].message.content or "")
            if step.tool is not None and isinstance(step.arguments, dict):
                found = TOOLS[step.tool](**step.arguments)
                prompt += f"\nAction: {step.tool}\nObservation: {found}"
            elif step.final is not None:
                return


def rated(shop: Shop) -> None:
    """An answer from documents, and what its reader did next."""
    with otel_agent.agent_run(shop.scenario):
        with otel_agent.retrieval("handbook", top_k=5) as found:
            found.documents(["returns-1", "returns-4", "shipping-2"])
        converse(shop, "How long does a refund take?")
        otel_agent.feedback("accepted")
        otel_agent.feedback("rated", rating=0.9)


def left_open(shop: Shop) -> None:
    """A run that nobody ends."""
    active = otel_agent.agent_run(shop.scenario).begin()
    active.bind(converse)(shop, "Export everything.")


EXPORTING: Final = 20.0
"""Seconds that the last export may take."""

AGENTS: Final[dict[str, Callable[[Shop], None]]] = {
    "support": reference,
    "research-looping": looping,
    "reader-cache-break": cache_breaking,
    "report-truncated": cut_short,
    "chat-streamed": streamed,
    "rejected": rejected,
    "stock-conflict": conflicting,
    "replay-dropped": dropped,
    "replay-edited": edited,
    "text-protocol": text_protocol,
    "handbook-rated": rated,
    "tool-invented": reference,
    "export-left-open": left_open,
}
"""Agents by scenario; the others are :func:`plain`."""


UNATTENDED: Final = 130
"""Exit code of agents that nobody waits for any more: that of an interrupt."""


def _attended() -> None:
    """End at once when whoever holds the other end of standard input is gone; what was not exported is lost with its receiver."""
    while os.read(0, 1):  # the descriptor, since a thread inside `sys.stdin` would hold its lock when the interpreter ends
        pass
    os._exit(UNATTENDED)


def main() -> int:
    """Play all scenarios once; a line of JSON per scenario tells whoever started this how far it is. 1 when not all was taken."""
    parser = argparse.ArgumentParser(prog="python -m otel_agent.demo.agents")
    parser.add_argument("standin", help="root URL of the stand-in")
    parser.add_argument("--only", help="one scenario")
    parser.add_argument("--attended", action="store_true", help="end as soon as standard input does")
    arguments = parser.parse_args()
    if arguments.attended:
        threading.Thread(target=_attended, name="attended", daemon=True).start()
    for scenario in SCENARIOS:
        if arguments.only in {None, scenario.name}:
            AGENTS.get(scenario.name, plain)(Shop(arguments.standin, scenario.name))
            print(json.dumps({"done": scenario.name}), flush=True)
    return 0 if otel_agent.flush(EXPORTING) else 1


if __name__ == "__main__":
    sys.exit(main())
