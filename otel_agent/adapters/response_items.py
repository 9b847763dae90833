"""Output items of the Responses interface and the events that announce them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from otel_agent.adapters import offers
from otel_agent.adapters.members import member
from otel_agent.fields import get, identifier, items
from otel_agent.protocol import ACTION, DELIBERATION, RESULT, SILENT, VISIBLE, Answer, Phase, ToolCall


class Kind(NamedTuple):
    """What an item type means. ``tool`` names a hosted tool; ``named`` says which member names another one."""

    phase: Phase
    tool: str | None = None
    named: str | None = None
    awaits: bool = False
    """Whether the application owes a result before the model can go on."""


def _hosted(tool: str, *, awaits: bool = False) -> Kind:
    return Kind(ACTION, tool, None, awaits)


_RESULT: Final = Kind(RESULT)
_DELIBERATION: Final = Kind(DELIBERATION)

ITEMS: Final[dict[str, Kind]] = {
    "message": Kind(VISIBLE),
    "reasoning": _DELIBERATION,
    "compaction": _DELIBERATION,
    "agent_message": _DELIBERATION,
    "function_call": Kind(ACTION, None, "name", awaits=True),
    "custom_tool_call": Kind(ACTION, None, "name", awaits=True),
    "mcp_call": Kind(ACTION, None, "server_label"),
    "mcp_approval_request": Kind(ACTION, None, "server_label", awaits=True),
    "computer_call": _hosted("computer", awaits=True),
    "local_shell_call": _hosted("local_shell", awaits=True),
    "shell_call": _hosted("shell", awaits=True),
    "apply_patch_call": _hosted("apply_patch", awaits=True),
    "web_search_call": _hosted("web_search"),
    "file_search_call": _hosted("file_search"),
    "code_interpreter_call": _hosted("code_interpreter"),
    "image_generation_call": _hosted("image_generation"),
    "tool_search_call": _hosted("tool_search"),
    "multi_agent_call": _hosted("multi_agent"),
    "program": _hosted("program"),
    "function_call_output": _RESULT,
    "custom_tool_call_output": _RESULT,
    "computer_call_output": _RESULT,
    "local_shell_call_output": _RESULT,
    "shell_call_output": _RESULT,
    "apply_patch_call_output": _RESULT,
    "tool_search_output": _RESULT,
    "multi_agent_call_output": _RESULT,
    "program_output": _RESULT,
    "mcp_list_tools": _RESULT,
    "mcp_approval_response": _RESULT,
    "additional_tools": Kind(SILENT),
}
PARTS: Final[dict[str, Phase]] = {
    "output_text": VISIBLE,
    "text": VISIBLE,
    "refusal": VISIBLE,
    "output_audio": VISIBLE,
    "reasoning_text": DELIBERATION,
    "summary_text": DELIBERATION,
}
_TEXT_PARTS: Final = ("output_text", "text")

EVENTS: Final[dict[str, Phase | Literal["item", "opening", "closing", "failure"]]] = {
    "response.created": "opening",
    "response.queued": "opening",
    "response.in_progress": "opening",
    "response.completed": "closing",
    "response.incomplete": "closing",
    "response.failed": "closing",
    "error": "failure",
    "response.output_item.added": "item",
    "response.output_item.done": "item",
    "response.reasoning_text.delta": DELIBERATION,
    "response.reasoning_text.done": DELIBERATION,
    "response.reasoning_summary_part.added": DELIBERATION,
    "response.reasoning_summary_part.done": DELIBERATION,
    "response.reasoning_summary_text.delta": DELIBERATION,
    "response.reasoning_summary_text.done": DELIBERATION,
    "response.refusal.delta": VISIBLE,
    "response.audio.delta": VISIBLE,
    "response.audio.transcript.delta": VISIBLE,
    "response.function_call_arguments.delta": ACTION,
    "response.custom_tool_call_input.delta": ACTION,
    "response.mcp_call_arguments.delta": ACTION,
    "response.mcp_call.in_progress": ACTION,
    "response.code_interpreter_call_code.delta": ACTION,
    "response.code_interpreter_call.in_progress": ACTION,
    "response.code_interpreter_call.interpreting": ACTION,
    "response.web_search_call.in_progress": ACTION,
    "response.web_search_call.searching": ACTION,
    "response.file_search_call.in_progress": ACTION,
    "response.file_search_call.searching": ACTION,
    "response.image_generation_call.in_progress": ACTION,
    "response.image_generation_call.generating": ACTION,
    "response.image_generation_call.partial_image": ACTION,
    "response.shell_call_command.delta": ACTION,
    "response.shell_call_output_content.delta": RESULT,
}
"""What an event shows, or what is to be read from it; all others are book-keeping."""


class Items:
    """The output items seen, by their place. An item read again (added, then done) replaces itself."""

    __slots__ = ("_answer", "_calls", "_kinds", "_offered", "_spoken", "refused")

    def __init__(self, offered: Callable[[], tuple[str, ...]], answer: Answer | None) -> None:
        self._offered = offered
        self._answer = answer
        self._kinds: dict[int, list[Phase | None]] = {}
        self._calls: dict[int, tuple[ToolCall, bool]] = {}
        self._spoken: set[int] = set()
        self.refused = False

    def read(self, index: int, item: Any) -> Phase:
        """One item by its type."""
        name = get(item, "type")
        kind = ITEMS.get(name) if isinstance(name, str) else None
        if kind is None:
            self._kinds[index] = [None]
            return SILENT
        if kind.phase is VISIBLE:
            return self._message(index, item)
        self._kinds[index] = [kind.phase]
        if kind.phase is ACTION:
            self._calls[index] = (self._call(kind, item), kind.awaits)
        return kind.phase

    def _call(self, kind: Kind, item: Any) -> ToolCall:
        name = kind.tool or offers.called(get(item, kind.named or "name"), self._offered())
        member = "call_id" if kind.awaits and kind.named != "server_label" else "id"
        return ToolCall(name, identifier(get(item, member)))

    def _message(self, index: int, item: Any) -> Phase:
        """A message by its parts. A commentary is working text: none of it is looked at."""
        if member(item, "phase") == "commentary":
            self._kinds[index] = [DELIBERATION]
            return DELIBERATION
        parts = [self._part(part) for part in items(get(item, "content"))]
        self._kinds[index] = [kind for kind in parts if kind is not SILENT]
        return VISIBLE

    def _part(self, part: Any) -> Phase | None:
        name = get(part, "type")
        kind = PARTS.get(name) if isinstance(name, str) else None
        if name == "refusal":
            self.refused = True
        if name not in _TEXT_PARTS:
            return kind
        text = get(part, "text")
        if type(text) is not str or not text:
            return SILENT
        if self._answer is not None:
            self._answer.update(text)
        return kind

    def phase(self, index: Any) -> Phase:
        """What a text delta for this place is: visible, unless its item was announced as commentary."""
        kinds = self._kinds.get(index) if type(index) is int else None
        return DELIBERATION if kinds and kinds[0] is DELIBERATION else VISIBLE

    def spoke(self, index: Any) -> None:
        """Visible text came for this place."""
        self._spoken.add(index if type(index) is int else -1)

    def kinds(self) -> list[Phase | None]:
        """All blocks by kind; a message that only its deltas told of counts once."""
        told = [kind for kinds in self._kinds.values() for kind in kinds]
        return [*told, *(VISIBLE for index in self._spoken if not self._kinds.get(index))]

    def calls(self) -> list[ToolCall]:
        """The calls in the order of their items."""
        return [call for call, _ in self._calls.values()]

    def awaits_result(self) -> bool:
        """Whether a call is the application's to answer."""
        return any(awaits for _, awaits in self._calls.values())
