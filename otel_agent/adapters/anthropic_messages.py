"""Anthropic's Messages interface: also Bedrock, Vertex and Foundry clients, and servers that speak it.

https://docs.anthropic.com/en/api/messages. The module itself is the adapter (:class:`otel_agent.protocol.Adapter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from otel_agent.adapters import effort, errors, models, offers, usage
from otel_agent.adapters.members import finder
from otel_agent.adapters.messages_stream import MessagesStream
from otel_agent.fields import count, dig, get, identifier, items, model_name, number, word
from otel_agent.protocol import Answer, Conversation, ErrorFacts, RequestFacts, ResponseFacts, is_directive
from otel_agent.records.closed import Api

api: Api = "messages"

_OUTPUT_TYPES: Final[dict[str, str]] = {"json_schema": "json", "text": "text"}


def read_request(body: dict[str, Any], directives: Sequence[Any] | None = None) -> RequestFacts:
    """Facts of a request body."""
    if directives is None:
        directives = [*filter(is_directive, items(body.get("messages")))]
    wanted = effort.read(body)
    offer = _offer(body, directives)
    model = model_name(body.get("model"))
    return RequestFacts(
        operation="chat",
        api=api,
        request_model=model,
        model_kind=models.kind(model),
        stream=True if body.get("stream") is True else None,
        max_tokens=count(body.get("max_tokens")),
        temperature=number(body.get("temperature")),
        top_p=number(body.get("top_p")),
        reasoning_level=effort.level_in_force(wanted, directives, "output_config"),
        reasoning_budget=wanted.budget,
        reasoning_mode=wanted.mode,
        output_type=_output_type(body),
        service_tier=word(body.get("service_tier")),
        previous_response_id=identifier(dig(body, "thread", "previous_message_id")),
        tool_names=None if offer is None else offer.names,
        tool_count=None if offer is None else offer.size,
    )


def _offer(body: dict[str, Any], directives: Sequence[Any]) -> offers.Offer | None:
    """The tools of the request, and those that a system message defines on the way."""
    offer = offers.read(body.get("tools"), offers.messages_name)
    if not directives:
        return offer
    parts = [part for message in directives for part in items(get(message, "content"))]
    added = [dig(part, "tool", "definition") for part in parts if get(part, "type") == "tool_addition"]
    defined = [definition for definition in added if definition is not None]
    return offers.both(offer, offers.read(defined, offers.messages_name)) if defined else offer


def _output_type(body: dict[str, Any]) -> str | None:
    if "output_config" not in body and "output_format" not in body:
        return None
    kind = dig(body, "output_config", "format", "type") or dig(body, "output_format", "type")
    return _OUTPUT_TYPES.get(kind) if isinstance(kind, str) else None


def conversation(body: dict[str, Any]) -> Conversation | None:
    """Messages, system prompt and tools, by reference. A thread's earlier messages are at the provider."""
    messages = body.get("messages")
    if not issubclass(type(messages), (list, tuple)):
        return None
    held = get(body.get("thread"), "type") == "continue"
    return Conversation(items(messages), body.get("system"), body.get("tools"), held)


def read_response(response: Any, request: RequestFacts, answer: Answer | None) -> ResponseFacts:
    """Facts of a whole message."""
    stream = accumulator(request, answer)
    find = finder(response)
    stream.read_head(find, usage.MESSAGES)
    stream.read_end(find)
    for index, block in enumerate(items(find("content"))):
        stream.open_block(index, block)
    facts = stream.finish()
    facts.request_id = identifier(find("_request_id"))
    return facts


def read_error(error: BaseException, request: RequestFacts) -> ErrorFacts:
    """Facts of an exception. A failure inside a stream comes with status 200 and its real type."""
    return errors.read(error)


def accumulator(request: RequestFacts, answer: Answer | None) -> MessagesStream:
    """A fresh accumulator for one stream."""
    return MessagesStream(request, answer)
