"""How much of a turn's input had been sent before, by what is known when it ends.

The report on a recorded run (:mod:`otel_agent.analysis.economics`) goes by the same rule: a turn sends again the input of the last turn of
its conversation, as far as it still sends that much. Where a conversation begins, nothing. The conversation's last turn is the one with
as many messages as this request leads with unchanged; where that cannot be told, it is the last turn of any.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from otel_agent.protocol import RequestFacts
from otel_agent.records.closed import GENERATING

MOST: Final = 1024
"""Lengths of conversations that are kept in mind."""


class Sent(NamedTuple):
    """What a turn sent: so many messages, the first ``follows`` of them as before. ``begins``: it is its conversation's first."""

    turn: int
    messages: int | None
    follows: int | None
    begins: bool


def sent_by(turn: int | None, facts: RequestFacts, values: Mapping[str, Any]) -> Sent | None:
    """What a request sent, by the ``values`` of its record; ``None`` for one that reads no conversation."""
    if turn is None or facts.operation not in GENERATING:
        return None
    stable = values.get("stable_prefix")
    begins = stable is None and facts.previous_response_id is None and "history_digest" in values
    return Sent(turn, values.get("message_count"), None if "first_changed" in values else stable, begins)


class Resent:
    """The inputs of a run's turns by how many messages they sent: of each length, and of all, that of the last turn. Takes no lock."""

    __slots__ = ("_by_count", "_last")

    def __init__(self) -> None:
        self._by_count: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._last: tuple[int, int] | None = None

    def of(self, sent: Sent, input_tokens: int) -> int | None:
        """How much of this input was sent before, ``None`` where that is nothing; the turn is then one of those before."""
        before = None if sent.begins else self._before(sent)
        self._keep(sent, (sent.turn, input_tokens))
        return None if before is None else min(before[1], input_tokens)

    def _before(self, sent: Sent) -> tuple[int, int] | None:
        found = None if sent.follows is None else self._by_count.get(sent.follows)
        return found or self._last

    def _keep(self, sent: Sent, made: tuple[int, int]) -> None:
        """The last by number: turns that run side by side end in any order."""
        self._last = max(self._last or made, made)
        if sent.messages is None:
            return
        self._by_count[sent.messages] = max(self._by_count.get(sent.messages, made), made)
        self._by_count.move_to_end(sent.messages)
        if len(self._by_count) > MOST:
            self._by_count.popitem(last=False)
