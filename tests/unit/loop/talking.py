"""The three adapters on the real SDKs, against a stand-in that rejects a broken replay."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import anthropic
import openai

from otel_agent.loop import AnthropicMessages, Loop, ModelAdapter, OpenAIChat, OpenAIResponses, Outcome, Tool, Toolbox
from otel_agent.testing import Capture, Standin, capture
from otel_agent.testing.standin import Reply, Request, Step, Text, Thinking, ToolUse

MODEL: Final = "the-model"


def _messages(standin: Standin) -> ModelAdapter:
    client = anthropic.Anthropic(base_url=standin.anthropic_url, api_key="none", max_retries=0)
    thinking = {"type": "enabled", "budget_tokens": 1024}
    return AnthropicMessages(client, model=MODEL, max_tokens=2048, thinking=thinking)


def _chat(standin: Standin) -> ModelAdapter:
    return OpenAIChat(openai.OpenAI(base_url=standin.openai_url, api_key="none", max_retries=0), model=MODEL)


def _responses(standin: Standin) -> ModelAdapter:
    return OpenAIResponses(openai.OpenAI(base_url=standin.openai_url, api_key="none", max_retries=0), model=MODEL)


ADAPTERS: Final[dict[str, Callable[[Standin], ModelAdapter]]] = {
    "messages": _messages, "chat": _chat, "responses": _responses,
}  # fmt: skip


def calling(*calls: ToolUse) -> Reply:
    """A turn that thinks and calls tools."""
    return Reply([Thinking("Hm, which one?"), *calls])


DONE: Final = Reply([Text("Done.")])


@dataclass
class Played:
    """One run: how it ended, what was recorded, what was sent."""

    outcome: Outcome
    telemetry: Capture
    requests: Sequence[Request]

    @property
    def sent_back(self) -> str:
        """The last request's conversation, as JSON."""
        return json.dumps(self.requests[-1].messages)


@contextmanager
def played(api: str, steps: Sequence[Step], tools: Toolbox | Sequence[Tool], **options: Any) -> Iterator[Played]:
    """Run the loop on a script; chat completions have the habits of a server that insists on its reasoning."""
    box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    with Standin(seed="loop", check_replay=True) as standin, capture() as telemetry:
        standin.script(MODEL, steps, flavour="deepseek")
        outcome = Loop(ADAPTERS[api](standin), box, **options).run("Do it.")
        yield Played(outcome, telemetry, standin.requests)
