"""The chat completions interface: OpenAI and the many servers that speak it.

https://platform.openai.com/docs/api-reference/chat. The module itself is the adapter (:class:`otel_agent.protocol.Adapter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from otel_agent.adapters import effort, errors, models, offers
from otel_agent.adapters.chat_stream import ChatStream
from otel_agent.fields import count, dig, get, identifier, items, model_name, number, word
from otel_agent.protocol import Answer, Conversation, ErrorFacts, RequestFacts, ResponseFacts
from otel_agent.records.closed import Api

api: Api = "chat_completions"

_OUTPUT_TYPES: Final[dict[str, str]] = {"text": "text", "json_object": "json", "json_schema": "json"}


def read_request(body: dict[str, Any], directives: Sequence[Any] | None = None) -> RequestFacts:
    """Facts of a request body, ``extra_body`` merged in."""
    wanted = effort.read(body)
    offer = offers.both(offers.read(body.get("tools"), offers.chat_name), offers.read(body.get("functions"), offers.chat_name))
    model = model_name(body.get("model"))
    limit = count(body.get("max_completion_tokens"))
    choices = count(body.get("n"))
    return RequestFacts(
        operation="chat",
        api=api,
        request_model=model,
        model_kind=models.kind(model),
        stream=True if body.get("stream") is True else None,
        max_tokens=count(body.get("max_tokens")) if limit is None else limit,
        choice_count=None if choices == 1 else choices,
        temperature=number(body.get("temperature")),
        top_p=number(body.get("top_p")),
        reasoning_level=wanted.level,
        reasoning_budget=wanted.budget,
        reasoning_mode=wanted.mode,
        output_type=_output_type(body),
        service_tier=word(body.get("service_tier")),
        tool_names=None if offer is None else offer.names,
        tool_count=None if offer is None else offer.size,
    )


def _output_type(body: dict[str, Any]) -> str | None:
    if "audio" in items(body.get("modalities")):
        return "speech"
    kind = dig(body, "response_format", "type")
    return _OUTPUT_TYPES.get(kind) if isinstance(kind, str) else None


def conversation(body: dict[str, Any]) -> Conversation | None:
    """Messages and tools, by reference; the system prompt is one of the messages."""
    messages = body.get("messages")
    if not issubclass(type(messages), (list, tuple)):
        return None
    return Conversation(items(messages), None, body.get("tools"))


def read_response(response: Any, request: RequestFacts, answer: Answer | None) -> ResponseFacts:
    """Facts of a whole completion."""
    stream = accumulator(request, answer)
    stream.read_head(response)
    stream.read_tail(response)
    for position, choice in enumerate(items(get(response, "choices"))):
        stream.read_choice(choice, "message", position)
    facts = stream.finish()
    facts.request_id = identifier(get(response, "_request_id"))
    return facts


def read_error(error: BaseException, request: RequestFacts) -> ErrorFacts:
    """Facts of an exception; a completion it carries along (a parse that met the limit or the filter) is read as well."""
    facts = errors.read(error)
    completion = getattr(error, "completion", None)
    if completion is not None:
        facts.partial = read_response(completion, request, None)
    return facts


def accumulator(request: RequestFacts, answer: Answer | None) -> ChatStream:
    """A fresh accumulator for one stream."""
    return ChatStream(request, answer)
