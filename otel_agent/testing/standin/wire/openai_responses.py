"""OpenAI Responses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from otel_agent.testing.standin.request import as_dict
from otel_agent.testing.standin.script import (
    Block,
    RawBlock,
    Redacted,
    Refusal,
    Reply,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    stop_of,
)
from otel_agent.testing.standin.wire.frames import pieces, typed
from otel_agent.testing.standin.wire.turn import Counted, Turn, arguments_text, extra, seal

DIALECT = "openai.responses"
Json = dict[str, Any]


def _reasoning(block: Thinking, turn: Turn, index: int) -> Json:
    text = block.text if block.summary is None else block.summary
    return {
        "id": turn.ids("rs_", index),
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text}] if text else [],
        "content": [{"type": "reasoning_text", "text": block.text}] if block.text else [],
        "encrypted_content": seal(block, turn, index),
    }


def _redacted(block: Redacted, turn: Turn, index: int) -> Json:
    return {"id": turn.ids("rs_", index), "type": "reasoning", "summary": [], "encrypted_content": block.data}


def _message(part: Json, turn: Turn, index: int, phase: str | None = None) -> Json:
    named = {} if phase is None else {"phase": phase}
    head = {"id": turn.ids("msg_", index), "type": "message", "status": "completed", "role": "assistant"}
    return {**head, **named, "content": [part]}


def _text(block: Text, turn: Turn, index: int) -> Json:
    part = {"type": "output_text", "text": block.text, "annotations": [], "logprobs": []}
    return _message(part, turn, index, block.phase)


def _refusal(block: Refusal, turn: Turn, index: int) -> Json:
    return _message({"type": "refusal", "refusal": block.text}, turn, index)


def _call(block: ToolUse, turn: Turn, index: int) -> Json:
    return {
        "id": turn.ids("fc_", index),
        "type": "function_call",
        "status": "completed",
        "call_id": block.id or turn.ids("call_", index),
        "name": block.name,
        "arguments": arguments_text(block),
    }


_ITEMS: Mapping[type[Block], Callable[[Any, Turn, int], Json | None]] = {
    Thinking: _reasoning,
    Redacted: _redacted,
    Text: _text,
    Refusal: _refusal,
    ToolUse: _call,
    RawBlock: lambda block, _turn, _index: block.by_dialect.get(DIALECT),
}


def _output(reply: Reply, turn: Turn) -> list[Json]:
    made = (_ITEMS[type(block)](block, turn, index) for index, block in enumerate(reply.blocks))
    return [item for item in made if item is not None]


def usage_body(usage: Counted) -> Json:
    """OpenAI's counts: cached input and reasoning are subsets."""
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
        **usage.extra,
    }


