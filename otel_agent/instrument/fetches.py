"""A response that is fetched: polled, read again, resumed as a stream, or cancelled.

Reading a stored response is no model call, so a fetch has no span and no record, except for the one that first shows the end of a
response: that end is a fact of the turn which nobody has seen yet. It is a model turn's record, marked ``fetched``. It is no
``fetch_response``, on which the conventions allow no usage: whoever sums the usage of model calls must find this one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from opentelemetry import context as otel_context

from otel_agent.adapters import openai_responses, routes
from otel_agent.fields import OTHER, identifier
from otel_agent.instrument import runtime
from otel_agent.instrument.calls import Call
from otel_agent.protocol import ErrorFacts, ResponseFacts
from otel_agent.records import ModelTurn
from otel_agent.records.closed import StreamEnd


class Fetch(Call):
    """A fetch under way. Its span is made when there is something to record."""

    __slots__ = ("_asked", "_name", "_since", "_values")

    def __init__(self, client: Any, name: str) -> None:
        self._prepare(openai_responses)
        self._since = time.time_ns()
        self._name = name
        self._asked = asked = self._runtime.responses.asked(name)
        self.facts = self.adapter.read_request({}) if asked is None else replace(asked.facts, stream=None)
        self.answer = self._new_answer()
        self._values = {**self._request_values(client, asked.turn if asked is not None and self._is_own else None), "fetched": True}

    @property
    def _is_own(self) -> bool:
        """Whether the run in force is the one that asked for the response."""
        return self._asked is not None and self._run is not None and self._asked.run_id == self._run.run_id

    @property
    def context(self) -> otel_context.Context:
        """The caller's own: there is no span."""
        return self._context

    def _remember(self, response: Any) -> None:
        """Only where the end is news: what is due must not be due twice."""
        if self._runtime.responses.asked(self._name) is not None:
            super()._remember(response)

    def _finish(self, facts: ResponseFacts, end: StreamEnd | None, failure: ErrorFacts | None) -> None:
        if not facts.ended or not self._is_news(facts):
            return
        values = self._response_values(facts, end, failure)
        if self.times is not None:
            self._values["stream"] = True
        emitter = self._runtime.emitter
        emitter.finish(emitter.begin(ModelTurn, self.facts.request_model, self._values, self._context, self._since), values)
        if self._run is not None:
            asked = self._asked if self._is_own else None
            missing, sent = (False, None) if asked is None else (asked.usage_missing, asked.sent)
            self._run.end_fetch(self.facts.request_model, values, facts.tool_calls, sent, known_missing=missing)

    def _is_news(self, facts: ResponseFacts) -> bool:
        """Whether nobody has recorded this end. One that another process waited for in one call, that process has."""
        return bool(self._asked is not None or facts.background) and self._runtime.responses.tell(self._name)


def begin(client: Any, method: str, url: str) -> Fetch | None:
    """A fetch to observe, or ``None``: another route, or a stretch the caller keeps unobserved."""
    name = identifier(routes.fetched(method, url))
    if name in {None, OTHER} or otel_context.get_value(runtime.SUPPRESS):
        return None
    return Fetch(client, name)
