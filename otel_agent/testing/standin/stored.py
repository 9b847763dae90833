"""What the server keeps by the id of an answer: responses to read again, conversations to go on with."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from otel_agent.testing.standin.bounded import Bounded
from otel_agent.testing.standin.request import Request, as_dict, as_list
from otel_agent.testing.standin.script import Failure, Reply
from otel_agent.testing.standin.wire import openai_responses
from otel_agent.testing.standin.wire.turn import Turn

Json = dict[str, Any]


@dataclass(slots=True)
class Stored:
    """One response of OpenAI Responses. `polls` is how often it is still in progress when it is asked for."""

    reply: Reply
    turn: Turn
    polls: int
    cancelled: bool = False

    def now(self) -> Json:
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

    def keep(self, reply: Reply, turn: Turn, whole: Json) -> Json:
        """Store a response and return the body that answers its request, a queued one in the background."""
        behind = whole.get("background") is True and not turn.request.stream
        with self._lock:
            self._kept[str(whole["id"])] = Stored(reply, turn, reply.polls if behind else 0)
        return openai_responses.unfinished(whole, "queued") if behind else whole

    def read(self, name: str) -> Json | None:
        """A response as it stands."""
        with self._lock:
            found = self._kept.get(name)
            return found.now() if found else None

    def cancel(self, name: str) -> Json | None:
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


@dataclass(frozen=True, slots=True)
class _Conversation:
    messages: tuple[Mapping[str, Any], ...]
    fields: Mapping[str, Any] = field(default_factory=dict)


_OF_ONE_TURN = {"messages", "thread", "stream"}


class Conversations:
    """Conversations by the id of their newest answer: Anthropic threads, OpenAI's `previous_response_id`."""

    def __init__(self, limit: int = 2_000) -> None:
        self._lock = threading.Lock()
        self._kept: Bounded[_Conversation] = Bounded(limit)

    def recall(self, request: Request) -> Request:
        """The request with what was kept of the conversation that it continues."""
        with self._lock:
            found = self._kept.get(request.continues or "")
        return replace(request, held_messages=found.messages, held_fields=found.fields) if found else request

    def keep(self, request: Request, whole: Json) -> None:
        """Keep the conversation up to and with this answer, where the request asks for that."""
        kept = _kept(request, whole)
        if kept is not None:
            with self._lock:
                self._kept[str(whole.get("id"))] = kept

    def lost(self, request: Request) -> Failure | None:
        """The error for a request that goes on from an answer that is not known."""
        with self._lock:
            missing = request.continues is not None and request.continues not in self._kept
        return _lost(request) if missing else None


def _kept(request: Request, whole: Json) -> _Conversation | None:
    if request.dialect == "openai.responses" and request.sent("store") is not False:
        return _Conversation((*request.conversation, *as_list(whole.get("output"))))
    if request.dialect == "anthropic" and request.sent("thread"):
        answer = {"role": "assistant", "content": whole.get("content")}
        fields = {**request.held_fields, **as_dict(request.json)}
        lasting = {name: value for name, value in fields.items() if name not in _OF_ONE_TURN}
        return _Conversation((*request.conversation, answer), lasting)
    return None


def _lost(request: Request) -> Failure:
    if request.dialect == "anthropic":
        return Failure(404, "not_found_error", "No usable thread state was found.", code="thread_not_found")
    words = f"Previous response with id '{request.continues}' not found."
    return Failure(400, None, words, code="previous_response_not_found", param="previous_response_id")
