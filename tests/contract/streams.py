"""Streams of every kind, opened but not read, for tests of what may happen to them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from otel_agent.testing import Standin
from otel_agent.testing.standin import Step

from .drivers import Driver, reach
from .ways import CHAT_STREAM, MESSAGES, RESPONSES, SAID


@dataclass
class Opened:
    """A stream, and how its ``with`` block would be left."""

    stream: Any
    leave: Callable[[type | None, BaseException | None], Awaitable[Any]]


@dataclass(frozen=True)
class Kind:
    """One kind of stream. ``raises``: whether an ``error`` event of the provider is raised or handed on as an event."""

    name: str
    sdk: str
    paths: tuple[str, ...]
    options: dict[str, Any]
    helper: bool = False
    raises: bool = True

    async def open(self, driver: Driver, client: Any) -> Opened:
        """Send the request and give the stream back unread."""
        call = reach(client, *self.paths)
        manager = call(**self.options) if self.helper else await driver.done(call(stream=True, **self.options))
        if hasattr(manager, "__aenter__"):
            stream = await manager.__aenter__()
        else:
            stream = manager.__enter__()

        async def leave(kind: type | None, error: BaseException | None) -> Any:
            exit_ = getattr(manager, "__aexit__", None) or manager.__exit__
            return await driver.done(exit_(kind, error, None))

        return Opened(stream, leave)

    async def opened(self, driver: Driver, standin: Standin, step: Step = SAID) -> Opened:
        """The same, with a fresh client and a script of one step."""
        standin.script("*", [step])
        return await self.open(driver, driver.client(self.sdk, standin))


KINDS = (
    Kind("messages", "anthropic", ("messages.create",), MESSAGES),
    Kind("messages.helper", "anthropic", ("messages.stream",), MESSAGES, helper=True),
    Kind("beta.helper", "anthropic", ("beta.messages.stream",), MESSAGES, helper=True),
    Kind("chat", "openai", ("chat.completions.create",), CHAT_STREAM),
    Kind("chat.helper", "openai", ("chat.completions.stream", "beta.chat.completions.stream"), CHAT_STREAM, helper=True),
    Kind("responses", "openai", ("responses.create",), RESPONSES, raises=False),
    Kind("responses.helper", "openai", ("responses.stream",), RESPONSES, helper=True, raises=False),
)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
RAW = tuple(kind for kind in KINDS if not kind.helper)
EVERY_RAW_KIND = pytest.mark.parametrize("kind", RAW, ids=lambda kind: kind.name)


async def settle() -> None:
    """Let everything that nobody refers to be collected, and what that schedules be done."""
    for _ in range(3):
        gc.collect()
        await asyncio.sleep(0.002)
