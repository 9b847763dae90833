"""A provider stand-in: a loopback server that speaks the providers' real wire formats.

Anthropic Messages, OpenAI Chat Completions (with the habits of compatible servers) and OpenAI Responses, so that
unmodified SDKs work against it by `base_url` alone.

It needs nothing but the standard library. `Standin` is the server; what it answers is written with `Reply`, `Failure`
and the other steps of `script`.
"""

from __future__ import annotations

from otel_agent.testing.standin.counting import PerTurn, Segment, TokenRule, by_characters
from otel_agent.testing.standin.recording import Exchange
from otel_agent.testing.standin.request import SCRIPT_HEADER, Request, ToolResult
from otel_agent.testing.standin.script import (
    Body,
    BreakOff,
    Chopped,
    Failure,
    Held,
    RawBlock,
    RawStream,
    Redacted,
    Refusal,
    Reply,
    Script,
    SlowReply,
    Step,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from otel_agent.testing.standin.standin import Standin
from otel_agent.testing.standin.wire.flavours import FLAVOURS, Flavour

__all__ = [
    "FLAVOURS",
    "SCRIPT_HEADER",
    "Body",
    "BreakOff",
    "Chopped",
    "Exchange",
    "Failure",
    "Flavour",
    "Held",
    "PerTurn",
    "RawBlock",
    "RawStream",
    "Redacted",
    "Refusal",
    "Reply",
    "Request",
    "Script",
    "Segment",
    "SlowReply",
    "Standin",
    "Step",
    "StreamError",
    "Text",
    "Thinking",
    "TokenRule",
    "ToolResult",
    "ToolUse",
    "Usage",
    "by_characters",
]
