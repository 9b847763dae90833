"""Responses that the provider keeps, by id: which ends this process has recorded, and which are to come.

A fetch shows the same response, with the same usage, as often as somebody asks. Its end is recorded once.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from otel_agent.instrument.resent import Sent
from otel_agent.protocol import RequestFacts

MOST: Final = 10_000
"""Responses of each kind that are kept in mind."""


class Asked(NamedTuple):
    """What is known of a response whose end has not been seen."""

    facts: RequestFacts
    run_id: str | None
    turn: int | None
    usage_missing: bool
    sent: Sent | None = None


class Responses:
    """Safe to use from many threads, finalisers and forked processes: no locks, only steps that are one for a dictionary."""

    __slots__ = ("_asked", "_told")

    def __init__(self) -> None:
        self._asked: OrderedDict[str, Asked] = OrderedDict()
        self._told: OrderedDict[str, object] = OrderedDict()

    def begin(self, response_id: str, asked: Asked) -> None:
        """A response was asked for, and did not end before our eyes."""
        self._asked[response_id] = asked
        _trim(self._asked)

    def asked(self, response_id: str) -> Asked | None:
        """What was asked for, while its end is to come."""
        return self._asked.get(response_id)

    def tell(self, response_id: str) -> bool:
        """Whether this end is the first to be told. True once for each id."""
        self._asked.pop(response_id, None)
        mine = object()
        first = self._told.setdefault(response_id, mine) is mine
        _trim(self._told)
        return first


def _trim(kept: OrderedDict[str, Any]) -> None:
    """Forget the oldest where there are too many."""
    if len(kept) > MOST:
        kept.popitem(last=False)
