"""Every way to call the two SDKs, as rows: how it is called, what the provider answers, and what must be recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic

from otel_agent.testing import Standin
from otel_agent.testing.standin import Body, Reply, Step, Text, Thinking, ToolUse, Usage

from .drivers import Driver, reach

CLAUDE = "claude-sonnet-4-6"
GPT = "gpt-5.5-2026-04-23"
ASK = [{"role": "user", "content": "Where is order A1?"}]
MESSAGES: dict[str, Any] = {"model": CLAUDE, "max_tokens": 512, "messages": ASK}
CHAT: dict[str, Any] = {"model": GPT, "messages": ASK}
CHAT_STREAM: dict[str, Any] = {**CHAT, "stream_options": {"include_usage": True}}
RESPONSES: dict[str, Any] = {"model": GPT, "input": "Where is order A1?"}

USAGE = Usage(input=1000, cache_read=700, output=90, reasoning=60)
SAID = Reply([Thinking("The depot may know of it.", signature="sig=="), Text("It waits in Oslo.")], usage=USAGE)
JSON = Reply([Thinking("The depot may know of it."), Text('{"place":"Oslo"}')], usage=USAGE)

COUNTS = {
    "gen_ai.usage.input_tokens": 1000,
    "gen_ai.usage.output_tokens": 90,
    "gen_ai.usage.cache_read.input_tokens": 700,
    "gen_ai.usage.reasoning.output_tokens": 60,
    "otel_agent.usage.state": "complete",
}
ANSWERED = {
    **COUNTS,
    "gen_ai.operation.name": "chat",
    "gen_ai.response.finish_reasons": ["stop"],
    "otel_agent.response.finish_reason": "stop",
    "otel_agent.response.truncated": False,
    "otel_agent.response.visible_blocks": 1,
    "otel_agent.request.attempts": 1,
}
OF_MESSAGES = {"otel_agent.api": "messages", "gen_ai.request.model": CLAUDE, "gen_ai.response.model": CLAUDE}
OF_CHAT = {"otel_agent.api": "chat_completions", "gen_ai.request.model": GPT, "gen_ai.response.model": GPT}
OF_RESPONSES = {"otel_agent.api": "responses", "gen_ai.request.model": GPT, "gen_ai.response.model": GPT}
STREAMED = {"gen_ai.request.stream": True, "otel_agent.stream.end": "read"}


class Place(pydantic.BaseModel):
    """The structured answer asked for."""

    place: str


Call = Callable[[Driver, Any], Awaitable[list[Any]]]


@dataclass(frozen=True)
class Way:
    """One way to call. ``call`` returns everything the caller got, in order."""

    name: str
    sdk: str
    call: Call
    facts: dict[str, Any]
    steps: Sequence[Step] = (SAID,)
    turns: int = 1
    absent: tuple[str, ...] = field(default=())

    def prepare(self, standin: Standin, times: int = 1) -> None:
        """File the script."""
        standin.script("*", [step for _ in range(times) for step in self.steps])


def plain(path: str, *others: str, **options: Any) -> Call:
    """A call that returns one object."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        return [await driver.done(reach(client, path, *others)(**options))]

    return call


def streamed(path: str, **options: Any) -> Call:
    """``stream=True``, read to its end."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        stream = await driver.done(reach(client, path)(stream=True, **options))
        return [type(stream), *await driver.items(stream)]

    return call


def helper(final: str, path: str, *others: str, **options: Any) -> Call:
    """``.stream()``: events, then the object that the helper puts together."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        async with driver.within(reach(client, path, *others)(**options)) as stream:
            events = await driver.items(stream)
            return [type(stream), *events, await driver.done(getattr(stream, final)())]

    return call


