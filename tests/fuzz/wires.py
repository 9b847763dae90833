"""SDK clients whose HTTP ends in this process: what is sent is kept, what comes back is handed in."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai

from otel_agent.testing.generators import encode

STREAM_TYPE = {"content-type": "text/event-stream"}
JSON_TYPE = {"content-type": "application/json"}
FREE = frozenset({"traceparent"})
"""Headers that may differ: the anthropic SDK itself sends the trace header whenever a span is current."""


@dataclass
class Answer:
    """What the provider says next. ``pieces`` of a body arrive one by one, cut where it pleases."""

    status: int
    headers: dict[str, str]
    pieces: list[bytes]


def body_of(value: Any, status: int = 200) -> Answer:
    """A body that comes in one piece."""
    data = value if isinstance(value, bytes) else encode(value)
    return Answer(status, {**JSON_TYPE, "request-id": "req_1", "x-request-id": "req_1"}, [data])


def stream_of(chunks: list[bytes], cut: int | None = None) -> Answer:
    """Server-sent events; with ``cut``, in pieces of that many bytes."""
    if cut is not None:
        whole = b"".join(chunks)
        chunks = [whole[start : start + cut] for start in range(0, len(whole), cut)]
    return Answer(200, {**STREAM_TYPE, "request-id": "req_1", "x-request-id": "req_1"}, chunks)


def http_of(sdk: Any) -> Any:
    """The HTTP library that this version of the SDK is built on."""
    base: Any = importlib.import_module(f"{sdk.__name__}._base_client")
    return getattr(base, "httpx2", None) or base.httpx


@dataclass
class Wire:
    """The far end of a client. ``sent``: method, address, headers and body of each request."""

    answer: Answer = field(default_factory=lambda: body_of({}))
    sent: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, request: Any, http: Any) -> Any:
        """Answer one request."""
        headers = [(name, value) for name, value in request.headers.raw if name.decode().lower() not in FREE]
        self.sent.append((request.method, str(request.url), headers, request.content))
        return http.Response(self.answer.status, headers=self.answer.headers, stream=pieces_of(http)(self.answer.pieces))


def pieces_of(http: Any) -> Any:
    """A stream class of this HTTP library that sync and async clients can both read."""

    class Pieces(http.SyncByteStream, http.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, pieces: list[bytes]) -> None:
            self._pieces = pieces

        def __iter__(self) -> Iterator[bytes]:
            yield from self._pieces

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in self._pieces:
                yield piece

    return Pieces


KINDS: dict[tuple[str, bool], tuple[Any, str]] = {
    ("anthropic", False): (anthropic, "Anthropic"), ("anthropic", True): (anthropic, "AsyncAnthropic"),
    ("openai", False): (openai, "OpenAI"), ("openai", True): (openai, "AsyncOpenAI"),
}  # fmt: skip


def client(sdk: str, wire: Wire, *, is_async: bool) -> Any:
    """A client of the real SDK at the near end of ``wire``."""
    package, name = KINDS[sdk, is_async]
    http = http_of(package)
    transport = http.MockTransport(lambda request: wire(request, http))
    made = (http.AsyncClient if is_async else http.Client)(transport=transport)
    return getattr(package, name)(api_key="none", base_url="http://provider.test/v1", http_client=made, max_retries=0)
