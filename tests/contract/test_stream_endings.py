"""Whatever ends a stream first ends its record, once; a second end does nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from typing import Any

import pytest

from otel_agent.testing import Capture, Standin, capture
from otel_agent.testing.standin import BreakOff, Held, StreamError

from .drivers import Driver
from .streams import EVERY_KIND, EVERY_RAW_KIND, KINDS, Kind, Opened, settle
from .ways import SAID


async def read(driver: Driver, opened: Opened) -> None:
    """Read it all."""
    await driver.items(opened.stream)


async def closed(driver: Driver, opened: Opened) -> None:
    """Read one item, then close."""
    await driver.step(opened.stream)
    await driver.close(opened.stream)


async def closed_unread(driver: Driver, opened: Opened) -> None:
    """Close at once."""
    await driver.close(opened.stream)


async def left(driver: Driver, opened: Opened) -> None:
    """Leave the ``with`` block after one item."""
    await driver.step(opened.stream)
    await opened.leave(None, None)


async def left_by_exception(driver: Driver, opened: Opened) -> None:
    """The body of the ``with`` block raises."""
    await driver.step(opened.stream)
    error = ValueError("of the caller")
    await opened.leave(ValueError, error)


async def broken_off(driver: Driver, opened: Opened) -> None:
    """A loop left by ``break``, and the object dropped."""
    async for _ in driver.each(opened.stream):
        break


async def dropped(driver: Driver, opened: Opened) -> None:
    """One item by ``next``, and the object dropped."""
    await driver.step(opened.stream)


async def never_read(_driver: Driver, _opened: Opened) -> None:
    """Not an item."""


ENDINGS = (
    (read, "read"), (closed, "closed"), (closed_unread, "closed"), (left, "closed"), (left_by_exception, "closed"),
    (broken_off, "abandoned"), (dropped, "abandoned"), (never_read, "abandoned"),
)  # fmt: skip


@EVERY_KIND
@pytest.mark.parametrize(("ending", "how"), ENDINGS, ids=[ending.__name__ for ending, _ in ENDINGS])
async def test_one_record_whatever_ends_it(driver: Driver, kind: Kind, ending: Any, how: str, standin: Standin, telemetry: Capture) -> None:
    """Cases 006, 008, 010: exhaustion, close, exit, exception of the caller, drop and no reading at all; further ends do nothing."""
    opened = await kind.opened(driver, standin)
    await ending(driver, opened)
    if how == "abandoned":
        assert telemetry.turns == []
    else:
        assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == [how]
        await driver.close(opened.stream)
        await opened.leave(None, None)
    del opened
    await settle()
    assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == [how]
    assert [span["status"] for span in telemetry.spans] == ["UNSET"]
    assert ("otel_agent.usage.state", "complete") in telemetry.turns[0].items() or how != "read"
    assert "error.type" not in telemetry.turns[0]


@EVERY_KIND
async def test_a_break_may_be_resumed(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Case 008: a loop that is left and taken up again is one stream with one end."""
    opened = await kind.opened(driver, standin)
    first = await driver.step(opened.stream)
    assert telemetry.turns == []
    rest = await driver.items(opened.stream)
    await opened.leave(None, None)
    assert first is not rest[0]
    assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == ["read"]


