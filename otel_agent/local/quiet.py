"""Keeps the servers' own logs free of payload: a traceback is logged as the exception's type and place, never its message."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final

LOGGERS: Final = ("uvicorn.error", "grpc", "grpc._server", "concurrent.futures", "asyncio")


def _place(trace: TracebackType | None) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "an unknown place"


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
    """While open, the loggers of the transports go through :func:`type_and_place`."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(type_and_place)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(type_and_place)
