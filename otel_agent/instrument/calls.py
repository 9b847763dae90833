"""One model call, from the moment before it leaves to its record. Finished exactly once, by whatever ends it first."""

from __future__ import annotations

import weakref
from typing import Any, Final

from opentelemetry import context as otel_context

from otel_agent import adapters, collected, guard
from otel_agent.adapters import hosts
from otel_agent.digest import AnswerDigest
from otel_agent.emit import Started
from otel_agent.fields import OTHER, error_type, get, identifier
from otel_agent.history import HistoryFacts
from otel_agent.instrument import resent, runtime, turns
from otel_agent.instrument.resent import Sent
from otel_agent.instrument.responses import Asked
from otel_agent.instrument.state import Run, current_run
from otel_agent.instrument.timing import StreamTimes
from otel_agent.protocol import Adapter, Conversation, ErrorFacts, ResponseFacts
from otel_agent.records import ModelTurn
from otel_agent.records.closed import Api, Provider, StreamEnd

REQUEST_ID_HEADERS: Final = ("request-id", "x-request-id", "x-amzn-requestid")
TERMINAL_EVENTS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


CLIENT_PROVIDERS: Final = {
    "AzureOpenAI": "azure.ai.openai", "AsyncAzureOpenAI": "azure.ai.openai", "BedrockOpenAI": "aws.bedrock",
    "AsyncBedrockOpenAI": "aws.bedrock", "AnthropicBedrock": "aws.bedrock", "AsyncAnthropicBedrock": "aws.bedrock",
    "AnthropicBedrockMantle": "aws.bedrock", "AsyncAnthropicBedrockMantle": "aws.bedrock", "AnthropicVertex": "gcp.vertex_ai",
    "AsyncAnthropicVertex": "gcp.vertex_ai",
}  # fmt: skip
"""Clients that name their provider by their class; newer anthropic clients say it themselves."""

MAKERS: Final[dict[Api, Provider]] = {"messages": "anthropic", "responses": "openai"}
"""Whose interface it is, where the host says nothing (a proxy). Chat completions are everybody's, so they say nothing either."""

_endpoints: Final[weakref.WeakKeyDictionary[Any, tuple[Any, hosts.Endpoint]]] = weakref.WeakKeyDictionary()


def endpoint_of(client: Any) -> hosts.Endpoint:
    """The endpoint of an SDK client, remembered until its base URL is replaced."""
    base_url = getattr(client, "_base_url", None)
    known = _endpoints.get(client)
    if known is not None and known[0] is base_url:
        return known[1]
    name = type(client).__name__
    given = CLIENT_PROVIDERS.get(name)
    if given is None and name not in {"Anthropic", "AsyncAnthropic"}:
        # The plain client says "anthropic" whatever server it is pointed at; there the host is the better witness.
        given = getattr(client, "_gen_ai_provider_name", None)
    found = hosts.provider_of(base_url, given)
    _endpoints[client] = (base_url, found)
    return found


