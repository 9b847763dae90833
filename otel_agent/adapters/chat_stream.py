"""One chat completion, whole or as it comes: the reading both share.

Compatible servers send thinking text in members outside the interface's types (:data:`DELIBERATION_KEYS`). Those are looked for by
name and never read, so a server that sends such a member as null beside an answer counts as having deliberated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from otel_agent.adapters import chat_calls, errors, finish, usage
from otel_agent.adapters.blocks import counted
from otel_agent.adapters.members import extras, has_any, member
from otel_agent.fields import get, identifier, items, model_name, word
from otel_agent.protocol import ACTION, DELIBERATION, DUE_MEMBERS, SILENT, VISIBLE, Answer, Phase, RequestFacts, ResponseFacts
from otel_agent.records.closed import FinishReason

DELIBERATION_KEYS: Final = (
    "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking", "thinking_blocks", "thought", "analysis",
    "cot_summary", "reasoning_opaque", "tool_plan",
)  # fmt: skip
PARTS: Final[dict[str, Phase]] = {
    "text": VISIBLE,
    "refusal": VISIBLE,
    "thinking": DELIBERATION,
    "reasoning": DELIBERATION,
    "reference": SILENT,
}
"""Where content is a list of parts (Mistral)."""

BETTER: Final[dict[str | None, tuple[str, ...]]] = {
    None: DUE_MEMBERS,
    **{name: DUE_MEMBERS[:place] for place, name in enumerate(DUE_MEMBERS)},
}
"""Members that count before the one seen so far, for a server that sends the same reasoning in several, each in chunks of its own."""


class _Choice:
    """What one choice has shown so far."""

    __slots__ = ("calls", "deliberated", "owed", "parts", "reason", "refused", "spoken", "started")

    def __init__(self) -> None:
        self.calls = chat_calls.Calls()
        self.parts: list[Phase | None] = []
        self.reason: str | None = None
        self.owed: str | None = None
        self.started = self.spoken = self.refused = self.deliberated = False

    def normal(self) -> FinishReason:
        """The normal reason, where some servers say ``stop`` for a tool call or a refusal."""
        reason = finish.normal(finish.CHAT, self.reason)
        if reason != "stop":
            return reason
        return "content_filter" if self.refused else "tool_call" if self.calls.made else "stop"

    def announced(self) -> list[tuple[str, str | None]]:
        """The member with the reasoning that must come back with the calls, and the calls."""
        calls: list[tuple[str, str | None]] = [("function_call", call.call_id) for call in self.calls.made]
        return [(self.owed, None), *calls] if self.owed is not None and calls else []

    def kinds(self) -> list[Phase | None]:
        """Its blocks by kind."""
        kinds = [*self.parts, *[ACTION] * self.calls.count]
        if self.spoken:
            kinds.append(VISIBLE)
        if self.deliberated:
            kinds.append(DELIBERATION)
        return kinds


class ChatStream:
    """One completion as it comes, whatever the number of choices. Only the first choice's text goes to the answer."""

    __slots__ = ("_answer", "_asked", "_choices", "_closing", "_error", "_identity", "_offered", "_usage")

    def __init__(self, request: RequestFacts, answer: Answer | None) -> None:
        # With Groq's raw format the thinking stands in the content, so the content is not looked at either.
        self._answer = None if request.reasoning_mode == "raw" else answer
        self._asked = request.choice_count
        self._offered = request.tool_names
        self._choices: dict[int, _Choice] = {}
        self._identity: list[str | None] = [None, None, None]
        self._usage: usage.Tally = {}
        self._error: str | None = None
        self._closing = False

    def feed(self, event: Any) -> Phase:
        """Read one chunk."""
        if self._identity[0] is None:
            self.read_head(event)
        elif type(event) is not dict and self._spoke(event):
            return VISIBLE
        if issubclass(type(event), dict):
            choices, counts = dict.get(event, "choices"), dict.get(event, "usage")
        else:
            choices, counts = getattr(event, "choices", None), getattr(event, "usage", None)
        choices = items(choices)
        phase, self._closing = SILENT, not choices
        for position, choice in enumerate(choices):
            phase = self.read_choice(choice, "delta", position) or phase
        if counts is not None or self._closing:
            self.read_tail(event)
        return phase

    def _spoke(self, event: Any) -> bool:
        """Read a chunk that is nothing but a piece of one choice's text, as nearly all are, with as few steps as there can be."""
        try:
            if event.usage is not None or len(event.choices) != 1:
                return False
            source = event.choices[0]
            text, choice = source.delta.content, self._choices.get(source.index)
            if source.finish_reason is not None or type(text) is not str or not text or choice is None:
                return False
        except (AttributeError, LookupError, TypeError):  # it lacks a member, or has one of another type
            return False
        choice.spoken = choice.started = True
        self._closing = False
        if source.index == 0 and self._answer is not None:
            self._answer.update(text)
        return True

    def read_head(self, source: Any) -> None:
        """Identity, as soon as a chunk has it."""
        for place, (name, reader) in enumerate((("model", model_name), ("id", identifier), ("service_tier", word))):
            value = reader(get(source, name))
            if value is not None:
                self._identity[place] = value

    def read_tail(self, source: Any) -> None:
        """Usage, in the places servers put it, and a failure that came as data."""
        counts = get(source, "usage")
        if counts is not None:
            usage.gather_chat(self._usage, counts)
        added = extras(source)
        if (vendor := dict.get(added, "x_groq")) is not None:
            self._read_vendor(vendor)
        if (error := dict.get(added, "error")) is not None:
            self._error = errors.reported(error)

    def _read_vendor(self, vendor: Any) -> None:
        """Groq's own member: usage and failures of a stream."""
        usage.gather_chat(self._usage, get(vendor, "usage"))
        if get(vendor, "error") is not None:
            self._error = errors.reported(get(vendor, "error"))

    def read_choice(self, source: Any, holder: Literal["message", "delta"], position: int) -> Phase:
        """One choice, whole (with a ``message``) or a piece of it (with a ``delta``)."""
        # Spelled out for both forms, since it runs for every chunk.
        message: Any
        if issubclass(type(source), dict):
            index, reason, message = dict.get(source, "index"), dict.get(source, "finish_reason"), dict.get(source, holder)
        else:
            index, reason, message = getattr(source, "index", None), getattr(source, "finish_reason", None), getattr(source, holder, None)
        content = dict.get(message, "content") if issubclass(type(message), dict) else getattr(message, "content", None)
        whole = holder == "message"
        place = index if type(index) is int else position
        choice = self._choices.get(place) or self._choices.setdefault(place, _Choice())
        if reason is not None:
            choice.reason = finish.spelled(reason) or choice.reason
            self._closing = True
        if type(content) is str and content:
            choice.spoken = choice.started = True
            if place == 0 and self._answer is not None:
                self._answer.update(content)
            if not whole:
                return VISIBLE
        phase = self._unspoken(choice, message, content, quiet=not whole and (reason is not None or not choice.started))
        choice.started = True
        return phase

    def _unspoken(self, choice: _Choice, message: Any, content: Any, *, quiet: bool) -> Phase:
        """Everything but plain text. Pieces that open or close a choice are ``quiet``: their thinking members are often null."""
        if issubclass(type(content), list):
            return self._read_parts(choice, items(content))
        phase = SILENT
        if not quiet and has_any(message, DELIBERATION_KEYS):
            choice.deliberated, phase = True, DELIBERATION
        if choice.calls.read(message, self._offered):
            return ACTION
        if phase is DELIBERATION and has_any(message, better := BETTER[choice.owed]):
            # A piece with nothing else in it, so the member is no mere null.
            choice.owed = next(name for name in better if has_any(message, (name,)))
        if phase is SILENT and self._speaks_otherwise(choice, message):
            choice.spoken = True
            return VISIBLE
        return phase

    @staticmethod
    def _speaks_otherwise(choice: _Choice, message: Any) -> bool:
        """A refusal or sound instead of text."""
        if get(message, "refusal"):
            choice.refused = True
            return True
        return member(message, "audio") is not None

    def _read_parts(self, choice: _Choice, parts: Sequence[Any]) -> Phase:
        """Content as a list of parts; only those of type text are read."""
        phase: Phase | None = SILENT
        for part in parts:
            kind = get(part, "type")
            phase = PARTS.get(kind) if isinstance(kind, str) else None
            if phase is VISIBLE:
                choice.spoken = True
                self._hear(get(part, "text") if kind == "text" else None)
            elif phase is DELIBERATION:
                choice.deliberated = True
            else:
                choice.parts.append(phase)
        return phase or SILENT

    def _hear(self, text: Any) -> None:
        if type(text) is str and self._answer is not None:
            self._answer.update(text)

    def finish(self) -> ResponseFacts:
        """The facts seen so far."""
        found = [self._choices.get(index) for index in finish.places(self._asked, self._choices)]
        raws = [None if choice is None else choice.reason for choice in found]
        reasons = self._reasons(found)
        seen = [choice for choice in found if choice is not None]
        model, response_id, tier = self._identity
        return ResponseFacts(
            response_model=model,
            response_id=response_id,
            finish_reasons=reasons,
            finish_reasons_raw=finish.parallel(raws),
            truncated_by=finish.truncated_by(reasons, raws),
            response_tier=tier,
            blocks=counted([kind for choice in seen for kind in choice.kinds()]),
            tool_calls=[call for choice in seen for call in choice.calls.made],
            announced=[each for choice in seen[:1] for each in choice.announced()],
            usage=usage.inclusive_form(self._usage),
            error_type=self._error,
        )

    def _reasons(self, found: list[_Choice | None]) -> tuple[FinishReason, ...]:
        """One per choice asked for. Where no choice came at all, nothing is known of any; beside others, a missing one failed."""
        failed: FinishReason = "error"
        if self._error is not None:
            return (failed,) * len(found)
        missing: FinishReason = failed if self._choices else "unknown"
        return tuple([missing if choice is None else choice.normal() for choice in found])
