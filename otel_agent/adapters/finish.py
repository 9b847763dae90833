"""Finish reasons: every provider's word, the one normal word for it, and which of several counts.

A *position* is one choice of a response. Each position has a normal reason. The raw words run parallel to them; a position without a
word of its own is :data:`~otel_agent.fields.OTHER` there, and where no position has one the raw words are left out altogether.
A choice that was asked for and never came is ``error``; one that came and never said why it stopped is ``unknown``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from otel_agent.fields import MAX_ITEMS, OTHER, word
from otel_agent.records.closed import FinishReason, TruncatedBy
from otel_agent.tally import tally

Table = Mapping[str, FinishReason]

MESSAGES: Final[Table] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "paused",
    "compaction": "compaction",
    "refusal": "content_filter",
}
BEDROCK: Final[Table] = {
    **MESSAGES,
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "malformed",
    "malformed_tool_use": "malformed",
}
GEMINI: Final[Table] = {
    "stop": "stop",
    "max_tokens": "length",
    "continuation": "length",
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
    "recitation": "content_filter",
    "language": "content_filter",
    "image_safety": "content_filter",
    "image_prohibited_content": "content_filter",
    "image_recitation": "content_filter",
    "model_armor": "content_filter",
    "escalation": "content_filter",
    "malformed_function_call": "malformed",
    "malformed_response": "malformed",
    "unexpected_tool_call": "malformed",
    "too_many_tool_calls": "malformed",
    "missing_thought_signature": "malformed",
    "other": "error",
    "image_other": "error",
    "no_image": "error",
    "pup_limited_disabled": "error",
}
MISTRAL: Final[Table] = {
    "stop": "stop",
    "tool_calls": "tool_call",
    "length": "length",
    "model_length": "length",
    "error": "error",
}
COHERE: Final[Table] = {
    "complete": "stop",
    "stop_sequence": "stop",
    "tool_call": "tool_call",
    "max_tokens": "length",
    "error": "error",
    "timeout": "error",
}
OLLAMA: Final[Table] = {"stop": "stop", "length": "length", "load": "other", "unload": "other"}
CHAT: Final[Table] = {
    **GEMINI,
    **COHERE,
    **BEDROCK,
    **MISTRAL,
    **OLLAMA,
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "content_filter",
    "eos": "stop",
    "abort": "error",
    "insufficient_system_resource": "error",
}
"""Servers behind a chat completions interface hand on the word of the model behind them, in any case, so all are known here."""

RESPONSES: Final[Table] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "content_filter",
    "steered": "paused",
    "queued": "pending",
    "in_progress": "pending",
    "response.compaction": "compaction",
    "incomplete": "other",
    "failed": "error",
    "cancelled": "error",
}

_CONTEXT: Final = frozenset({"model_context_window_exceeded", "model_length", "max_messages"})

WORST_FIRST: Final[tuple[FinishReason, ...]] = (
    "error", "malformed", "content_filter", "length", "other", "unknown", "pending", "paused", "compaction", "tool_call", "stop",
)  # fmt: skip
"""The worst-of rule: of several choices the one that a person has to look at first speaks for the response."""


def spelled(raw: Any) -> str | None:
    """The provider's word, ``None`` for anything that is no word (a null, an object)."""
    return word(raw)


def normal(table: Table, raw: str | None) -> FinishReason:
    """The normal form of a provider's word; ``other`` and a count for one never heard of, ``unknown`` for none."""
    if raw is None:
        return "unknown"
    known = table.get(raw) or table.get(raw.lower())
    if known is None:
        tally("unknown", "finish_reason")
        return "other"
    return known


def parallel(raws: Sequence[str | None]) -> tuple[str, ...]:
    """Raw words in the order of the choices, see the head of this module."""
    if len(raws) == 1:  # nearly always
        return () if raws[0] is None else (raws[0],)
    if raws.count(None) == len(raws):
        return ()
    return tuple([OTHER if raw is None else raw for raw in raws])


def places(asked: int | None, seen: Collection[int]) -> list[int]:
    """The positions to report: every choice asked for and every one seen, within the bound of an array fact."""
    if asked is None and len(seen) == 1 and 0 in seen:  # nearly always
        return [0]
    return sorted({*range(min(asked or 1, MAX_ITEMS)), *seen})[:MAX_ITEMS]


def truncated_by(reasons: Iterable[FinishReason], raws: Iterable[str | None]) -> TruncatedBy | None:
    """Which limit cut an answer off, ``None`` when none did."""
    if "length" not in reasons:
        return None
    return "context_window" if any(raw is not None and raw.lower() in _CONTEXT for raw in raws) else "token_limit"


def worst(reasons: Sequence[FinishReason]) -> FinishReason:
    """The reason that stands for all choices; ``unknown`` when there is none."""
    if len(reasons) == 1:  # nearly always
        return reasons[0]
    return min(reasons, key=WORST_FIRST.index, default="unknown")
