"""What a provider keeps between requests: the prompt cache, the reasoning that it issued, stored responses."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from otel_agent.testing.standin.counting import PromptCache, TokenRule, segments_of, settle
from otel_agent.testing.standin.replay import Issued
from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import Failure, Reply
from otel_agent.testing.standin.stored import Conversations, StoredResponses
from otel_agent.testing.standin.wire.flavours import Flavour
from otel_agent.testing.standin.wire.turn import Counted


@dataclass(frozen=True, slots=True)
class Habits:
    """How this provider behaves, whatever the script."""

    seed: str
    models: Mapping[str, str]
    tokens: TokenRule
    caching: bool
    check_replay: bool


@dataclass(slots=True)
class Memory:
    """Shared by all requests, safe to use from many threads."""

    habits: Habits
    responses: StoredResponses = field(default_factory=StoredResponses)
    conversations: Conversations = field(default_factory=Conversations)
    _cache: PromptCache = field(default_factory=PromptCache)
    _issued: Issued = field(default_factory=Issued)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, request: Request) -> int:
        """Input tokens of a request."""
        return sum(self.habits.tokens(segments_of(request)))

    def usage(self, reply: Reply, request: Request) -> Counted | None:
        """A reply's usage with every number settled; from now on the request's prefixes are in the cache."""
        segments = segments_of(request)
        tokens = self.habits.tokens(segments)
        with self._lock:
            read = self._cache.read(request.model, segments, tokens) if self.habits.caching else 0
        return settle(reply, segments, tokens, read)

    def remember(self, request: Request, body: dict[str, Any]) -> None:
        """Keep the reasoning that an answer hands out, and the conversation where the server is to hold it."""
        with self._lock:
            self._issued.remember(request.dialect, body)
        self.conversations.keep(request, body)

    def objection(self, request: Request, flavour: Flavour) -> Failure | None:
        """The error that a lost conversation gets, or a broken replay, if that is checked."""
        lost = self.conversations.lost(request)
        if lost is not None or not self.habits.check_replay:
            return lost
        with self._lock:
            return self._issued.objection(request, flavour)
