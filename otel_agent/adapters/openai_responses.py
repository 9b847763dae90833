"""The Responses interface: OpenAI, Azure, and servers that speak it.

https://platform.openai.com/docs/api-reference/responses. The module itself is the adapter
(:class:`otel_agent.protocol.Adapter`). A response in the background comes ``queued``, and its end with a later fetch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from otel_agent.adapters import effort, errors, finish, models, offers, response_items, usage
from otel_agent.adapters.blocks import counted
from otel_agent.adapters.members import finder, member
from otel_agent.fields import count, dig, get, identifier, items, model_name, number, word
from otel_agent.protocol import SILENT, VISIBLE, Answer, Conversation, ErrorFacts, Phase, RequestFacts, ResponseFacts, is_directive
from otel_agent.records.closed import Api, FinishReason

api: Api = "responses"

_OUTPUT_TYPES: Final[dict[str, str]] = {"text": "text", "json_object": "json", "json_schema": "json"}


def read_request(body: dict[str, Any], directives: Sequence[Any] | None = None) -> RequestFacts:
    """Facts of a request body."""
    if directives is None:
        directives = [*filter(is_directive, items(body.get("input")))]
    wanted = effort.read(body)
    offer = offers.read(body.get("tools"), offers.responses_name)
    for item in directives:
        offer = offers.both(offer, offers.read(get(item, "tools"), offers.responses_name))
    model = model_name(body.get("model"))
    return RequestFacts(
        operation="chat",
        api=api,
        request_model=model,
        model_kind=models.kind(model),
        stream=True if body.get("stream") is True else None,
        max_tokens=count(body.get("max_output_tokens")),
        temperature=number(body.get("temperature")),
        top_p=number(body.get("top_p")),
        reasoning_level=effort.level_in_force(wanted, directives, "reasoning"),
        reasoning_budget=wanted.budget,
        reasoning_mode=wanted.mode,
        output_type=_output_type(body, directives),
        service_tier=word(body.get("service_tier")),
        previous_response_id=identifier(body.get("previous_response_id")),
        tool_names=None if offer is None else offer.names,
        tool_count=None if offer is None else offer.size,
    )


def _output_type(body: dict[str, Any], directives: Sequence[Any]) -> str | None:
    for source in (*reversed(directives), body):
        kind = dig(source, "text", "format", "type")
        if isinstance(kind, str):
            return _OUTPUT_TYPES.get(kind)
    return None


def conversation(body: dict[str, Any]) -> Conversation | None:
    """Input items, instructions and tools, by reference. Earlier items may be at the provider."""
    given = body.get("input")
    if issubclass(type(given), str):
        given = (str.__str__(given),)
    if not issubclass(type(given), (list, tuple)):
        return None
    held = any(issubclass(type(body.get(name)), (str, dict)) for name in ("previous_response_id", "conversation"))
    return Conversation(items(given), body.get("instructions"), body.get("tools"), held)


def read_response(response: Any, request: RequestFacts, answer: Answer | None) -> ResponseFacts:
    """Facts of a whole response, whatever its status."""
    output = response_items.Items(_Offered(request, response), answer)
    for index, item in enumerate(items(get(response, "output"))):
        output.read(index, item)
    seen: usage.Tally = {}
    _count(seen, response)
    raw = _raw_reason(response)
    reasons = (_reason(raw, output),)
    return ResponseFacts(
        response_model=model_name(get(response, "model")),
        response_id=identifier(get(response, "id")),
        request_id=identifier(get(response, "_request_id")),
        finish_reasons=reasons,
        finish_reasons_raw=finish.parallel([raw]),
        truncated_by=finish.truncated_by(reasons, [raw]),
        effective_level=word(dig(response, "reasoning", "effort")),
        response_tier=word(get(response, "service_tier")),
        provider_dropped_items=_dropped(response),
        blocks=counted(output.kinds()),
        tool_calls=output.calls(),
        usage=usage.inclusive_form(seen),
        error_type=_failure(raw, response),
        background=member(response, "background") is True or None,
    )


def _failure(raw: str | None, response: Any) -> str | None:
    """A cancelled response has no error of its own, and no usage; it did not succeed."""
    if raw == "cancelled":
        return raw
    return errors.reported(get(response, "error")) if raw == "failed" else None


def _count(seen: usage.Tally, response: Any) -> None:
    usage.gather(seen, finder(get(response, "usage")), usage.RESPONSES)
    searches = count(dig(member(response, "tool_usage"), "web_search", "num_requests"))
    if searches is not None:
        seen["web_searches"] = searches


def _raw_reason(response: Any) -> str | None:
    """The status, or what an incomplete response gives as the reason. A compaction has neither, but says what it is."""
    status = finish.spelled(get(response, "status"))
    if status == "incomplete":
        return finish.spelled(dig(response, "incomplete_details", "reason")) or status
    if status is None and get(response, "object") == "response.compaction":
        return "response.compaction"
    return status


def _reason(raw: str | None, output: response_items.Items) -> FinishReason:
    reason = finish.normal(finish.RESPONSES, raw)
    if reason != "stop":
        return reason
    return "content_filter" if output.refused else "tool_call" if output.awaits_result() else "stop"


def _dropped(response: Any) -> int | None:
    changes = items(member(response, "input_transformations"))
    return sum(get(change, "action") == "removed" for change in changes) if changes else None


class _Offered:
    """Names of the tools on offer: those of the request, else those the response echoes (a stored prompt, a fetched response)."""

    __slots__ = ("_names", "_response")

    def __init__(self, request: RequestFacts, response: Any = None) -> None:
        self._names = request.tool_names
        self._response = response

    def __call__(self) -> tuple[str, ...]:
        if self._names is None:
            echoed = offers.read(get(self._response, "tools"), offers.responses_name)
            self._names = () if echoed is None else echoed.names
        return self._names


def read_error(error: BaseException, request: RequestFacts) -> ErrorFacts:
    """Facts of an exception."""
    return errors.read(error)


class ResponseStream:
    """One response as it comes. The closing event holds all of it; until then the announced items are what is known."""

    __slots__ = ("_answer", "_error", "_final", "_heard", "_items", "_request", "_seen")

    def __init__(self, request: RequestFacts, answer: Answer | None) -> None:
        self._request = request
        self._answer = answer
        self._heard = False
        self._items = response_items.Items(_Offered(request), None)
        self._seen: ResponseFacts | None = None
        self._final = False
        self._error: str | None = None

    def feed(self, event: Any) -> Phase:
        """Read one event."""
        kind = get(event, "type")
        if kind == "response.output_text.delta":
            return self._text(event)
        if kind is None:
            return self._untyped(event)
        place = response_items.EVENTS.get(kind) if isinstance(kind, str) else SILENT
        if isinstance(place, Phase):
            return place
        return self._item(event) if place == "item" else self._whole(event, place)

    def _untyped(self, event: Any) -> Phase:
        """The openai package before 1.69 hands on an ``error`` event as its name and its data, without a type."""
        if get(event, "event") == "error":
            self._error = errors.reported(get(event, "data"))
        return SILENT

    def _text(self, event: Any) -> Phase:
        index = get(event, "output_index")
        phase = self._items.phase(index)
        if phase is VISIBLE:
            text = get(event, "delta")
            if type(text) is str and text:
                self._heard = True
                self._items.spoke(index)
                if self._answer is not None:
                    self._answer.update(text)
        return phase

    def _item(self, event: Any) -> Phase:
        index = get(event, "output_index")
        return self._items.read(index, get(event, "item")) if type(index) is int else SILENT

    def _whole(self, event: Any, place: str | None) -> Phase:
        if place == "failure":
            failure = get(event, "error")
            self._error = errors.reported(event if failure is None else failure)
        elif place is not None:
            self._final = place == "closing"
            self._seen = read_response(get(event, "response"), self._request, self._unheard(place))
        return SILENT

    def _unheard(self, place: str) -> Answer | None:
        """The answer, for a server that sends its text in the closing event alone."""
        return None if self._heard or place != "closing" else self._answer

    def finish(self) -> ResponseFacts:
        """The facts seen so far; without a closing event neither the reason nor the usage is known."""
        facts = self._seen or ResponseFacts()
        if not self._final:
            facts.finish_reasons, facts.finish_reasons_raw = ("unknown",), ()
            facts.blocks = counted(self._items.kinds())
            facts.tool_calls = self._items.calls()
        if self._error is not None:
            facts.finish_reasons, facts.error_type = ("error",), self._error
        return facts


def accumulator(request: RequestFacts, answer: Answer | None) -> ResponseStream:
    """A fresh accumulator for one stream."""
    return ResponseStream(request, answer)
