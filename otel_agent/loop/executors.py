"""The two ways to run the calls of a step: in threads, or as tasks. What may run beside what is decided elsewhere."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from types import TracebackType
from typing import Any, Self

from otel_agent.instrument.tools import tool_call
from otel_agent.loop.decisions import Seat
from otel_agent.loop.dispatch import UNKNOWN, Dispatch
from otel_agent.loop.turns import Call

THREADS = "otel-agent-loop"


class Executor:
    """Threads that carry the context they are started from, and with it the run. A context manager, since it holds them."""

    def __init__(self, dispatches: Mapping[str, Dispatch], workers: int) -> None:
        self._dispatches = dispatches
        self._pool = ThreadPoolExecutor(workers, THREADS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pool.shutdown(wait=error is None, cancel_futures=True)

    def execute(self, seats: Sequence[Seat]) -> None:
        """Run all at once, and wait for all."""
        for future in [self._pool.submit(copy_context().run, self._one, seat) for seat in seats]:
            future.result()

    def _one(self, seat: Seat) -> None:
        call = seat.call
        # Nobody cancels a thread: a tool that says it was cancelled speaks of something of its own.
        with suppress(asyncio.CancelledError), seat, tool_call(call.id):
            seat.take(_settled(self._dispatches.get(call.name, UNKNOWN).call(call.name, call.arguments)))


def _settled(result: Any) -> Any:
    """A result that is there already. Raises ``TypeError`` for a coroutine, which a thread has nobody to wait for."""
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError
    return result


class AsyncExecutor:
    """Tasks for coroutine functions, threads for plain ones, so that these do not hold up the event loop."""

    def __init__(self, dispatches: Mapping[str, Dispatch], workers: int) -> None:
        self._dispatches = dispatches
        self._room = asyncio.Semaphore(workers)
        self._pool = ThreadPoolExecutor(workers, THREADS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)  # to wait would hold up the event loop

    async def execute(self, seats: Sequence[Seat]) -> None:
        """Run all at once, and wait for all. Each task carries this context; a cancellation reaches all of them."""
        async with asyncio.TaskGroup() as group:
            for seat in seats:
                group.create_task(self._one(seat))

    async def _one(self, seat: Seat) -> None:
        async with self._room:
            with seat, tool_call(seat.call.id):
                seat.take(await self._called(seat.call))

    async def _called(self, call: Call) -> Any:
        dispatch = self._dispatches.get(call.name, UNKNOWN)
        if dispatch.waits:
            return await dispatch.call(call.name, call.arguments)
        run = copy_context().run
        result = await asyncio.get_running_loop().run_in_executor(self._pool, run, dispatch.call, call.name, call.arguments)
        return await result if inspect.isawaitable(result) else result
