"""The three adapters on the real SDKs, synchronous and asynchronous, against a stand-in that rejects a broken replay."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import anthropic
import openai

from otel_agent.loop import AnthropicMessages, AsyncLoop, Loop, ModelAdapter, OpenAIChat, OpenAIResponses, Outcome, Tool, Toolbox
from otel_agent.testing import Capture, Standin, capture
from otel_agent.testing.standin import Reply, Request, Step, Text, Thinking, ToolUse

MODEL: Final = "the-model"
OPTIONS: Final[dict[str, Any]] = {"api_key": "none", "max_retries": 0}


ADAPTERS: Final[dict[str, Callable[..., ModelAdapter]]] = {
    "messages": partial(AnthropicMessages, max_tokens=2048, thinking={"type": "enabled", "budget_tokens": 1024}),
    "chat": OpenAIChat,
    "responses": OpenAIResponses,
}


def client_of(api: str, standin: Standin, waits: bool) -> Any:
    """An SDK's client, to be closed."""
    if api == "messages":
        return (anthropic.AsyncAnthropic if waits else anthropic.Anthropic)(base_url=standin.anthropic_url, **OPTIONS)
    return (openai.AsyncOpenAI if waits else openai.OpenAI)(base_url=standin.openai_url, **OPTIONS)


def adapter(api: str, client: Any, **options: Any) -> ModelAdapter:
    """The model of the scripts on an interface."""
    return ADAPTERS[api](client, model=MODEL, **options)


@dataclass(frozen=True)
class Way:
    """An interface, and which of the two loops is on it. With the asynchronous one every tool is a coroutine function."""

    api: str
    waits: bool = False
    stream: bool = False

    def __str__(self) -> str:
        return "-".join([self.api, *["async"] * self.waits, *["stream"] * self.stream])

    def run(self, standin: Standin, tools: Toolbox, history: list[Any] | None = None, **options: Any) -> Outcome:
        """One run of the loop."""
        asked = {"stream": True, "on_event": options.pop("on_event", None)} if self.stream else {}
        asked.update(options.pop("model_options", {}))
        if not self.waits:
            with client_of(self.api, standin, False) as client:
                return Loop(adapter(self.api, client, **asked), tools, **options).run("Do it.", history)
        waiting = replace(tools, tools=[replace(item, function=coroutine_of(item.function)) for item in tools.tools])

        async def main() -> Outcome:
            async with client_of(self.api, standin, True) as client:
                return await AsyncLoop(adapter(self.api, client, **asked), waiting, **options).run("Do it.", history)

        return asyncio.run(main())


WAYS: Final = [Way(api, waits) for api in ADAPTERS for waits in (False, True)]
STREAMS: Final = [replace(way, stream=True) for way in WAYS]


def coroutine_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same tool as a coroutine function that waits without holding up the event loop."""

    async def tool(**arguments: Any) -> Any:
        return await asyncio.to_thread(function, **arguments)

    return tool


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
def scripted(steps: Sequence[Step]) -> Iterator[tuple[Standin, Capture]]:
    """A stand-in with a script; chat completions have the habits of a server that insists on its reasoning."""
    with Standin(seed="loop", check_replay=True) as standin, capture() as telemetry:
        standin.script(MODEL, steps, flavour="deepseek")
        yield standin, telemetry


@contextmanager
def played(way: Way, steps: Sequence[Step], tools: Toolbox | Sequence[Tool], **options: Any) -> Iterator[Played]:
    """Run the loop on a script."""
    box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    with scripted(steps) as (standin, telemetry):
        outcome = way.run(standin, box, **options)
        yield Played(outcome, telemetry, standin.requests)


def unanswered(request: Request) -> set[str]:
    """Ids of the calls in a request that have no result in it: what a provider rejects."""
    asked = {found for message in request.conversation for found in _asked(message)}
    return asked - {result.call_id for result in request.tool_results}


def _asked(message: Any) -> Iterator[str]:
    if message.get("type") == "function_call":
        yield message["call_id"]
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    yield from (block["id"] for block in blocks if block.get("type") == "tool_use")
    yield from (call["id"] for call in message.get("tool_calls") or ())
