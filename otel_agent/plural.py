"""Counts in words."""

from __future__ import annotations


def plural(number: float, noun: str) -> str:
    """``noun`` in the form that goes with ``number``."""
    return noun if number == 1 else f"{noun}s"
