"""Numbers on the command line, checked where they are read, so that a wrong one is said by its option and remedy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

LONGEST: Final = 36_500
"""A hundred years, in days."""


def whole(what: str, low: int, high: int) -> Callable[[str], int]:
    """A reader for ``type=``: a whole number within bounds."""

    def read(text: str) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"this is not {what}; write a whole number from {low} to {high}")
        return int(text)

    return read


def seconds(text: str) -> float:
    """A reader for ``type=``: seconds, none of them negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 86_400.0:
        raise argparse.ArgumentTypeError("this is no number of seconds; write one from 0 to 86400")
    return value


port: Final = whole("a port", 0, 65_535)
days: Final = whole("a number of days", 1, LONGEST)
count: Final = whole("a count", 1, 1000)
