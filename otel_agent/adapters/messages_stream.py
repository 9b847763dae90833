"""One Anthropic message, whole or as it comes: the reading both share.

Stop reason and output counts are taken from ``message_delta`` alone; what stands in ``message_start`` is a placeholder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from otel_agent.adapters import blocks, errors, finish, offers, usage
from otel_agent.adapters.members import Find, finder
from otel_agent.fields import OTHER, dig, get, identifier, items, model_name, word
from otel_agent.protocol import ACTION, DELIBERATION, RESULT, SILENT, VISIBLE, Answer, Phase, RequestFacts, ResponseFacts, ToolCall
from otel_agent.records.closed import FinishReason

BLOCKS: Final[dict[str, Phase]] = {
    "text": VISIBLE,
    "thinking": DELIBERATION,
    "redacted_thinking": DELIBERATION,
    "compaction": DELIBERATION,
    "tool_use": ACTION,
    "server_tool_use": ACTION,
    "mcp_tool_use": ACTION,
    "web_search_tool_result": RESULT,
    "web_fetch_tool_result": RESULT,
    "code_execution_tool_result": RESULT,
    "bash_code_execution_tool_result": RESULT,
    "text_editor_code_execution_tool_result": RESULT,
    "tool_search_tool_result": RESULT,
    "advisor_tool_result": RESULT,
    "mcp_tool_result": RESULT,
    "mcp_tool_listing": RESULT,
    "container_upload": RESULT,
    "fallback": SILENT,
}
SERVER_TOOLS: Final = frozenset({
    "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution",
    "tool_search_tool_regex", "tool_search_tool_bm25", "advisor",
})  # fmt: skip
_DELTAS: Final[dict[str, Phase]] = {
    "text_delta": VISIBLE,
    "thinking_delta": DELIBERATION,
    "signature_delta": DELIBERATION,
    "compaction_delta": DELIBERATION,
    "input_json_delta": ACTION,
}
"""Only for a delta whose block was never announced."""


class MessagesStream:
    """One message as it comes. Phases are those of the announced blocks; deltas inside a thinking block are never opened."""

    __slots__ = (
        "_announced", "_answer", "_calls", "_dropped", "_error", "_id", "_kinds", "_model", "_offered", "_spoken", "_stop", "_tier",
        "_usage",
    )  # fmt: skip

    def __init__(self, request: RequestFacts, answer: Answer | None) -> None:
        self._answer = answer
        self._offered = request.tool_names
        self._kinds: dict[int, Phase | None] = {}
        self._spoken: set[int] = set()
        self._announced: list[tuple[str, str | None]] = []
        self._calls: dict[int, ToolCall] = {}
        self._usage: usage.Tally = {}
        self._model: str | None = None
        self._id: str | None = None
        self._tier: str | None = None
        self._stop: str | None = None
        self._dropped: int | None = None
        self._error: str | None = None

    def feed(self, event: Any) -> Phase:
        """Read one event."""
        # Nearly every event is a delta of an announced block, as the SDK's own object: read with as few steps as there can be.
        if type(event) is not dict:
            try:
                if event.type == "content_block_delta" and (phase := self._kinds.get(event.index)) is not None:
                    return phase if phase is not VISIBLE else self._visible(event.index, event.delta)
            except (AttributeError, TypeError):  # it lacks a member, or has one of another type
                pass
        kind = get(event, "type")
        if kind == "content_block_delta":
            return self._delta(event)
        handler = self._HANDLERS.get(kind) if isinstance(kind, str) else None
        return SILENT if handler is None else handler(self, event)

    def _visible(self, index: int, delta: Any) -> Phase:
        if delta.type == "text_delta":
            text = delta.text
            if type(text) is str and text:
                self._spoken.add(index)
                if self._answer is not None:
                    self._answer.update(text)
        return VISIBLE

    def _delta(self, event: Any) -> Phase:
        index = get(event, "index")
        place = index if type(index) is int else -1
        phase = self._kinds.get(place)
        if phase is None:
            phase = self._unannounced(place, event)
        if phase is VISIBLE:
            delta = get(event, "delta")
            if get(delta, "type") == "text_delta":
                self._speak(place, get(delta, "text"))
        return phase

    def _unannounced(self, place: int, event: Any) -> Phase:
        """A delta of a block that was announced as something unknown stays silent; one never announced goes by its own type."""
        kind = None if place in self._kinds else dig(event, "delta", "type")
        phase = _DELTAS.get(kind, SILENT) if isinstance(kind, str) else SILENT
        if phase is not SILENT:
            self._kinds[place] = phase
        return phase

    def _speak(self, index: int, text: Any) -> None:
        if type(text) is str and text:
            self._spoken.add(index)
            if self._answer is not None:
                self._answer.update(text)

    def _start(self, event: Any) -> Phase:
        self.read_head(finder(get(event, "message")), usage.MESSAGES_OPENING)
        return SILENT

    def _block(self, event: Any) -> Phase:
        index = get(event, "index")
        return self.open_block(index, get(event, "content_block")) if type(index) is int else SILENT

    def _end(self, event: Any) -> Phase:
        self.read_end(finder(get(event, "delta")))
        self._transformations(finder(event))
        self._count(get(event, "usage"), usage.MESSAGES)
        return SILENT

    def _failure(self, event: Any) -> Phase:
        self._error = errors.reported(get(event, "error"))
        return SILENT

    _HANDLERS: ClassVar[dict[str, Callable[[MessagesStream, Any], Phase]]] = {
        "message_start": _start,
        "content_block_start": _block,
        "message_delta": _end,
        "error": _failure,
    }

    def read_head(self, find: Find, counts: usage.Table) -> None:
        """Identity and usage of a message, whole or just begun."""
        self._model = model_name(find("model")) or self._model
        self._id = identifier(find("id")) or self._id
        self._transformations(find)
        self._count(find("usage"), counts)

    def read_end(self, find: Find) -> None:
        """Why the message stopped."""
        reason = finish.spelled(find("stop_reason"))
        if reason is not None:
            self._stop = reason

    def open_block(self, index: int, block: Any) -> Phase:
        """A block by its type. One that comes whole brings its text along; a second start of the same index replaces the first."""
        find = finder(block)
        kind = find("type")
        phase = BLOCKS.get(kind) if isinstance(kind, str) else None
        self._kinds[index] = phase
        if phase is VISIBLE:
            self._speak(index, find("text"))
        elif phase is DELIBERATION:
            self._announced.append((kind, None))
        elif phase is ACTION:
            call = identifier(find("id"))
            self._announced.append((kind, call))
            self._calls[index] = ToolCall(self._tool(kind, find), call)
        return SILENT if phase is None else phase

    def _tool(self, kind: str, find: Find) -> str:
        """The called tool as it was offered: a toolset's member by the toolset, an MCP tool by its server."""
        if kind == "server_tool_use":
            return offers.called(find("name"), self._offered, SERVER_TOOLS)
        if kind == "mcp_tool_use":
            return offers.called(find("server_name"), self._offered)
        name = offers.called(find("name"), self._offered)
        return self._toolset(find("toolset_name")) if name == OTHER else name

    def _toolset(self, family: Any) -> str:
        if not isinstance(family, str) or not family:
            return OTHER
        return next((name for name in self._offered or () if name.startswith(f"{family}_toolset_")), OTHER)

    def _count(self, source: Any, counts: usage.Table) -> None:
        if source is None:
            return
        find = finder(source)
        usage.gather(self._usage, find, counts)
        usage.gather_compaction(self._usage, find)
        self._tier = word(find("service_tier")) or self._tier

    def _transformations(self, find: Find) -> None:
        changed = items(find("input_transformations"))
        if changed:
            self._dropped = sum(get(change, "type") == "thinking_dropped" for change in changed)

    def finish(self) -> ResponseFacts:
        """The facts seen so far. Before ``message_delta`` there is neither a stop reason nor an output count."""
        reasons: tuple[FinishReason, ...] = ("error",) if self._error else (finish.normal(finish.MESSAGES, self._stop),)
        kinds = [kind for index, kind in self._kinds.items() if kind is not VISIBLE or index in self._spoken]
        return ResponseFacts(
            response_model=self._model,
            response_id=self._id,
            finish_reasons=reasons,
            finish_reasons_raw=finish.parallel([self._stop]),
            truncated_by=finish.truncated_by(reasons, [self._stop]),
            response_tier=self._tier,
            provider_dropped_items=self._dropped,
            blocks=blocks.counted(kinds),
            tool_calls=list(self._calls.values()),
            announced=self._announced,
            usage=usage.messages_form(self._usage),
            error_type=self._error,
        )
