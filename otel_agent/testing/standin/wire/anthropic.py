"""Anthropic Messages, stable and beta."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from otel_agent.testing.standin.request import as_dict
from otel_agent.testing.standin.script import (
    Block,
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
from otel_agent.testing.standin.wire.frames import pieces, typed
from otel_agent.testing.standin.wire.turn import Counted, Turn, arguments_text, extra, seal

DIALECT = "anthropic"
ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Wired:
    """A content block as it goes out, with the argument text that a stream sends instead of the parsed input."""

    block: dict[str, Any]
    arguments: str = ""


def _thinking(block: Thinking, turn: Turn, index: int) -> Wired:
    return Wired({"type": "thinking", "thinking": block.text, "signature": seal(block, turn, index)})


def _text(block: Text, _turn: Turn, _index: int) -> Wired:
    cited = {"citations": list(block.citations)} if block.citations else {}
    return Wired({"type": "text", "text": block.text, **cited})


def _tool_use(block: ToolUse, turn: Turn, index: int) -> Wired:
    name = block.id or turn.ids("toolu_01", index)
    text = arguments_text(block)
    return Wired({"type": "tool_use", "id": name, "name": block.name, "input": _parsed(text)}, text)


def _raw(block: RawBlock, _turn: Turn, _index: int) -> Wired | None:
    given = block.by_dialect.get(DIALECT)
    if given is None:
        return None
    return Wired(dict(given), json.dumps(given["input"]) if "input" in given else "")


def _parsed(text: str) -> dict[str, Any]:
    try:
        return as_dict(json.loads(text))
    except ValueError:
        return {}


_BLOCKS: Mapping[type[Block], Callable[[Any, Turn, int], Wired | None]] = {
    Thinking: _thinking,
    Redacted: lambda block, _turn, _index: Wired({"type": "redacted_thinking", "data": block.data}),
    Text: _text,
    ToolUse: _tool_use,
    Refusal: lambda block, _turn, _index: Wired({"type": "text", "text": block.text}),
    RawBlock: _raw,
}


def _wired(reply: Reply, turn: Turn) -> list[Wired]:
    made = (_BLOCKS[type(block)](block, turn, index) for index, block in enumerate(reply.blocks))
    return [wired for wired in made if wired is not None]


def usage_body(usage: Counted) -> dict[str, Any]:
    """Anthropic's counts: `input_tokens` excludes the cache, `output_tokens` includes thinking."""
    fresh = max(0, usage.input - usage.cache_read - usage.cache_write)
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_1h,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
        "service_tier": "standard",
        **usage.extra,
    }


def _usage_field(usage: Counted | None) -> dict[str, Any]:
    return {} if usage is None else {"usage": usage_body(usage)}


def body(reply: Reply, turn: Turn) -> dict[str, Any]:
    """The whole message."""
    return {
        "id": turn.ids("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": [wired.block for wired in _wired(reply, turn)],
        "stop_reason": stop_of(reply).anthropic,
        "stop_sequence": reply.stop_sequence,
        **_details(reply),
        **_usage_field(turn.usage),
        **extra(reply, DIALECT),
    }


def _details(reply: Reply) -> dict[str, Any]:
    return {} if reply.stop_details is None else {"stop_details": dict(reply.stop_details)}


_OPENING: Mapping[str, Mapping[str, Any]] = {
    "thinking": {"thinking": "", "signature": ""},
    "text": {"text": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
    "mcp_tool_use": {"input": {}},
    "compaction": {"content": None},
}
"""What a block shows at its start; a block of another type is whole at its start and has no deltas."""


def _thinking_deltas(wired: Wired, size: int) -> Iterator[dict[str, Any]]:
    for piece in pieces(str(wired.block.get("thinking") or ""), size):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": wired.block.get("signature")}


def _text_deltas(wired: Wired, size: int) -> Iterator[dict[str, Any]]:
    for piece in pieces(str(wired.block.get("text") or ""), size):
        yield {"type": "text_delta", "text": piece}
    for citation in wired.block.get("citations") or ():
        yield {"type": "citations_delta", "citation": citation}


def _input_deltas(wired: Wired, size: int) -> Iterator[dict[str, Any]]:
    for piece in ["", *pieces(wired.arguments, size)]:
        yield {"type": "input_json_delta", "partial_json": piece}


def _compaction_deltas(wired: Wired, _size: int) -> Iterator[dict[str, Any]]:
    yield {**wired.block, "type": "compaction_delta"}


_DELTAS: Mapping[str, Callable[[Wired, int], Iterator[dict[str, Any]]]] = {
    "thinking": _thinking_deltas,
    "text": _text_deltas,
    "tool_use": _input_deltas,
    "server_tool_use": _input_deltas,
    "mcp_tool_use": _input_deltas,
    "compaction": _compaction_deltas,
}


def _block_payloads(wired: Wired, index: int, size: int) -> Iterator[dict[str, Any]]:
    kind = str(wired.block.get("type"))
    opening = {name: value for name, value in wired.block.items() if name != "citations"}
    shown = {**opening, **_OPENING.get(kind, {})}
    yield {"type": "content_block_start", "index": index, "content_block": shown}
    for delta in _DELTAS[kind](wired, size) if kind in _DELTAS else ():
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _started(whole: dict[str, Any], usage: Counted | None) -> dict[str, Any]:
    """The message as `message_start` has it: empty, and with a placeholder for the output count."""
    held = {name: value for name, value in whole.items() if name not in {"stop_details", "usage"}}
    placeholder = {} if usage is None else {"usage": {**usage_body(usage), "output_tokens": 1}}
    placeholder.get("usage", {}).pop("output_tokens_details", None)
    return {**held, "content": [], "stop_reason": None, "stop_sequence": None, **placeholder}


def _closing_usage(usage: Counted | None) -> dict[str, Any]:
    """Cumulative counts of `message_delta`; what only `message_start` has is left out."""
    whole = {} if usage is None else usage_body(usage)
    return {name: value for name, value in whole.items() if name not in {"cache_creation", "service_tier"}}


def payloads(reply: Reply, turn: Turn) -> Iterator[dict[str, Any]]:
    """The message as what a stream's events hold."""
    whole = body(reply, turn)
    yield {"type": "message_start", "message": _started(whole, turn.usage)}
    yield {"type": "ping"}
    for index, wired in enumerate(_wired(reply, turn)):
        yield from _block_payloads(wired, index, reply.delta_chars)
    delta = {name: whole[name] for name in ("stop_reason", "stop_sequence", "stop_details") if name in whole}
    counts = {} if turn.usage is None else {"usage": _closing_usage(turn.usage)}
    yield {"type": "message_delta", "delta": delta, **counts}
    yield {"type": "message_stop"}


def events(reply: Reply, turn: Turn) -> Iterator[bytes]:
    """The message as a stream."""
    return map(typed, payloads(reply, turn))


def error_body(failure: Failure, message: str, request_id: str) -> dict[str, Any]:
    """The body of an error answer."""
    kind = failure.type or ERROR_TYPES.get(failure.status, "api_error")
    code = {} if failure.code is None else {"details": {"error_code": failure.code}}
    return {"type": "error", "error": {"type": kind, "message": message, **code}, "request_id": request_id}


def error_event(step: StreamError) -> bytes:
    """The error event that ends a stream."""
    return typed({"type": "error", "error": {"type": step.type, "message": step.message}})
