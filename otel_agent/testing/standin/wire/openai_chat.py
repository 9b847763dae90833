"""OpenAI Chat Completions, and the servers that speak it with fields of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from otel_agent.testing.standin.request import as_dict
from otel_agent.testing.standin.script import (
    Failure,
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
from otel_agent.testing.standin.wire.frames import DONE, pieces, unnamed
from otel_agent.testing.standin.wire.turn import Counted, Turn, arguments_text, extra, seal

DIALECT = "openai.chat"


def _joined(reply: Reply, kind: type[Text | Refusal | Thinking]) -> str:
    return "".join(block.text for block in reply.blocks if isinstance(block, kind))


def _details(reply: Reply, turn: Turn) -> list[dict[str, Any]]:
    """OpenRouter's list, with summary, text and sealed entries."""
    found: list[dict[str, Any]] = []
    for index, block in enumerate(reply.blocks):
        if isinstance(block, Thinking):
            found.append({"type": "reasoning.text", "text": block.text, "signature": seal(block, turn, index)})
            found.extend([{"type": "reasoning.summary", "summary": block.summary}] if block.summary else [])
        if isinstance(block, Redacted):
            found.append({"type": "reasoning.encrypted", "data": block.data})
    return [{**entry, "format": "unknown", "index": index} for index, entry in enumerate(found)]


def _sealed(reply: Reply, turn: Turn) -> str:
    sealed = (
        block.data if isinstance(block, Redacted) else seal(block, turn, index)
        for index, block in enumerate(reply.blocks)
        if isinstance(block, Thinking | Redacted)
    )
    return "".join(sealed)


def _reasoning(reply: Reply, turn: Turn) -> dict[str, Any]:
    """Every reasoning field of this server's flavour; empty when the reply has no reasoning."""
    if not any(isinstance(block, Thinking | Redacted) for block in reply.blocks):
        return {}
    flavour = turn.flavour
    fields: dict[str, Any] = dict.fromkeys(flavour.reasoning, _joined(reply, Thinking))
    fields.update({"reasoning_details": _details(reply, turn)} if flavour.details else {})
    fields.update({flavour.opaque: _sealed(reply, turn)} if flavour.opaque else {})
    return fields


def _calls(reply: Reply, turn: Turn) -> list[dict[str, Any]]:
    return [
        {
            "id": block.id or turn.ids("call_", index),
            "type": "function",
            "function": {"name": block.name, "arguments": arguments_text(block)},
        }
        for index, block in enumerate(reply.blocks)
        if isinstance(block, ToolUse)
    ]


def _raw(reply: Reply) -> dict[str, Any]:
    given = (block.by_dialect.get(DIALECT, {}) for block in reply.blocks if isinstance(block, RawBlock))
    return {name: value for fields in given for name, value in fields.items()}


def _message(reply: Reply, turn: Turn) -> dict[str, Any]:
    calls = _calls(reply, turn)
    return {
        "role": "assistant",
        "content": _joined(reply, Text) or (None if calls or _joined(reply, Refusal) else ""),
        "refusal": _joined(reply, Refusal) or None,
        **_reasoning(reply, turn),
        **({"tool_calls": calls} if calls else {}),
        **_raw(reply),
    }


def _choices(reply: Reply, turn: Turn) -> list[dict[str, Any]]:
    return [
        {"index": index, "message": _message(one, turn), "logprobs": None, "finish_reason": stop_of(one).chat}
        for index, one in enumerate((reply, *reply.alternatives))
    ]


def usage_body(usage: Counted, turn: Turn) -> dict[str, Any]:
    """Counts as this flavour sends them."""
    written = usage.output - (usage.reasoning if turn.flavour.exclusive else 0)
    split = {"prompt_cache_hit_tokens": usage.cache_read, "prompt_cache_miss_tokens": usage.input - usage.cache_read}
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": written,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        **(split if turn.flavour.split_cache else {}),
        **usage.extra,
    }


def _envelope(reply: Reply, turn: Turn, kind: str) -> dict[str, Any]:
    return {
        "id": turn.ids("chatcmpl-"),
        "object": kind,
        "created": turn.created,
        "model": turn.model,
        **turn.flavour.extra,
        **extra(reply, DIALECT),
    }


