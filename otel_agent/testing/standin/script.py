"""What the stand-in answers, in a small vocabulary of frozen values.

A *script* is a sequence of *steps*; each HTTP request that reaches it takes the next one. A step is a `Reply` (what a
model says, written once and rendered to every wire format), a `Failure`, a raw `Body` or `RawStream`, one of the
wrappers that disturb another step (`SlowReply`, `BreakOff`, `StreamError`, `Chopped`, `Held`), or a function of the
request that returns a step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from otel_agent.testing.standin.request import Request

Json: TypeAlias = Any
"""A JSON value. Scripts may hold values that a provider would never send, so it is not narrowed."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Deliberation. `summary` stands apart from `text` where a format has both; `signature` is made up if None."""

    text: str = ""
    signature: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class Redacted:
    """Deliberation that the provider returns sealed only."""

    data: str


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text. `phase` is OpenAI Responses' `commentary` or `final_answer`; `citations` are Anthropic's."""

    text: str
    phase: str | None = None
    citations: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. `args` as a string is sent as it is, so that it may be malformed JSON; `id` is made up if None."""

    name: str
    args: Mapping[str, Json] | str = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Text in the place where a format keeps refusals (Anthropic has none: a text block)."""

    text: str


@dataclass(frozen=True, slots=True)
class RawBlock:
    """A block or item given per dialect, verbatim; dialects that are not named skip it."""

    by_dialect: Mapping[str, Json]


Block: TypeAlias = Thinking | Redacted | Text | ToolUse | Refusal | RawBlock


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts in one normal form: `input` includes the cache, `output` includes reasoning. None: counted by rule.

    `extra` is merged into the rendered usage object as it stands (beta iterations, server tools, a null to provoke).
    """

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int = 0
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model says in one turn.

    `stop` uses Anthropic's words and is translated (`STOPS`); a word that is not known goes out as it is. None means
    `tool_use` when a tool is called, else `end_turn`. `usage=None` sends no usage at all. `model=None` echoes the
    request's (or what the stand-in's `models` says it resolves to). `extra` is merged into the body, per dialect.
    `alternatives` are the further choices of a chat completion with `n` above one. `delta_chars` is the length of
    the pieces in which a stream sends text. `polls` is how often a background response is still in progress when asked.
    """

    blocks: Sequence[Block] = ()
    stop: str | None = None
    usage: Usage | None = Usage()
    model: str | None = None
    stop_sequence: str | None = None
    stop_details: Mapping[str, Json] | None = None
    error: Mapping[str, Json] | None = None
    extra: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    alternatives: tuple[Reply, ...] = ()
    delta_chars: int = 24
    polls: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """An error answer. `type` and `message` have the provider's usual ones for `status` by default.

    `echo_request` puts the last thing the user said into the message, as providers do when they reject an input.
    """

    status: int = 500
    type: str | None = None
    message: str | None = None
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None
    echo_request: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Body:
    """An arbitrary answer: `content` is sent as JSON, or as it is when it is bytes."""

    content: Json
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class RawStream:
    """An arbitrary event stream, one flushed HTTP chunk for each element of `chunks`."""

    chunks: Sequence[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class SlowReply:
    """`before` seconds until the headers, then `delays[i]` before event i (the last one goes on for the rest)."""

    step: Answerable
    delays: Sequence[float] = ()
    before: float = 0.0


@dataclass(frozen=True, slots=True)
class BreakOff:
    """The answer ends after `after_events` events: the connection is cut, or, when `clean`, the body just ends.

    A body that is no stream is cut in the middle.
    """

    step: Answerable
    after_events: int = 1
    clean: bool = False


@dataclass(frozen=True, slots=True)
class StreamError:
    """After `after_events` events the provider's own error event, and nothing more."""

    step: Answerable
    after_events: int = 1
    type: str = "overloaded_error"
    message: str = "Overloaded"
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Chopped:
    """The same bytes, cut into HTTP chunks of `size` bytes wherever that falls: inside events, lines and characters."""

    step: Answerable
    size: int = 7


@dataclass(frozen=True, slots=True)
class Held:
    """Event `at_event` is not sent before `gate` is set (or `timeout` seconds are over)."""

    step: Answerable
    gate: threading.Event
    at_event: int = 0
    timeout: float = 10.0


Answerable: TypeAlias = (
    Reply | Failure | Body | RawStream | SlowReply | BreakOff | StreamError | Chopped | Held
)  # a step that is not a function
Step: TypeAlias = Answerable | Callable[[Request], Answerable]
Script: TypeAlias = Sequence[Step] | Callable[[Request], Answerable]
After: TypeAlias = Literal["fail", "repeat", "restart"]
"""What a script does once its steps are used up: fail loudly, repeat the last one, or begin again."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop reason in the words of each format; `incomplete` is Responses' `incomplete_details.reason`."""

    anthropic: str
    chat: str
    status: str = "completed"
    incomplete: str | None = None


STOPS: Mapping[str, Stop] = {
    "end_turn": Stop("end_turn", "stop"),
    "stop_sequence": Stop("stop_sequence", "stop"),
    "tool_use": Stop("tool_use", "tool_calls"),
    "max_tokens": Stop("max_tokens", "length", "incomplete", "max_output_tokens"),
    "model_context_window_exceeded": Stop("model_context_window_exceeded", "length", "incomplete", "max_messages"),
    "refusal": Stop("refusal", "content_filter", "incomplete", "content_filter"),
    "pause_turn": Stop("pause_turn", "stop", "incomplete", "steered"),
    "failed": Stop("end_turn", "stop", "failed"),
    "cancelled": Stop("end_turn", "stop", "cancelled"),
}


def stop_of(reply: Reply) -> Stop:
    """The reply's stop reason in every format's words."""
    called = any(isinstance(block, ToolUse) for block in reply.blocks)
    word = reply.stop or ("tool_use" if called else "end_turn")
    return STOPS.get(word, Stop(word, word, "incomplete", word))
