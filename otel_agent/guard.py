"""The one wide handler: telemetry never raises into the caller.

A failure of ours is tallied under its place and logged once per place and type: the type and the line, never the message, because an
exception's message can quote what it failed on. Under test the guard is loud: it re-raises.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, ParamSpec, TypeVar

from otel_agent.tally import tally

P = ParamSpec("P")
R = TypeVar("R")

log: Final = logging.getLogger("otel_agent")
# Our diagnostics must not enter the pipeline they report on: a handler of the host on the root logger may be an exporter.
log.propagate = False
if not log.handlers:
    _handler = logging.StreamHandler()
    _handler.setFormatter(logging.Formatter("otel_agent: %(message)s"))
    log.addHandler(_handler)

PANICS: Final = "pyo3_runtime"
"""Where the exception lives that libraries written in Rust raise when they panic. It is no ``Exception``, and can only be told by this."""

MAX_NAME: Final = 128
MAX_REPORTS: Final = 100
"""Lines of log at most: classes of exceptions may be made at run time, one per failure."""

_loud = False
_reported: Final[set[tuple[str, str]]] = set()


def run(place: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Call ``function``; ``None`` when it raised. Only ``Exception`` and panics are held: an interrupt or a cancellation is the host's."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - the one place where everything of ours is held
        note(place, error)
    except BaseException as error:
        if type(error).__module__ != PANICS:
            raise
        note(place, error)
    return None


def watched(place: str, items: Iterable[R], look: Callable[[R], object]) -> Iterator[R]:
    """Hand on ``items`` one by one, each after a ``look`` at it under the guard. Spelled out, since it runs per streamed chunk."""
    for item in items:
        try:
            look(item)
        except Exception as error:  # noqa: BLE001 - as in :func:`run`
            note(place, error)
        yield item


async def watched_async(place: str, items: AsyncIterable[R], look: Callable[[R], object]) -> AsyncIterator[R]:
    """The same for asynchronous items."""
    async for item in items:
        try:
            look(item)
        except Exception as error:  # noqa: BLE001 - as in :func:`run`
            note(place, error)
        yield item


def note(place: str, error: BaseException) -> None:
    """Tally and log one failure of ours; re-raise it when loud."""
    if _loud:
        raise error
    tally("failure", place)
    kind = _name(type(error))
    if (place, kind) not in _reported and len(_reported) < MAX_REPORTS:
        _reported.add((place, kind))
        log.warning("%s failed with %s at %s; later failures of this kind are only counted", place, kind, _line(error))


def _name(kind: type) -> str:
    """The name of a class that is one: what is made at run time may be called by a sentence, or by a megabyte."""
    name = kind.__name__
    return name if len(name) <= MAX_NAME and name.isascii() and name.isidentifier() else "an exception without a name"


def _line(error: BaseException) -> str:
    """File name and line where ``error`` was raised: no source text, no values."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"


@contextmanager
def loud() -> Iterator[None]:
    """While open, failures of ours are raised instead of held: what every test should run under."""
    global _loud  # noqa: PLW0603 - one switch for the process
    before, _loud = _loud, True
    try:
        yield
    finally:
        _loud = before
