"""From the method and URL of a request to the interface it speaks; ``None`` for everything that is no model turn.

The last segments decide, so a prefix (``/openai/v1``, ``/deployments/x``, a whole address) and a query do not matter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from otel_agent.records.closed import Api

_POST: Final[tuple[tuple[tuple[str, ...], Api], ...]] = (
    (("v1", "messages"), "messages"),
    (("chat", "completions"), "chat_completions"),
    (("responses", "compact"), "responses"),
    (("responses",), "responses"),
    (("completions",), "completions"),
    (("embeddings",), "embeddings"),
)


@lru_cache(maxsize=512)
def api_of(method: str, url: str) -> Api | None:
    """Which interface a request speaks. Fetching a stored response (``GET /responses/{id}``) speaks Responses."""
    segments = _segments(url)
    verb = method.upper()
    if verb == "GET":
        return "responses" if len(segments) > 1 and segments[-2] == "responses" else None
    return _posted(segments) if verb == "POST" else None


def _segments(url: str) -> tuple[str, ...]:
    path = url.partition("#")[0].partition("?")[0]
    return tuple(part for part in path.split("/") if part)


def _posted(segments: tuple[str, ...]) -> Api | None:
    return next((api for tail, api in _POST if segments[-len(tail) :] == tail), None)
