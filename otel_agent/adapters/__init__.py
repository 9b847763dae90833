"""The interfaces we know, one module each, and the look-up by request. The table is the whole list: nothing is discovered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_agent.adapters import anthropic_messages, embeddings, openai_chat, openai_completions, openai_responses
from otel_agent.adapters.routes import api_of
from otel_agent.protocol import Adapter
from otel_agent.records.closed import Api

ADAPTERS: Final[Mapping[Api, Adapter]] = {
    "messages": anthropic_messages,
    "chat_completions": openai_chat,
    "responses": openai_responses,
    "completions": openai_completions,
    "embeddings": embeddings,
}


def lookup(method: str, url: str) -> Adapter | None:
    """The adapter for a request, ``None`` when it is no model turn."""
    api = api_of(method, url)
    return None if api is None else ADAPTERS[api]
