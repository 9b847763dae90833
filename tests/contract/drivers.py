"""One test body for the sync and the async SDK: bodies are coroutines, and a driver does what the SDK at hand needs."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai
import pytest

from otel_agent.testing import Standin

CLIENTS: dict[tuple[str, bool], Callable[..., Any]] = {
    ("anthropic", False): anthropic.Anthropic,
    ("anthropic", True): anthropic.AsyncAnthropic,
    ("openai", False): openai.OpenAI,
    ("openai", True): openai.AsyncOpenAI,
}


class Driver:
    """Makes clients of one kind and uses what they return."""

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async
        self._clients: list[Any] = []

    def client(self, sdk: str, standin: Standin, **options: Any) -> Any:
        """A client that speaks to ``standin``."""
        url = standin.anthropic_url if sdk == "anthropic" else standin.openai_url
        made = CLIENTS[sdk, self.is_async](**{"base_url": url, "api_key": "none", "max_retries": 0, **options})
        self._clients.append(made)
        return made

    async def close_clients(self) -> None:
        """Close every client made here, in the loop that used it."""
        while self._clients:
            await self.close(self._clients.pop())

    async def done(self, value: Any) -> Any:
        """The value, awaited where it has to be."""
        return await value if inspect.isawaitable(value) else value

    async def each(self, stream: Any) -> AsyncIterator[Any]:
        """What the stream yields."""
        if hasattr(stream, "__aiter__"):
            async for item in stream:
                yield item
        else:
            for item in stream:
                yield item

    async def items(self, stream: Any) -> list[Any]:
        """All that is left in the stream."""
        return [item async for item in self.each(stream)]

    async def step(self, stream: Any) -> Any:
        """The next item, by ``next`` or ``anext``."""
        return await anext(stream) if hasattr(stream, "__anext__") else next(stream)

    @asynccontextmanager
    async def within(self, manager: Any) -> AsyncIterator[Any]:
        """What the context manager enters."""
        if hasattr(manager, "__aenter__"):
            async with manager as entered:
                yield entered
        else:
            with manager as entered:
                yield entered

    async def close(self, thing: Any) -> None:
        """Close a stream, a response or a client."""
        await self.done(thing.close())


def reach(client: Any, *paths: str) -> Any:
    """The method at the first of these dotted paths that this SDK version has; skips the test when it has none."""
    for path in paths:
        found = client
        for name in path.split("."):
            found = getattr(found, name, None)
            if found is None:
                break
        if found is not None:
            return found
    return pytest.skip(f"this SDK has no {paths[0]}")