class Call:
    """A call under way. Holds facts and references into the caller's request, never a response."""

    __slots__ = (
        "__weakref__", "_begun", "_context", "_later", "_open", "_request_id", "_run", "_runtime", "_started", "_turn", "adapter",
        "answer", "attempts", "conversation", "facts", "times",
    )  # fmt: skip

    def __init__(self, adapter: Adapter, body: dict[str, Any], client: Any) -> None:
        """Begin the span. Raises :class:`otel_agent.budget.BudgetExceeded` when the run around it enforces its budget."""
        self._prepare(adapter)
        self._turn = None if self._run is None else self._run.begin_turn()
        self.conversation: Conversation | None = guard.run("call.conversation", adapter.conversation, body)
        seen = self._history()
        self.facts = adapter.read_request(body, None if seen is None else seen.directives)
        self.answer: AnswerDigest | None = self._new_answer()
        values = self._request_values(client, self._turn)
        self._later = self._later_values(seen)
        self._begun = self._runtime.clock()
        self._started: Started = self._runtime.emitter.begin(ModelTurn, self.facts.request_model, values, self._context)

    def _prepare(self, adapter: Adapter) -> None:
        self._runtime = runtime.current()
        self._context = otel_context.get_current()
        self._run = current_run(self._context)
        self.adapter = adapter
        self.attempts = 0
        self.times: StreamTimes | None = None
        self._request_id: str | None = None
        self._open = [True]
        self._begun = self._runtime.clock()

    def _new_answer(self) -> AnswerDigest | None:
        digester = self._runtime.digester
        return None if digester is None or not self._runtime.settings.answer_digest else AnswerDigest(digester)

    def _history(self) -> HistoryFacts | None:
        """What the run's history says of this request."""
        if self._run is None or self._run.history is None or self.conversation is None:
            return None
        return guard.run("call.history", self._run.history.observe, self.conversation)

    def _request_values(self, client: Any, turn: int | None) -> dict[str, Any]:
        facts = self.facts
        values = turns.REQUEST.of(facts)
        where = endpoint_of(client)
        if where.provider == "unknown" and (maker := MAKERS.get(self.adapter.api)) is not None:
            where = where._replace(provider=maker, source="inferred")
        values["provider"], values["provider_source"] = where.provider, where.source
        if where.address is not None:
            values["server_address"] = where.address
        if where.port is not None:
            values["server_port"] = where.port
        if self._run is not None:
            values.update(self._run.identity)
        if turn is not None:
            values["turn"] = turn
        return values

    def _later_values(self, seen: HistoryFacts | None) -> dict[str, Any]:
        """Facts of the request that are stated with the response."""
        values = turns.offered_values(self.facts)
        if self.conversation is None:
            return values
        values["message_count"] = len(self.conversation.items)
        if seen is not None:
            values.update(turns.HISTORY.of(seen))
        if self._run is not None:
            values.update(guard.run("call.replay", replay_values, self._run, self.conversation, self.adapter.api) or {})
        return values

    @property
    def context(self) -> otel_context.Context:
        """The context for the SDK's own code: this call's span is current in it."""
        return self._started.context

    @property
    def now(self) -> float:
        """Seconds on the runtime's clock."""
        return self._runtime.clock()

    def stream_times(self) -> StreamTimes:
        """Begin to keep stream times."""
        self.times = StreamTimes(self._begun)
        return self.times

    def read_headers(self, http_response: Any) -> None:
        """Take the provider's request id from an HTTP response: streams and raw responses carry it nowhere else."""
        headers = getattr(http_response, "headers", None)
        if headers is not None:
            self._request_id = next((found for name in REQUEST_ID_HEADERS if (found := identifier(headers.get(name)))), None)

    def notice(self, event: Any) -> None:
        """Look at a stream event that produced nothing: the last one of a Responses stream carries the items to send back."""
        kind = get(event, "type")
        if isinstance(kind, str) and kind in TERMINAL_EVENTS:
            self._remember(get(event, "response"))

    def succeed(self, response: Any) -> None:
        """End with a whole response: an SDK object or parsed JSON."""
        facts = guard.run("call.read", self.adapter.read_response, response, self.facts, self.answer)
        self._remember(response)
        self.finish(facts or ResponseFacts())

    def _remember(self, response: Any) -> None:
        """Keep what the response obliges the run to send back."""
        if self._run is not None:
            guard.run("call.remember", self._run.remember, self.adapter.api, response)

    def fail(self, error: BaseException) -> None:
        """End with an exception of the SDK or of whoever interrupted it."""
        failure = self.failure(error)
        self.finish(failure.partial or ResponseFacts(), failure=failure)

    def failure(self, error: BaseException) -> ErrorFacts:
        """Facts of an exception; its class alone where the adapter cannot read it."""
        read = guard.run("call.error", self.adapter.read_error, error, self.facts)
        return read or ErrorFacts(error_type(type(error).__name__) or OTHER)

    def finish(self, facts: ResponseFacts, end: StreamEnd | None = None, failure: ErrorFacts | None = None) -> None:
        """End the call, once; a later end does nothing."""
        try:
            self._open.pop()  # atomic, so a finaliser and a close in two threads cannot both win
        except IndexError:
            return
        collected.run("call.finish", self._finish, facts, end, failure)

    def _finish(self, facts: ResponseFacts, end: StreamEnd | None, failure: ErrorFacts | None) -> None:
        values = {**self._later, **self._response_values(facts, end, failure)}
        self._runtime.emitter.finish(self._started, values)
        sent = resent.sent_by(self._turn, self.facts, values)
        if self.adapter.api == "responses" and facts.response_id is not None:
            self._keep(facts.response_id, facts, sent)
        if self._run is not None:
            if end is not None and facts.announced:
                guard.run("call.remember", self._run.remember_stream, facts.announced)
            self._run.end_turn(self.facts.request_model, values, facts.tool_calls, sent)

    def _keep(self, response_id: str, facts: ResponseFacts, sent: Sent | None) -> None:
        """Keep in mind whether the end of a response has been recorded: it may be fetched later."""
        responses = self._runtime.responses
        if facts.ended:
            responses.tell(response_id)
        else:
            run_id = None if self._run is None else self._run.run_id
            responses.begin(response_id, Asked(self.facts, run_id, self._turn, facts.usage.state == "missing", sent))

    def _response_values(self, facts: ResponseFacts, end: StreamEnd | None, failure: ErrorFacts | None) -> dict[str, Any]:
        values = turns.response_values(facts)
        if failure is not None:
            values.update(turns.failure_values(failure, values["finish_reason"]))
        values["duration"] = self._runtime.clock() - self._begun
        if self.attempts:
            values["attempts"] = self.attempts
        if self._request_id is not None:
            values.setdefault("request_id", self._request_id)
        if end is not None:
            values["stream_end"] = end
        if self.times is not None:
            values.update(turns.TIMES.of(self.times))
        if self.answer is not None and (digested := guard.run("call.answer", self.answer.result)) is not None:
            values["answer_digest"], values["answer_size_band"] = digested
        return values


def replay_values(run: Run, conversation: Conversation, api: str) -> dict[str, Any]:
    """What came back of the reasoning items that were due."""
    return turns.REPLAY.of(run.replay.check(conversation, api))


def begin(client: Any, method: str, url: str, body: Any) -> Call | None:
    """A call to observe, or ``None``: another route, a body we cannot read, or a stretch the caller keeps unobserved."""
    adapter = adapters.lookup(method, url)
    if adapter is None or type(body) is not dict or otel_context.get_value(runtime.SUPPRESS):
        return None
    return Call(adapter, body, client)
