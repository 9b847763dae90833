"""Responses kept by the server: read again by id, resumed as a stream, answered in the background, continued."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from otel_agent.testing.standin.replay import Bounded
from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import Failure, Reply
from otel_agent.testing.standin.wire import openai_responses
from otel_agent.testing.standin.wire.turn import Turn


@dataclass(slots=True)
class Stored:
    """One response. `polls` is how often it is still in progress; `items` is the conversation up to and with it."""

    reply: Reply
    turn: Turn
    items: tuple[Any, ...]
    polls: int
    cancelled: bool = False

    def now(self) -> dict[str, Any]:
        """The response as it stands, one poll nearer to its end."""
        whole = openai_responses.body(self.reply, self.turn)
        if self.cancelled:
            return openai_responses.unfinished(whole, "cancelled")
        self.polls -= 1
        return whole if self.polls < 0 else openai_responses.unfinished(whole, "in_progress")


class StoredResponses:
    """By id, bounded."""

    def __init__(self, limit: int = 2_000) -> None:
        self._lock = threading.Lock()
        self._kept: Bounded[Stored] = Bounded(limit)

    def keep(self, reply: Reply, turn: Turn, conversation: Sequence[Any]) -> dict[str, Any]:
        """Store a response and return the body that answers its request, a queued one in the background."""
        whole = openai_responses.body(reply, turn)
        behind = whole.get("background") is True and not turn.request.stream
        with self._lock:
            items = (*conversation, *whole["output"])
            self._kept[str(whole["id"])] = Stored(reply, turn, items, reply.polls if behind else 0)
        return openai_responses.unfinished(whole, "queued") if behind else whole

    def conversation(self, request: Request) -> tuple[Any, ...]:
        """The items that came before, when the request continues a stored response, then its own."""
        with self._lock:
            before = self._kept.get(str(request.field("previous_response_id")))
        return (*(before.items if before else ()), *request.messages)

    def read(self, name: str) -> dict[str, Any] | None:
        """A response as it stands."""
        with self._lock:
            found = self._kept.get(name)
            return found.now() if found else None

    def cancel(self, name: str) -> dict[str, Any] | None:
        """Cancel a response that is not done, and return it."""
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                return None
            found.cancelled = found.polls > 0
            return found.now()

    def resume(self, name: str, starting_after: int) -> Iterator[bytes] | None:
        """The events of a response that come after a sequence number."""
        with self._lock:
            found = self._kept.get(name)
        events = openai_responses.events(found.reply, found.turn) if found else None
        return None if events is None else islice(events, starting_after + 1, None)


def not_found(name: str) -> Failure:
    """What a provider says of an id that it does not know."""
    return Failure(404, "invalid_request_error", f"Response with id '{name}' not found.", param="response_id")