def raw(path: str, **options: Any) -> Call:
    """``with_raw_response``."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        response = await driver.done(reach(client, path).with_raw_response.create(**options))
        parsed = await driver.done(response.parse())
        again = await driver.done(response.parse())
        return [
            type(response),
            response.status_code,
            response.headers["x-request-id" if path != "messages" else "request-id"],
            parsed,
            parsed is again,
        ]

    return call


def raw_stream(path: str, **options: Any) -> Call:
    """``with_raw_response`` of a stream; the wrapper dies before the stream is read, as frameworks let it."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        response = await driver.done(reach(client, path).with_raw_response.create(stream=True, **options))
        stream = await driver.done(response.parse())
        kind = type(response)
        del response
        return [kind, type(stream), *await driver.items(stream)]

    return call


def streaming(path: str, **options: Any) -> Call:
    """``with_streaming_response``, parsed by the caller."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        async with driver.within(reach(client, path).with_streaming_response.create(**options)) as response:
            return [type(response), await driver.done(response.parse())]

    return call


def streaming_read(path: str, **options: Any) -> Call:
    """``with_streaming_response``, whose bytes the caller reads."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        async with driver.within(reach(client, path).with_streaming_response.create(**options)) as response:
            return [type(response), await driver.done(response.read())]

    return call


def streaming_stream(path: str, **options: Any) -> Call:
    """``with_streaming_response`` of a stream, parsed by the caller."""

    async def call(driver: Driver, client: Any) -> list[Any]:
        async with driver.within(reach(client, path).with_streaming_response.create(stream=True, **options)) as response:
            stream = await driver.done(response.parse())
            return [type(response), type(stream), *await driver.items(stream)]

    return call


async def run_tools(driver: Driver, client: Any) -> list[Any]:
    """The tool runner of the anthropic SDK: two turns and a tool between them."""
    import anthropic

    start = reach(client, "beta.messages.tool_runner")

    def find_order(order: str) -> str:
        """Look an order up."""
        return f"{order} is in Oslo"

    async def find_order_async(order: str) -> str:
        return find_order(order)

    find_order_async.__name__, find_order_async.__doc__ = find_order.__name__, find_order.__doc__
    made = anthropic.beta_async_tool(find_order_async) if driver.is_async else anthropic.beta_tool(find_order)
    runner = start(tools=[made], **MESSAGES)
    return [type(runner), *await driver.items(runner)]


