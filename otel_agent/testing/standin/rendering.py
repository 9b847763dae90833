"""The table of wire formats: how each writes a reply, a stream and an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from otel_agent.testing.standin.script import Failure, Reply, StreamError
from otel_agent.testing.standin.wire import anthropic, openai_chat, openai_responses
from otel_agent.testing.standin.wire.turn import Turn


@dataclass(frozen=True, slots=True)
class Format:
    """One wire format."""

    body: Callable[[Reply, Turn], dict[str, Any]]
    payloads: Callable[[Reply, Turn], Iterator[dict[str, Any]]]
    events: Callable[[Reply, Turn], Iterator[bytes]]
    error_body: Callable[[Failure, str, str], dict[str, Any]]
    error_event: Callable[[StreamError], bytes]
    request_id_header: str


FORMATS: Mapping[str, Format] = {
    anthropic.DIALECT: Format(
        anthropic.body,
        anthropic.payloads,
        anthropic.events,
        anthropic.error_body,
        anthropic.error_event,
        "request-id",
    ),
    openai_chat.DIALECT: Format(
        openai_chat.body,
        openai_chat.payloads,
        openai_chat.events,
        openai_chat.error_body,
        openai_chat.error_event,
        "x-request-id",
    ),
    openai_responses.DIALECT: Format(
        openai_responses.body,
        openai_responses.payloads,
        openai_responses.events,
        openai_chat.error_body,
        openai_responses.error_event,
        "x-request-id",
    ),
}


def format_for(dialect: str | None) -> Format:
    """The format of a dialect; routes that have none answer in OpenAI's manner."""
    return FORMATS.get(dialect or "", FORMATS[openai_chat.DIALECT])
