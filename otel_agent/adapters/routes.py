"""From the method and URL of a request to the interface it speaks, or to the response it fetches; ``None`` for everything else.

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
    """Which interface a request for a model turn speaks."""
    return _posted(_segments(url)) if method.upper() == "POST" else None


def fetched(method: str, url: str) -> str | None:
    """Name of the Responses response that a request reads again (``GET /responses/{id}``), or cancels and is shown."""
    segments = ("", "", *_segments(url))
    verb = method.upper()
    if verb == "GET":
        return segments[-1] if segments[-2] == "responses" else None
    cancels = verb == "POST" and segments[-1] == "cancel" and segments[-3] == "responses"
    return segments[-2] if cancels else None


def _segments(url: str) -> tuple[str, ...]:
    path = url.partition("#")[0].partition("?")[0]
    return tuple(part for part in path.split("/") if part)


def _posted(segments: tuple[str, ...]) -> Api | None:
    return next((api for tail, api in _POST if segments[-len(tail) :] == tail), None)
