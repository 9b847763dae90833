"""Contexts around code that does not run in one go: blocks, generators, async generators."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from types import TracebackType
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context


class attached:  # noqa: N801 - used as a verb in ``with attached(context)``
    """Makes a context current for a block. Leaves another context alone if the block ends in one: no token is kept."""

    __slots__ = ("_before", "_context")

    def __init__(self, context: Context) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._before = otel_context.get_current()
        otel_context.attach(self._context)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if otel_context.get_current() is self._context:
            otel_context.attach(self._before)


class Stepped(Generator[Any, Any, Any]):
    """A generator each of whose steps runs in a given context; between steps the consumer's own context is in force."""

    def __init__(self, inner: Generator[Any, Any, Any], context: Context) -> None:
        self._inner = inner
        self._context = context

    def send(self, value: Any) -> Any:
        """One step."""
        with attached(self._context):
            return self._inner.send(value)

    def throw(self, kind: Any, error: Any = None, trace: Any = None) -> Any:
        """One step that begins with an exception, given alone or as class, value and traceback."""
        with attached(self._context):
            return self._inner.throw(kind if error is None else error)

    def close(self) -> None:
        """End the inner generator in its context."""
        with attached(self._context):
            self._inner.close()


class SteppedAsync:
    """What ``yield from`` is for a generator, for an async one: each step in a given context, what is sent and thrown handed in.

    ``while await steps.advance(): with steps: steps.sent = yield steps.item``
    """

    def __init__(self, inner: AsyncGenerator[Any, Any], context: Context) -> None:
        self._inner = inner
        self._context = context
        self._thrown: BaseException | None = None
        self.item: Any = None
        self.sent: Any = None

    async def advance(self) -> bool:
        """One step; false when the inner generator is at its end."""
        sent, thrown, self.sent, self._thrown = self.sent, self._thrown, None, None
        try:
            with attached(self._context):
                self.item = await (self._inner.asend(sent) if thrown is None else self._inner.athrow(thrown))
        except StopAsyncIteration:
            return False
        return True

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Keep what the consumer throws for the inner generator; only the end of the outer one goes on."""
        if error is None or issubclass(type(error), GeneratorExit):
            return False
        self._thrown = error
        return True

    async def aclose(self) -> None:
        """End the inner generator in its context."""
        with attached(self._context):
            await self._inner.aclose()
