"""What the record of a model turn says, from the facts that the adapters read. Absent facts are left out at once.

A record has many more fields than a turn has facts, so no step here walks over those that are not there.
"""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from operator import attrgetter
from typing import Any, Final

from otel_agent.adapters import finish
from otel_agent.fields import MAX_ITEMS, OTHER
from otel_agent.protocol import Blocks, ErrorFacts, RequestFacts, ResponseFacts, ToolCall, Usage


class Columns:
    """Fields of an object of facts, taken all at once; one of an object inside it is spelled with a dot, and goes by its last name."""

    __slots__ = ("_names", "_take")

    def __init__(self, *names: str) -> None:
        self._names = tuple(name.rpartition(".")[2] for name in names)
        self._take = attrgetter(*names)

    def of(self, facts: Any) -> dict[str, Any]:
        """The fields that are there, by name."""
        return {name: value for name, value in zip(self._names, self._take(facts), strict=True) if value is not None}


def _names(facts: type) -> list[str]:
    return [field.name for field in dataclass_fields(facts)]


LATER: Final = frozenset({"tool_names", "tool_count"})
"""Facts of a request that no sampler asks for, so they are stated with the response."""
REQUEST: Final = Columns(*(name for name in _names(RequestFacts) if name not in LATER))
RESPONSE: Final = Columns(
    "response_model", "response_id", "request_id", "truncated_by", "effective_level", "response_tier", "provider_dropped_items",
    "error_type", *(f"usage.{name}" for name in _names(Usage)),
)  # fmt: skip
HISTORY: Final = Columns(
    "message_count", "history_digest", "stable_prefix", "first_changed", "first_changed_role", "prefix_break", "tools_digest"
)
REPLAY: Final = Columns("replayed_items", "dropped_items", "edited_items")
TIMES: Final = Columns("first_chunk", "first_visible_chunk", "thinking_seconds", "chunks")


def offered_values(facts: RequestFacts) -> dict[str, Any]:
    """The tools on offer."""
    if facts.tool_names is None:
        return {}
    return {"tool_names": facts.tool_names[:MAX_ITEMS], "tool_count": facts.tool_count}


def response_values(facts: ResponseFacts) -> dict[str, Any]:
    """What a response says."""
    values = RESPONSE.of(facts)
    values["usage_state"] = facts.usage.state
    _add_finish(values, facts)
    _add_blocks(values, facts.blocks)
    if facts.tool_calls:
        _add_tool_calls(values, facts.tool_calls)
    return values


def _add_finish(values: dict[str, Any], facts: ResponseFacts) -> None:
    """Why it stopped."""
    truncated, blocks = facts.truncated_by is not None, facts.blocks
    values["finish_reason"] = finish.worst(facts.finish_reasons)
    values["truncated"] = truncated
    values["empty_truncated"] = truncated and blocks.visible == 0 and blocks.action == 0
    if facts.finish_reasons:
        values["finish_reasons"] = facts.finish_reasons
    if facts.finish_reasons_raw:
        values["finish_reasons_raw"] = facts.finish_reasons_raw


def _add_blocks(values: dict[str, Any], blocks: Blocks) -> None:
    """Counts of blocks; a kind that does not occur is absent, so that most records stay small."""
    if blocks.visible:
        values["visible_blocks"] = blocks.visible
    if blocks.action:
        values["action_blocks"] = blocks.action
    if blocks.result:
        values["result_blocks"] = blocks.result
    if blocks.deliberation:
        values["deliberation_blocks"] = blocks.deliberation
    if blocks.unknown:
        values["unknown_blocks"] = blocks.unknown


def _add_tool_calls(values: dict[str, Any], calls: list[ToolCall]) -> None:
    """Names and ids of the tools called."""
    kept = calls[:MAX_ITEMS]
    names = values["tool_call_names"] = tuple([call.name for call in kept])
    ids = tuple([call.call_id for call in kept if call.call_id])
    if ids:
        values["tool_call_ids"] = ids
    if OTHER in names or OTHER in [call.name for call in calls[MAX_ITEMS:]]:
        values["undeclared_tool_calls"] = sum(call.name == OTHER for call in calls)


def failure_values(failure: ErrorFacts, finish_reason: str) -> dict[str, Any]:
    """What failed. A reason that came before the failure says more than it, so it stands."""
    values: dict[str, Any] = {"error_type": failure.error_type}
    if failure.status_code is not None:
        values["status_code"] = failure.status_code
    if finish_reason == "unknown":
        values["finish_reason"] = "error"
    if failure.request_id is not None:
        values["request_id"] = failure.request_id
    return values
