"""What the adapters cost: microseconds a call and a chunk, over the SDKs' own objects and over parsed JSON.

python tests/benchmarks/adapters.py
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any, Final

from anthropic.types import Message, RawContentBlockDeltaEvent, RawContentBlockStartEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseReasoningTextDeltaEvent, ResponseTextDeltaEvent

from otel_agent.adapters import ADAPTERS, lookup
from otel_agent.adapters.hosts import provider_of

TOOLS: Final = 20
TURNS: Final = 40


class Sink:
    """An answer that forgets, so that only the adapter's own work is measured."""

    def update(self, text: str) -> None:
        """Forget a piece of text."""


def micros(work: Callable[[], object], number: int = 200) -> float:
    """Best of many short runs, in microseconds a call: the figure least disturbed by a busy machine."""
    return min(timeit.repeat(work, number=number, repeat=100)) / number * 1e6


def messages_body() -> dict[str, Any]:
    """A request in the middle of a run."""
    turn = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}]
    tools = [{"name": f"tool_{n}", "input_schema": {"type": "object"}} for n in range(TOOLS)]
    return {
        "model": "claude-opus-4-6",
        "max_tokens": 4096,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "messages": turn * (TURNS // 2),
        "tools": tools,
    }


def chat_body() -> dict[str, Any]:
    """The same for chat completions."""
    tools = [{"type": "function", "function": {"name": f"tool_{n}"}} for n in range(TOOLS)]
    messages = [{"role": "user", "content": "go on"}] * TURNS
    return {"model": "gpt-5.2", "reasoning_effort": "high", "messages": messages, "tools": tools}


def responses_body() -> dict[str, Any]:
    """The same for Responses."""
    tools = [{"type": "function", "name": f"tool_{n}"} for n in range(TOOLS)]
    given = [{"type": "message", "role": "user", "content": "go on"}] * TURNS
    return {"model": "gpt-5.2", "reasoning": {"effort": "high"}, "input": given, "tools": tools}


MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6", "stop_reason": "tool_use",
    "stop_sequence": None,
    "content": [
        {"type": "thinking", "thinking": "x", "signature": "s"},
        {"type": "text", "text": "I look it up."},
        {"type": "tool_use", "id": "toolu_1", "name": "tool_1", "input": {}},
    ],
    "usage": {"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 20},
}  # fmt: skip
COMPLETION: Final[dict[str, Any]] = {
    "id": "chatcmpl_1", "object": "chat.completion", "created": 1, "model": "gpt-5.2-2025-12-11",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is done."}}],
    "usage": {
        "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens_details": {"reasoning_tokens": 20},
    },
}  # fmt: skip
RESPONSE: Final[dict[str, Any]] = {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.2", "status": "completed", "tools": [],
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "It is done.", "annotations": []}]},
    ],
    "usage": {
        "input_tokens": 100, "output_tokens": 50, "total_tokens": 150,
        "input_tokens_details": {"cached_tokens": 80}, "output_tokens_details": {"reasoning_tokens": 20},
    },
}  # fmt: skip
BLOCK: Final = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
TEXT: Final = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}
THOUGHT_BLOCK: Final = {
    "type": "content_block_start", "index": 1, "content_block": {"type": "thinking", "thinking": "", "signature": ""},
}  # fmt: skip
THOUGHT: Final = {"type": "content_block_delta", "index": 1, "delta": {"type": "thinking_delta", "thinking": "word "}}
CHUNK: Final[dict[str, Any]] = {
    "id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5.2", "usage": None,
    "choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}],
}  # fmt: skip
CHUNK_THOUGHT: Final = {
    **CHUNK, "choices": [{"index": 0, "delta": {"content": None, "reasoning_content": "word "}, "finish_reason": None}],
}  # fmt: skip
CHUNK_COUNTED: Final = {**CHUNK, "usage": COMPLETION["usage"]}
PIECE: Final[dict[str, Any]] = {
    "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": "word ",
    "logprobs": [], "sequence_number": 7,
}  # fmt: skip
PIECE_THOUGHT: Final[dict[str, Any]] = {
    "type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "item_id": "rs_1", "delta": "word ",
    "sequence_number": 7,
}  # fmt: skip


def calls() -> list[tuple[str, float]]:
    """One row a reading of a request or a response."""
    rows: list[tuple[str, float]] = [
        ("lookup", micros(lambda: lookup("post", "/v1/messages?beta=true"))),
        ("provider_of", micros(lambda: provider_of("https://api.openai.com/v1/"))),
    ]
    for name, body, whole, kind in (
        ("messages", messages_body(), MESSAGE, Message),
        ("chat_completions", chat_body(), COMPLETION, ChatCompletion),
        ("responses", responses_body(), RESPONSE, Response),
    ):
        adapter = ADAPTERS[name]  # type: ignore[index]
        request = adapter.read_request(body)
        built = kind.construct(**whole)
        built._request_id = "req_1"  # as the SDK does
        rows += [
            (f"{name}.read_request", micros(lambda a=adapter, b=body: a.read_request(b))),  # type: ignore[misc]
            (f"{name}.read_response sdk", micros(lambda a=adapter, r=request, w=built: a.read_response(w, r, Sink()))),  # type: ignore[misc]
            (f"{name}.read_response json", micros(lambda a=adapter, r=request, w=whole: a.read_response(w, r, Sink()))),  # type: ignore[misc]
        ]
    return rows


def chunks() -> list[tuple[str, float]]:
    """One row a kind of stream event."""
    rows: list[tuple[str, float]] = []
    for name, before, event, kind in (
        ("messages text", (BLOCK,), TEXT, RawContentBlockDeltaEvent),
        ("messages thinking", (THOUGHT_BLOCK,), THOUGHT, RawContentBlockDeltaEvent),
        ("chat_completions text", (), CHUNK, ChatCompletionChunk),
        ("chat_completions reasoning", (CHUNK,), CHUNK_THOUGHT, ChatCompletionChunk),
        ("chat_completions text and usage", (), CHUNK_COUNTED, ChatCompletionChunk),
        ("responses text", (), PIECE, ResponseTextDeltaEvent),
        ("responses reasoning", (), PIECE_THOUGHT, ResponseReasoningTextDeltaEvent),
    ):
        adapter = ADAPTERS[name.partition(" ")[0]]  # type: ignore[index]
        for form, chunk in (("sdk", kind.construct(**event)), ("json", event)):
            stream = adapter.accumulator(adapter.read_request({"model": "m"}), Sink())
            for opening in before:
                stream.feed(RawContentBlockStartEvent.construct(**opening) if opening.get("type") else opening)
            rows.append((f"{name} {form}", micros(lambda s=stream, c=chunk: s.feed(c))))  # type: ignore[misc]
    return rows


if __name__ == "__main__":
    for label, cost in [*calls(), *chunks()]:
        print(f"{label:<42}{cost:8.2f} µs")
