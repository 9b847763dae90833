"""What the record of a model turn says, from the facts that the adapters read. Absent facts are left out at once.

A record has many more fields than a turn has facts, so no step here walks over those that are not there.
"""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from operator import attrgetter
from typing import Any, Final

from pydantic import ValidationError

from otel_agent.adapters import finish
from otel_agent.fields import MAX_ITEMS, OTHER, identifier
from otel_agent.protocol import Blocks, ErrorFacts, RequestFacts, ResponseFacts, ToolCall, Usage
from otel_agent.records import ModelTurn
from otel_agent.tally import tally


class Columns:
    """Fields of an object of facts, taken all at once."""

    __slots__ = ("_names", "_take")

    def __init__(self, *names: str) -> None:
        self._names = names
        self._take = attrgetter(*names)

    def of(self, facts: Any) -> dict[str, Any]:
        """The fields that are there, by name."""
        return {name: value for name, value in zip(self._names, self._take(facts), strict=True) if value is not None}


def _all(facts: type) -> Columns:
    return Columns(*(field.name for field in dataclass_fields(facts)))


REQUEST: Final = _all(RequestFacts)
USAGE: Final = _all(Usage)
RESPONSE: Final = Columns(
    "response_model", "response_id", "request_id", "truncated_by", "effective_level", "response_tier", "provider_dropped_items",
    "error_type",
)  # fmt: skip
HISTORY: Final = Columns(
    "message_count", "history_digest", "stable_prefix", "first_changed", "first_changed_role", "prefix_break", "tools_digest"
)
REPLAY: Final = Columns("replayed_items", "dropped_items", "edited_items")
TIMES: Final = Columns("first_chunk", "first_visible_chunk", "thinking_seconds", "chunks")

_blocks: Final = attrgetter("visible", "action", "result", "deliberation", "unknown")
_BLOCKS: Final = ("visible_blocks", "action_blocks", "result_blocks", "deliberation_blocks", "unknown_blocks")


def response_values(facts: ResponseFacts) -> dict[str, Any]:
    """What a response says."""
    values = RESPONSE.of(facts)
    values.update(USAGE.of(facts.usage))
    values["usage_state"] = facts.usage.state
    values.update(finish_values(facts))
    values.update(block_values(facts.blocks))
    if facts.tool_calls:
        values.update(tool_call_values(facts.tool_calls))
    return values


def finish_values(facts: ResponseFacts) -> dict[str, Any]:
    """Why it stopped."""
    truncated, blocks = facts.truncated_by is not None, facts.blocks
    values: dict[str, Any] = {
        "finish_reason": finish.worst(facts.finish_reasons),
        "truncated": truncated,
        "empty_truncated": truncated and blocks.visible == 0 and blocks.action == 0,
    }
    if facts.finish_reasons:
        values["finish_reasons"] = facts.finish_reasons
    if facts.finish_reasons_raw:
        values["finish_reasons_raw"] = facts.finish_reasons_raw
    return values


def block_values(blocks: Blocks) -> dict[str, int]:
    """Counts of blocks; a kind that does not occur is absent, so that most records stay small."""
    return {name: number for name, number in zip(_BLOCKS, _blocks(blocks), strict=True) if number}


def tool_call_values(calls: list[ToolCall]) -> dict[str, Any]:
    """Names and ids of the tools called."""
    kept = calls[:MAX_ITEMS]
    return {
        "tool_call_names": tuple([call.name for call in kept]),
        "tool_call_ids": tuple([found for call in kept if (found := identifier(call.call_id))]) or None,
        "undeclared_tool_calls": sum(call.name == OTHER for call in calls) or None,
    }


def failure_values(failure: ErrorFacts, finish_reason: str) -> dict[str, Any]:
    """What failed. A reason that came before the failure says more than it, so it stands."""
    values: dict[str, Any] = {"error_type": failure.error_type, "status_code": failure.status_code}
    if finish_reason == "unknown":
        values["finish_reason"] = "error"
    if failure.request_id is not None:
        values["request_id"] = failure.request_id
    return values


def validated(values: dict[str, Any]) -> ModelTurn:
    """The record of ``values``. A value that does not fit its field is left out and tallied: one bad fact must not cost the rest."""
    try:
        # Not ``ModelTurn(**values)``: that costs about a quarter more instructions, for the same validation.
        return ModelTurn.model_validate(values)
    except ValidationError as error:
        present = {name: value for name, value in values.items() if value is not None}
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            present.pop(str(problem["loc"][0]), None)
            tally("unfit", "record")
        return ModelTurn(**{**REQUIRED, **present})


REQUIRED: Final[dict[str, Any]] = {
    "operation": "chat", "api": "messages", "provider": "unknown", "provider_source": "unknown", "finish_reason": "unknown",
    "truncated": False, "usage_state": "missing", "duration": 0.0,
}  # fmt: skip
"""What stands for a required fact that did not fit."""
