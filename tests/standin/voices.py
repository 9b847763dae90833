"""One way to drive the sync and the async SDKs with the same test body."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

from otel_agent.testing.standin import Standin


class Voice:
    """Speaks to a stand-in through the sync or the async clients."""

    def __init__(self, standin: Standin, *, is_async: bool) -> None:
        self.standin = standin
        self.is_async = is_async
        self._runner = asyncio.Runner()
        self._clients: list[Any] = []

    def anthropic(self, **options: Any) -> Any:
        """An Anthropic client."""
        kind = anthropic.AsyncAnthropic if self.is_async else anthropic.Anthropic
        return self._made(kind, self.standin.anthropic_url, options)

    def openai(self, **options: Any) -> Any:
        """An OpenAI client."""
        kind = openai.AsyncOpenAI if self.is_async else openai.OpenAI
        return self._made(kind, self.standin.openai_url, options)

    def _made(self, kind: Callable[..., Any], url: str, options: dict[str, Any]) -> Any:
        client = kind(**{"base_url": url, "api_key": "none", **options})
        self._clients.append(client)
        return client

    def run(self, value: Any) -> Any:
        """The value, awaited if it has to be."""
        return self._runner.run(_awaited(value)) if inspect.isawaitable(value) else value

    def items(self, stream: Any) -> list[Any]:
        """All that is left in a stream."""
        return self._runner.run(_collected(stream)) if hasattr(stream, "__aiter__") else list(stream)

    def within(self, manager: Any, use: Callable[[Any], Any]) -> Any:
        """What `use` returns, or awaits to, of the object that the context manager enters."""
        if hasattr(manager, "__aenter__"):
            return self._runner.run(_within(manager, use))
        with manager as entered:
            return use(entered)

    def close(self) -> None:
        """Close the clients and the loop."""
        for client in self._clients:
            self.run(client.close())
        self._runner.close()


async def _awaited(value: Any) -> Any:
    return await value


async def _collected(stream: Any) -> list[Any]:
    return [item async for item in stream]


async def _within(manager: Any, use: Callable[[Any], Any]) -> Any:
    async with manager as entered:
        used = use(entered)
        return await used if inspect.isawaitable(used) else used


def reach(client: Any, path: str) -> Any:
    """A method of a client by its dotted path; skips the test where this SDK version does not have it."""
    for name in path.split("."):
        client = getattr(client, name, None) or pytest.skip(f"this SDK has no {path}")
    return client