@EVERY_KIND
async def test_an_error_event_of_the_provider(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Cases 013, 054: raised or handed on as the SDK does, one record that names the error's type and nothing it says."""
    opened = await kind.opened(driver, standin, StreamError(SAID, 2, "overloaded_error", "the secret of the lantern"))
    raised = None
    try:
        await driver.items(opened.stream)
    except Exception as error:
        raised = error
    assert (raised is not None) == kind.raises
    del opened, raised
    await settle()
    (turn,) = telemetry.turns
    assert turn["otel_agent.stream.end"] == ("failed" if kind.raises else "read")
    assert "error.type" in turn
    assert turn["otel_agent.response.finish_reason"] == "error"
    assert [span["status"] for span in telemetry.spans] == ["ERROR"]
    assert "lantern" not in telemetry.everything()


@EVERY_KIND
async def test_a_connection_cut_in_the_middle(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Cases 013, 028: the transport's exception reaches the caller; the record ends as failed, once."""
    opened = await kind.opened(driver, standin, BreakOff(SAID, 2))
    with pytest.raises(Exception, match=r"(?i)peer closed|incomplete|connection error") as raised:
        await driver.items(opened.stream)
    name = type(raised.value).__name__
    del opened, raised
    await settle()
    (turn,) = telemetry.turns
    assert turn["otel_agent.stream.end"] == "failed"
    assert turn["error.type"] == name
    assert [span["status"] for span in telemetry.spans] == ["ERROR"]


@EVERY_RAW_KIND
async def test_a_stream_that_ends_before_its_closing_event(driver: Driver, kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Cases 028, 040: an early clean end leaves the finish reason unknown and the missing counts absent, never zero."""
    opened = await kind.opened(driver, standin, BreakOff(SAID, 2, clean=True))
    with contextlib.suppress(Exception):  # some SDK versions take it for an error
        await driver.items(opened.stream)
    (turn,) = telemetry.turns
    assert turn["otel_agent.response.finish_reason"] == "unknown"
    assert turn["otel_agent.usage.state"] in {"missing", "partial"}
    assert "gen_ai.usage.output_tokens" not in turn


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_cancelled_task(kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """Case 013: cancellation passes through, and is a cancellation in the record."""
    driver, gate = Driver(is_async=True), threading.Event()
    opened = await kind.opened(driver, standin, Held(SAID, gate, 2))
    task = asyncio.create_task(driver.items(opened.stream))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == ["cancelled"]
    await driver.close(opened.stream)
    del opened, task
    await settle()
    assert len(telemetry.turns) == 1
    await driver.close_clients()


@EVERY_RAW_KIND
def test_an_interrupt_in_the_middle(kind: Kind, standin: Standin, telemetry: Capture) -> None:
    """A keyboard interrupt while the SDK reads passes through, and counts as a cancellation."""

    async def body() -> None:
        driver = Driver(is_async=False)
        opened = await kind.opened(driver, standin)
        opened.stream._client._process_response_data = _interrupt
        with pytest.raises(KeyboardInterrupt):
            next(opened.stream)

    with contextlib.closing(body()) as coroutine, contextlib.suppress(StopIteration):
        coroutine.send(None)
    assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == ["cancelled"]


def _interrupt(**_options: Any) -> None:
    raise KeyboardInterrupt


@EVERY_KIND
@pytest.mark.parametrize("read_first", [True, False], ids=["read", "unread"])
def test_a_loop_that_ends_first(kind: Kind, read_first: bool, standin: Standin, telemetry: Capture) -> None:
    """Case 010: an async stream whose loop is gone before it is dropped still ends as abandoned, once, without a word."""
    driver = Driver(is_async=True)

    async def body() -> Opened:
        opened = await kind.opened(driver, standin)
        if read_first:
            await driver.step(opened.stream)
        return opened

    with asyncio.Runner() as runner:
        opened = runner.run(body())
    del opened
    driver._clients.clear()
    gc.collect()
    assert [turn["otel_agent.stream.end"] for turn in telemetry.turns] == ["abandoned"]


@EVERY_KIND
async def test_dropping_closes_the_connection_as_without_us(driver: Driver, kind: Kind) -> None:
    """Case 010: nothing of ours keeps the HTTP response open or alive."""

    async def closed_after_drop() -> bool:
        with Standin(seed="same") as standin:
            opened = await kind.opened(driver, standin, Held(SAID, threading.Event(), 4, timeout=1))
            await driver.step(opened.stream)
            response = opened.stream.response if hasattr(opened.stream, "response") else opened.stream._response
            del opened
            await settle()
            return bool(response.is_closed)

    bare = await closed_after_drop()
    with capture():
        assert await closed_after_drop() is bare


@EVERY_RAW_KIND
async def test_dropping_closes_at_once_as_without_us(kind: Kind) -> None:
    """Case 010: where the SDK closes a dropped stream without the garbage collector, it still does."""

    async def closed_at_once() -> bool:
        with Standin(seed="same") as standin:
            driver = Driver(is_async=False)
            opened = await kind.opened(driver, standin)
            await driver.step(opened.stream)
            response = opened.stream.response
            gc.disable()
            try:
                del opened
                return bool(response.is_closed)
            finally:
                gc.enable()

    bare = await closed_at_once()
    with capture():
        assert await closed_at_once() is bare