COMPLETION = Body(
    {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "gpt-3.5-turbo-instruct",
        "choices": [{"text": "Oslo", "index": 0, "logprobs": None, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
    }
)
CUT = {
    "otel_agent.api": "completions",
    "gen_ai.operation.name": "text_completion",
    "otel_agent.response.truncated": True,
    "otel_agent.response.truncated_by": "token_limit",
    "otel_agent.response.finish_reason": "length",
    "gen_ai.usage.input_tokens": 5,
    "gen_ai.usage.output_tokens": 7,
}
EMBEDDED = {"otel_agent.api": "embeddings", "gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 5}

WAYS = (
    Way(
        "messages.create", "anthropic", plain("messages.create", **MESSAGES), {**ANSWERED, **OF_MESSAGES}, absent=("otel_agent.stream.end",)
    ),
    Way("messages.stream=True", "anthropic", streamed("messages.create", **MESSAGES), {**ANSWERED, **OF_MESSAGES, **STREAMED}),
    Way(
        "messages.stream", "anthropic", helper("get_final_message", "messages.stream", **MESSAGES), {**ANSWERED, **OF_MESSAGES, **STREAMED}
    ),
    Way("beta.create", "anthropic", plain("beta.messages.create", **MESSAGES), {**ANSWERED, **OF_MESSAGES}),
    Way("beta.stream=True", "anthropic", streamed("beta.messages.create", **MESSAGES), {**ANSWERED, **OF_MESSAGES, **STREAMED}),
    Way(
        "beta.stream", "anthropic", helper("get_final_message", "beta.messages.stream", **MESSAGES), {**ANSWERED, **OF_MESSAGES, **STREAMED}
    ),
    Way(
        "messages.parse",
        "anthropic",
        plain("messages.parse", output_format=Place, **MESSAGES),
        {**ANSWERED, **OF_MESSAGES, "gen_ai.output.type": "json"},
        (JSON,),
    ),
    Way("beta.parse", "anthropic", plain("beta.messages.parse", output_format=Place, **MESSAGES), {**ANSWERED, **OF_MESSAGES}, (JSON,)),
    Way("messages.raw", "anthropic", raw("messages", **MESSAGES), {**ANSWERED, **OF_MESSAGES}),
    Way("messages.raw_stream", "anthropic", raw_stream("messages", **MESSAGES), {**ANSWERED, **OF_MESSAGES, **STREAMED}),
    Way("messages.streaming", "anthropic", streaming("messages", **MESSAGES), {**ANSWERED, **OF_MESSAGES}),
    Way("messages.streaming_read", "anthropic", streaming_read("messages", **MESSAGES), {**ANSWERED, **OF_MESSAGES}),
    Way("messages.streaming_stream", "anthropic", streaming_stream("messages", **MESSAGES), {**ANSWERED, **OF_MESSAGES, **STREAMED}),
    Way("tool_runner", "anthropic", run_tools, OF_MESSAGES, (Reply([ToolUse("find_order", {"order": "A1"})], usage=USAGE), SAID), turns=2),
    Way("chat.create", "openai", plain("chat.completions.create", **CHAT), {**ANSWERED, **OF_CHAT}, absent=("otel_agent.stream.end",)),
    Way("chat.stream=True", "openai", streamed("chat.completions.create", **CHAT_STREAM), {**ANSWERED, **OF_CHAT, **STREAMED}),
    Way(
        "chat.stream",
        "openai",
        helper("get_final_completion", "chat.completions.stream", "beta.chat.completions.stream", **CHAT_STREAM),
        {**ANSWERED, **OF_CHAT, **STREAMED},
    ),
    Way(
        "chat.parse",
        "openai",
        plain("chat.completions.parse", "beta.chat.completions.parse", response_format=Place, **CHAT),
        {**ANSWERED, **OF_CHAT, "gen_ai.output.type": "json"},
        (JSON,),
    ),
    Way("chat.raw", "openai", raw("chat.completions", **CHAT), {**ANSWERED, **OF_CHAT}),
    Way("chat.raw_stream", "openai", raw_stream("chat.completions", **CHAT_STREAM), {**ANSWERED, **OF_CHAT, **STREAMED}),
    Way("chat.streaming", "openai", streaming("chat.completions", **CHAT), {**ANSWERED, **OF_CHAT}),
    Way("chat.streaming_read", "openai", streaming_read("chat.completions", **CHAT), {**ANSWERED, **OF_CHAT}),
    Way("chat.streaming_stream", "openai", streaming_stream("chat.completions", **CHAT_STREAM), {**ANSWERED, **OF_CHAT, **STREAMED}),
    Way("responses.create", "openai", plain("responses.create", **RESPONSES), {**ANSWERED, **OF_RESPONSES}),
    Way("responses.stream=True", "openai", streamed("responses.create", **RESPONSES), {**ANSWERED, **OF_RESPONSES, **STREAMED}),
    Way(
        "responses.stream",
        "openai",
        helper("get_final_response", "responses.stream", **RESPONSES),
        {**ANSWERED, **OF_RESPONSES, **STREAMED},
    ),
    Way("responses.parse", "openai", plain("responses.parse", text_format=Place, **RESPONSES), {**ANSWERED, **OF_RESPONSES}, (JSON,)),
    Way("responses.raw", "openai", raw("responses", **RESPONSES), {**ANSWERED, **OF_RESPONSES}),
    Way("responses.raw_stream", "openai", raw_stream("responses", **RESPONSES), {**ANSWERED, **OF_RESPONSES, **STREAMED}),
    Way("responses.streaming_stream", "openai", streaming_stream("responses", **RESPONSES), {**ANSWERED, **OF_RESPONSES, **STREAMED}),
    Way("completions.create", "openai", plain("completions.create", model="gpt-3.5-turbo-instruct", prompt="Where?"), CUT, (COMPLETION,)),
    Way("embeddings.create", "openai", plain("embeddings.create", model="text-embedding-3-small", input="Where is order A1?"), EMBEDDED),
)


def named(*names: str) -> tuple[Way, ...]:
    """The ways of these names."""
    return tuple(way for way in WAYS if way.name in names)