_ECHOED: Mapping[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""Request fields that the response repeats, with what it says when the request did not."""


def _echo(turn: Turn) -> Json:
    asked = {name: turn.request.sent(name) for name in _ECHOED}
    reasoning = {"effort": "medium", "summary": None, **as_dict(turn.request.sent("reasoning"))}
    return {name: _ECHOED[name] if asked[name] is None else asked[name] for name in _ECHOED} | {"reasoning": reasoning}


def body(reply: Reply, turn: Turn) -> Json:
    """The whole response."""
    stop = stop_of(reply)
    error = reply.error or {"code": "server_error", "message": "The server had an error while processing your request."}
    return {
        "id": turn.ids("resp_"),
        "object": "response",
        "created_at": turn.created,
        "status": stop.status,
        "background": turn.request.sent("background") is True,
        "error": dict(error) if stop.status == "failed" else None,
        "incomplete_details": {"reason": stop.incomplete} if stop.incomplete else None,
        "model": turn.model,
        "output": _output(reply, turn),
        **_echo(turn),
        "usage": None if turn.usage is None else usage_body(turn.usage),
        **extra(reply, DIALECT),
    }


def unfinished(whole: Json, status: str) -> Json:
    """The response as it looks before there is anything in it."""
    return {**whole, "status": status, "output": [], "usage": None, "error": None, "incomplete_details": None}


def _text_run(prefix: str, where: Json, text: str, size: int, done: Json, **more: Any) -> Iterator[Json]:
    for piece in pieces(text, size):
        yield {"type": f"{prefix}.delta", **where, "delta": piece, **more}
    yield {"type": f"{prefix}.done", **where, **done, **more}


def _summary_events(item: Json, at: Json, size: int) -> Iterator[Json]:
    for index, part in enumerate(item.get("summary") or ()):
        where = {**at, "summary_index": index}
        yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
        yield from _text_run("response.reasoning_summary_text", where, part["text"], size, {"text": part["text"]})
        yield {"type": "response.reasoning_summary_part.done", **where, "part": part}


_PARTS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "output_text": ("response.output_text", "text", {"logprobs": []}),
    "refusal": ("response.refusal", "refusal", {}),
    "reasoning_text": ("response.reasoning_text", "text", {}),
}
"""Content parts that stream: the events' prefix, the field with the text, fields that every event carries."""


def _part_events(item: Json, at: Json, size: int) -> Iterator[Json]:
    for index, part in enumerate(item.get("content") or ()):
        where = {**at, "content_index": index}
        prefix, name, more = _PARTS.get(str(part.get("type")), ("", "", {}))
        yield {"type": "response.content_part.added", **where, "part": {**part, **({name: ""} if name else {})}}
        if name:
            yield from _text_run(prefix, where, part[name], size, {name: part[name]}, **more)
        yield {"type": "response.content_part.done", **where, "part": part}


def _argument_events(prefix: str, name: str) -> Callable[[Json, Json, int], Iterator[Json]]:
    return lambda item, at, size: _text_run(prefix, at, str(item.get(name) or ""), size, {name: item.get(name)})


def _reasoning_events(item: Json, at: Json, size: int) -> Iterator[Json]:
    yield from _summary_events(item, at, size)
    yield from _part_events(item, at, size)


_STREAMED: Mapping[str, tuple[Mapping[str, Any], Callable[[Json, Json, int], Iterator[Json]]]] = {
    "reasoning": ({"summary": [], "content": [], "encrypted_content": ""}, _reasoning_events),
    "message": ({"content": [], "status": "in_progress"}, _part_events),
    "function_call": (
        {"arguments": "", "status": "in_progress"},
        _argument_events("response.function_call_arguments", "arguments"),
    ),
    "custom_tool_call": ({"input": ""}, _argument_events("response.custom_tool_call_input", "input")),
    "mcp_call": ({"arguments": "", "output": None}, _argument_events("response.mcp_call_arguments", "arguments")),
}
"""Items that stream: how they look when added, and the events between added and done."""


def _item_events(item: Json, index: int, size: int) -> Iterator[Json]:
    opening, between = _STREAMED.get(str(item.get("type")), ({}, lambda _item, _at, _size: iter(())))
    shown = {name: value for name, value in opening.items() if name in item}
    yield {"type": "response.output_item.added", "output_index": index, "item": {**item, **shown}}
    yield from between(item, {"item_id": item.get("id"), "output_index": index}, size)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _unnumbered(reply: Reply, turn: Turn) -> Iterator[Json]:
    whole = body(reply, turn)
    waits = ["queued"] if whole["background"] else []
    yield {"type": "response.created", "response": unfinished(whole, *waits or ["in_progress"])}
    for status in (*waits, "in_progress"):
        yield {"type": f"response.{status}", "response": unfinished(whole, status)}
    for index, item in enumerate(whole["output"]):
        yield from _item_events(item, index, reply.delta_chars)
    ending = {"completed": "completed", "incomplete": "incomplete"}.get(whole["status"], "failed")
    yield {"type": f"response.{ending}", "response": whole}


def payloads(reply: Reply, turn: Turn) -> Iterator[Json]:
    """The response as what a stream's numbered events hold."""
    numbers = itertools.count()
    return ({**payload, "sequence_number": next(numbers)} for payload in _unnumbered(reply, turn))


def events(reply: Reply, turn: Turn) -> Iterator[bytes]:
    """The response as a stream."""
    return map(typed, payloads(reply, turn))


def error_event(step: StreamError) -> bytes:
    """The event that reports an error in the stream."""
    told = {"code": step.code or step.type, "message": step.message, "param": None, "sequence_number": 0}
    return typed({"type": "error", **told})
