"""The embeddings interface.

https://platform.openai.com/docs/api-reference/embeddings. The module itself is the adapter (:class:`otel_agent.protocol.Adapter`).
No vector is looked at, and there is no output to count, so usage is never more than partial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from otel_agent.adapters import errors, models, usage
from otel_agent.fields import get, identifier, model_name
from otel_agent.protocol import SILENT, Answer, Conversation, ErrorFacts, Phase, RequestFacts, ResponseFacts
from otel_agent.records.closed import Api

api: Api = "embeddings"


def read_request(body: dict[str, Any], directives: Sequence[Any] | None = None) -> RequestFacts:
    """Facts of a request body."""
    model = model_name(body.get("model"))
    return RequestFacts(operation="embeddings", api=api, request_model=model, model_kind=models.kind(model))


def conversation(body: dict[str, Any]) -> Conversation | None:
    """There is none."""
    return None


def read_response(response: Any, request: RequestFacts, answer: Answer | None) -> ResponseFacts:
    """Facts of a whole response."""
    seen: usage.Tally = {}
    counts = get(response, "usage")
    if counts is not None:
        usage.gather_chat(seen, counts)
    return ResponseFacts(
        response_model=model_name(get(response, "model")),
        request_id=identifier(get(response, "_request_id")),
        usage=usage.inclusive_form(seen),
    )


def read_error(error: BaseException, request: RequestFacts) -> ErrorFacts:
    """Facts of an exception."""
    return errors.read(error)


class NoStream:
    """Embeddings do not stream; whatever comes is passed over."""

    __slots__ = ()

    def feed(self, event: Any) -> Phase:
        """Pass over an event."""
        return SILENT

    def finish(self) -> ResponseFacts:
        """No facts."""
        return ResponseFacts()


def accumulator(request: RequestFacts, answer: Answer | None) -> NoStream:
    """An accumulator for form's sake."""
    return NoStream()