def body(reply: Reply, turn: Turn) -> dict[str, Any]:
    """The whole completion."""
    counts = {} if turn.usage is None else {"usage": usage_body(turn.usage, turn)}
    return {**_envelope(reply, turn, "chat.completion"), "choices": _choices(reply, turn), **counts}


_CALL_TEXT = {"function": "arguments", "custom": "input"}
"""Kinds of calls, and where each keeps the text that a stream sends in pieces."""


def _call_deltas(message: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    for index, call in enumerate(message.get("tool_calls") or ()):
        kind = call["type"]
        name = _CALL_TEXT[kind]
        yield {"tool_calls": [{**call, "index": index, kind: {**call[kind], name: ""}}]}
        for piece in pieces(call[kind][name], size):
            yield {"tool_calls": [{"index": index, kind: {name: piece}}]}


_STREAMED_APART = {"role", "content", "refusal", "tool_calls"}


def _deltas(message: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    """A message as the deltas that add up to it: role, reasoning, text, calls."""
    yield {"role": "assistant", "content": "" if message["content"] is not None else None, "refusal": None}
    for name, value in message.items():
        if name not in _STREAMED_APART:
            yield from ({name: piece} for piece in (pieces(value, size) if isinstance(value, str) else [value]))
    for name in ("content", "refusal"):
        yield from ({name: piece} for piece in pieces(message[name] or "", size))
    yield from _call_deltas(message, size)


def _chunks(reply: Reply, turn: Turn) -> Iterator[dict[str, Any]]:
    """Every choice's chunks, one choice after the other, the finish reason on the last of each."""
    envelope = _envelope(reply, turn, "chat.completion.chunk")
    for choice in _choices(reply, turn):
        head = {"index": choice["index"], "logprobs": None}
        for delta in _deltas(choice["message"], reply.delta_chars):
            yield {**envelope, "choices": [{**head, "delta": delta, "finish_reason": None}]}
        yield {**envelope, "choices": [{**head, "delta": {}, "finish_reason": choice["finish_reason"]}]}


def _asked(turn: Turn) -> bool:
    return as_dict(turn.request.sent("stream_options")).get("include_usage") is True


def _with_usage(chunks: list[dict[str, Any]], reply: Reply, turn: Turn) -> list[dict[str, Any]]:
    """The chunks with counts put where this server puts them."""
    if turn.usage is None:
        return chunks
    counts = usage_body(turn.usage, turn)
    manner = turn.flavour.usage
    if manner == "every":
        return [{**chunk, "usage": counts} for chunk in chunks]
    if manner == "last":
        return [*chunks[:-1], {**chunks[-1], "usage": counts}]
    if manner == "x_groq":
        return [*chunks[:-1], {**chunks[-1], "x_groq": {"id": turn.ids("req_"), "usage": counts}}]
    if not _asked(turn):
        return chunks
    closing = {**_envelope(reply, turn, "chat.completion.chunk"), "choices": [], "usage": counts}
    return [*({**chunk, "usage": None} for chunk in chunks), closing]


def payloads(reply: Reply, turn: Turn) -> Iterator[dict[str, Any]]:
    """The completion as the chunks of a stream."""
    return iter(_with_usage(list(_chunks(reply, turn)), reply, turn))


def events(reply: Reply, turn: Turn) -> Iterator[bytes]:
    """The completion as a stream."""
    yield from map(unnamed, payloads(reply, turn))
    yield DONE


def error_event(step: StreamError) -> bytes:
    """A chunk that is an error object."""
    return unnamed({"error": {"message": step.message, "type": step.type, "param": None, "code": step.code}})


_ERROR_TYPES = {401: ("invalid_request_error", "invalid_api_key"), 429: ("requests", "rate_limit_exceeded")}


def error_body(failure: Failure, message: str, _request_id: str) -> dict[str, Any]:
    """The body of an error answer, the same for every OpenAI route."""
    usual = ("server_error", None) if failure.status >= 500 else ("invalid_request_error", None)
    kind, code = _ERROR_TYPES.get(failure.status, usual)
    named = {"type": failure.type or kind, "param": failure.param, "code": failure.code or code}
    return {"error": {"message": message, **named}}
