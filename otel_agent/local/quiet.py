"""Keeps the servers' own logs free of payload: a traceback is logged as the exception's type and place, never its message."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final

LOGGERS: Final = ("uvicorn.error", "grpc", "grpc._server", "concurrent.futures", "asyncio")
PAUSE: Final = 60.0
"""Seconds until a text may be said again."""


def _place(trace: TracebackType | None) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "an unknown place"


class NotAgain(logging.Filter):
    """Drops what was said a moment ago: senders that misbehave, or too many of them, must not fill a log."""

    def __init__(self, pause: float = PAUSE) -> None:
        super().__init__()
        self._pause = pause
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the text has not been said within the pause."""
        text, now = str(record.msg), time.monotonic()
        fresh = now - self._said.get(text, -self._pause) >= self._pause
        if fresh:
            self._said[text] = now
        return fresh


def type_and_place(record: logging.LogRecord) -> bool:
    """A logging filter that lets every record pass, without what its exception said."""
    if record.exc_info and record.exc_info[0] is not None:
        record.msg = f"{record.name}: {record.exc_info[0].__name__} at {_place(record.exc_info[2])}"
        record.args = None
        record.exc_info = None
        record.exc_text = None
    return True


@contextmanager
def without_messages() -> Iterator[None]:
    """While open, the loggers of the transports go through :func:`type_and_place`, and repeat nothing."""
    filters = (type_and_place, NotAgain())
    for name in LOGGERS:
        for each in filters:
            logging.getLogger(name).addFilter(each)
    try:
        yield
    finally:
        for name in LOGGERS:
            for each in filters:
                logging.getLogger(name).removeFilter(each)
