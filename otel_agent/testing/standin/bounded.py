"""A dictionary that forgets its oldest entries."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Bounded(OrderedDict[str, Value], Generic[Value]):
    """At most `limit` entries."""

    def __init__(self, limit: int = 10_000) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: str, value: Value) -> None:
        """Put, and drop what is too old."""
        super().__setitem__(key, value)
        while len(self) > self._limit:
            self.popitem(last=False)
