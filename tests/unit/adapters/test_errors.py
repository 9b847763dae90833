"""Exceptions are read for class, known code, status and request id, never for text."""

from __future__ import annotations

import asyncio
import inspect
from importlib.util import find_spec
from typing import Any

import anthropic
import openai
import pytest
from openai.types.chat import ChatCompletion
from recordings import recordings

from otel_agent.adapters import ADAPTERS
from otel_agent.protocol import RequestFacts

HTTP: Any = __import__("httpx2" if find_spec("httpx2") else "httpx")  # the HTTP library of the installed SDKs
REQUEST = HTTP.Request("POST", "https://api.example.com/v1")
ASKED = RequestFacts("chat", "messages")


def _status(module: Any, kind: str, status: int, body: Any, header: str = "x-request-id") -> BaseException:
    response = HTTP.Response(status, headers={header: "req_123"}, request=REQUEST)
    error: BaseException = getattr(module, kind)("CANARY says the prompt", response=response, body=body)
    return error


def _anthropic(kind: str, status: int, error: Any) -> BaseException:
    return _status(anthropic, kind, status, {"type": "error", "error": error}, "request-id")


CASES: list[tuple[str, BaseException, tuple[str, int | None, str | None]]] = [
    ("messages", _anthropic("RateLimitError", 429, {"type": "rate_limit_error"}), ("rate_limit_error", 429, "req_123")),
    ("messages", _anthropic("APIStatusError", 200, {"type": "overloaded_error"}), ("overloaded_error", 200, "req_123")),
    ("messages", _anthropic("BadRequestError", 400, {"type": "the prompt CANARY was bad"}), ("BadRequestError", 400, "req_123")),
    ("messages", _anthropic("BadRequestError", 400, "CANARY"), ("BadRequestError", 400, "req_123")),
    (
        "chat_completions",
        _status(openai, "BadRequestError", 400, {"code": "context_length_exceeded", "type": "invalid_request_error"}),
        ("context_length_exceeded", 400, "req_123"),
    ),
    (
        "chat_completions",
        _status(openai, "BadRequestError", 400, {"code": "CANARY", "type": "invalid_request_error"}),
        ("invalid_request_error", 400, "req_123"),
    ),
    ("responses", _status(openai, "InternalServerError", 503, {"code": 503}), ("InternalServerError", 503, "req_123")),
    ("responses", openai.APITimeoutError(request=REQUEST), ("APITimeoutError", None, None)),
    ("responses", openai.APIConnectionError(request=REQUEST), ("APIConnectionError", None, None)),
    ("responses", openai.APIError("CANARY", REQUEST, body={"code": "server_error"}), ("server_error", None, None)),
    ("embeddings", asyncio.CancelledError("CANARY"), ("CancelledError", None, None)),
    ("completions", KeyboardInterrupt(), ("KeyboardInterrupt", None, None)),
    ("messages", GeneratorExit(), ("GeneratorExit", None, None)),
    ("messages", ValueError("CANARY"), ("ValueError", None, None)),
]


@pytest.mark.parametrize(("api", "error", "expected"), CASES, ids=lambda value: type(value).__name__)
def test_error_facts(api: str, error: BaseException, expected: tuple[Any, ...]) -> None:
    """A known code, else the class; the text stays where it is."""
    facts = ADAPTERS[api].read_error(error, ASKED)  # type: ignore[index]
    if api == "messages" and hasattr(error, "status_code") and not hasattr(error, "type"):
        # older anthropic versions say the type in the body alone, which is not read; the class stands for it.
        expected = (type(error).__name__, *expected[1:])

    assert expected == (facts.error_type, facts.status_code, facts.request_id)
    assert facts.partial is None
    assert "CANARY" not in repr(facts)


def test_attributes_of_foreign_types() -> None:
    """An exception with nonsense in those attributes is read like one without."""

    class Odd(Exception):
        status_code = "400"
        request_id = 7
        code = ["rate_limit_error"]
        type = object()

    facts = ADAPTERS["messages"].read_error(Odd(), ASKED)

    assert ("Odd", None, None) == (facts.error_type, facts.status_code, facts.request_id)


CARRYING = [
    kind
    for kind in (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError)
    if "completion" in inspect.signature(kind).parameters  # the second carries none in older versions
]


@pytest.mark.parametrize("kind", CARRYING)
def test_a_parse_that_met_the_limit_brings_its_completion(kind: Any) -> None:
    """Usage and finish reason come from the completion that the exception carries."""
    body = next(each for each in recordings("chat_completions") if each.name == "openai/chat_empty_truncated").response

    facts = ADAPTERS["chat_completions"].read_error(kind(completion=ChatCompletion.construct(**body)), ASKED)

    assert kind.__name__ == facts.error_type
    assert facts.partial is not None
    assert (("length",), 2048) == (facts.partial.finish_reasons, facts.partial.usage.reasoning_tokens)


def test_a_filter_error_may_come_alone() -> None:
    """The filter's exception may have no completion."""
    assert ADAPTERS["chat_completions"].read_error(openai.ContentFilterFinishReasonError(), ASKED).partial is None
