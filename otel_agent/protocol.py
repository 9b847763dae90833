"""What an adapter is: pure functions from one provider interface's shapes to facts.

An adapter knows request bodies, response objects and stream events of one interface. It reads named members from an allow-list and
decides by the ``type`` string. It knows no spans, no clock, no provider package. The facts it fills in are plain slotted objects whose
field names are those of :class:`otel_agent.records.ModelTurn`; its form holds each against its type once, on its way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, Protocol

from otel_agent.records.closed import Api, FinishReason, ModelKind, Operation, TruncatedBy, UsageState
from otel_agent.stored import plain, read


class Phase(IntEnum):
    """What a stream is producing: read from a block's announced type, never from the shape of a delta."""

    SILENT = 0
    """Book-keeping: nothing produced (opening, closing, ping, usage)."""
    DELIBERATION = 1
    VISIBLE = 2
    ACTION = 3
    RESULT = 4


# For code that runs per chunk: looking a member up on its class runs Python code, and takes as long as reading the whole chunk.
SILENT: Final = Phase.SILENT
DELIBERATION: Final = Phase.DELIBERATION
VISIBLE: Final = Phase.VISIBLE
ACTION: Final = Phase.ACTION
RESULT: Final = Phase.RESULT


DUE_MEMBERS: Final = ("reasoning_details", "thinking_blocks", "reasoning_content")
"""Where a chat message carries reasoning that must come back; the first that is there counts, since the others repeat it.

``reasoning`` and ``thinking`` (vLLM, Groq, Ollama) may come back or not, so they are not due."""


DIRECTIVES: Final = frozenset({"configuration_update", "additional_tools", "tool_search_output"})
"""Types of Responses items that change settings or tools on the way."""
_SYSTEM: Final = frozenset({"system", "developer"})


def is_directive(item: Any) -> bool:
    """True for a message or item that may change effort or tools on the way: one of those types, or of the system's own role.

    The history asks this of each message once, so that no adapter looks through all of them at every turn.
    """
    kind = plain(read(item, "type"))
    if type(kind) is str and kind != "message":  # of an item that carries reasoning nothing but the type is read
        return kind in DIRECTIVES
    role = plain(read(item, "role"))
    return type(role) is str and role in _SYSTEM


OPEN: Final[frozenset[FinishReason]] = frozenset({"pending", "unknown"})
"""Reasons of a response that is not over, or of which nobody saw the end."""


@dataclass(slots=True)
class RequestFacts:
    """What the request says. ``None`` where it says nothing."""

    operation: Operation
    api: Api
    request_model: str | None = None
    model_kind: ModelKind = "unknown"
    stream: bool | None = None
    max_tokens: int | None = None
    choice_count: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_level: str | None = None
    reasoning_budget: int | None = None
    reasoning_mode: str | None = None
    output_type: str | None = None
    service_tier: str | None = None
    previous_response_id: str | None = None
    tool_names: tuple[str, ...] | None = None
    tool_count: int | None = None


@dataclass(slots=True)
class Conversation:
    """References into the request body for :mod:`otel_agent.history`: the caller's own objects, never copied or kept as text.

    ``items`` are messages or Responses items; ``server_held`` says that earlier items live at the provider
    (``previous_response_id``, ``conversation``, threads), so that a short list is no broken prefix.
    """

    items: list[Any] | tuple[Any, ...]
    system: Any = None
    tools: Any = None
    server_held: bool = False


@dataclass(slots=True)
class Blocks:
    """How many blocks of each kind a response has."""

    visible: int = 0
    action: int = 0
    result: int = 0
    deliberation: int = 0
    unknown: int = 0


@dataclass(slots=True)
class ToolCall:
    """A tool the model asked for. ``name`` is :data:`otel_agent.fields.OTHER` when it was not offered."""

    name: str
    call_id: str | None = None


@dataclass(slots=True)
class Usage:
    """One normal form (input with cache, output with reasoning), raw numbers beside it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    audio_input_tokens: int | None = None
    audio_output_tokens: int | None = None
    raw_input_tokens: int | None = None
    raw_output_tokens: int | None = None
    raw_total_tokens: int | None = None
    web_searches: int | None = None

    @property
    def state(self) -> UsageState:
        """``complete`` with both totals, ``partial`` with one, ``missing`` with none."""
        known = (self.input_tokens is not None) + (self.output_tokens is not None)
        states: tuple[UsageState, ...] = ("missing", "partial", "complete")
        return states[known]


@dataclass(slots=True)
class ResponseFacts:
    """What the response says. Finish reasons are parallel: ``finish_reasons[i]`` is the normal form of ``finish_reasons_raw[i]``."""

    response_model: str | None = None
    response_id: str | None = None
    request_id: str | None = None
    finish_reasons: tuple[FinishReason, ...] = ()
    finish_reasons_raw: tuple[str, ...] = ()
    truncated_by: TruncatedBy | None = None
    effective_level: str | None = None
    response_tier: str | None = None
    provider_dropped_items: int | None = None
    blocks: Blocks = field(default_factory=Blocks)
    tool_calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    announced: list[tuple[str, str | None]] = field(default_factory=list)
    """Type and id of each reasoning block and tool call of a stream, in order: what the next request owes."""
    error_type: str | None = None
    """A failure reported as data (a Responses ``failed`` status, an ``error`` event that raises nothing)."""
    background: bool | None = None
    """True where the provider made it in the background, so that the call that asked for it saw none of this."""

    @property
    def ended(self) -> bool:
        """Whether the response has come to its end, good or bad, and says so."""
        return bool(self.finish_reasons) and not OPEN.intersection(self.finish_reasons)


@dataclass(slots=True)
class ErrorFacts:
    """What an exception says, without its message. ``partial`` holds facts of a response the exception carries along."""

    error_type: str
    status_code: int | None = None
    request_id: str | None = None
    partial: ResponseFacts | None = None


class Answer(Protocol):
    """Takes visible text as it comes and keeps a running digest and a length, never the text."""

    def update(self, text: str) -> None:
        """Add a piece of visible text."""


class StreamAccumulator(Protocol):
    """Facts of one stream, event by event. Buffers no text of any kind."""

    def feed(self, event: Any) -> Phase:
        """Read one event; say what it produced. Called once per chunk, so it must take well under a microsecond."""

    def finish(self) -> ResponseFacts:
        """The facts seen so far; callable at any time, and after an early end."""


class Adapter(Protocol):
    """One interface of one provider."""

    api: Api

    def read_request(self, body: dict[str, Any], directives: Sequence[Any] | None = None) -> RequestFacts:
        """Facts of a request body (JSON object, ``extra_body`` merged in).

        ``directives`` are those of its messages that :func:`is_directive` picks, in order, where somebody has looked already.
        """

    def conversation(self, body: dict[str, Any]) -> Conversation | None:
        """Where the history is, or ``None`` for an interface without one."""

    def read_response(self, response: Any, request: RequestFacts, answer: Answer | None) -> ResponseFacts:
        """Facts of a whole response: an SDK object or parsed JSON."""

    def accumulator(self, request: RequestFacts, answer: Answer | None) -> StreamAccumulator:
        """A fresh accumulator for one stream."""

    def read_error(self, error: BaseException, request: RequestFacts) -> ErrorFacts:
        """Facts of an exception the SDK raised."""
