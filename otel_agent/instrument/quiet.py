"""Copies of JSON values for a library that quotes what it meets in messages: these cost nothing to quote, and run no code of the caller's.

The validator's messages are never kept, but made: of a text of fifty megabytes for every violation, and of an object of the caller's
by whatever its ``__repr__`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Self

from otel_agent.plain_values import Reading, Uncanonical

MAX_DEPTH: Final = 64
MAX_NAME: Final = 256
MAX_BITS: Final = 1024
"""Of a whole number: what is done with longer ones takes the square of their length."""
LONG: Final = 4096
"""Characters from which a text is not quoted."""


class Unfit(ValueError):
    """The value is no JSON, or more of it than is looked at. Raised by :class:`Copying`."""


class Object(dict[str, Any]):
    """An object that is not quoted. ``weight``: values in it, itself included."""

    __slots__ = ("weight",)
    weight: int

    def __repr__(self) -> str:
        return "{}"


class Array(list[Any]):
    """An array that is not quoted."""

    __slots__ = ("weight",)
    weight: int

    def __repr__(self) -> str:
        return "[]"


class Text(str):
    """A long text, which is neither quoted nor copied: as a string it is empty, and answers as ``text`` does."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """An empty string that has ``text`` beside it."""
        made = super().__new__(cls)
        made.text = text
        return made

    def __len__(self) -> int:
        return len(self.text)

    def __eq__(self, other: object) -> bool:
        return self.text == (other.text if isinstance(other, Text) else other)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return "''"


class Copying:
    """One walk: how many values may still come, and how many levels."""

    __slots__ = ("_left", "_levels", "_plain")

    def __init__(self, max_values: int, max_depth: int = MAX_DEPTH) -> None:
        self._left, self._levels, self._plain = max_values, max_depth, Reading().plain

    def of(self, value: Any) -> Any:
        """A copy in which objects are :class:`Object`, arrays :class:`Array` and long texts :class:`Text`. Raises :class:`Unfit`."""
        if self._left <= 0:
            raise Unfit
        self._left -= 1
        kind = type(value)
        if kind is str:
            return value if len(value) <= LONG else Text(value)
        if value is None or kind is bool:
            return value
        return _number(value) if kind is int or kind is float else self._container(value, kind)

    def _container(self, value: Any, kind: type) -> Any:
        if issubclass(kind, dict):
            return self._within(Object, dict.__len__(value), lambda: {_name(name): self.of(each) for name, each in dict.items(value)})
        if issubclass(kind, list):
            return self._within(Array, list.__len__(value), lambda: [self.of(each) for each in list.__iter__(value)])
        return self.of(self._foreign(value))

    def _foreign(self, value: Any) -> Any:
        """What is no JSON by itself, in the form in which it is digested; all of it together not larger than that may be."""
        try:
            return self._plain(value)
        except Uncanonical as refusal:
            raise Unfit from refusal

    def _within(self, kind: Any, length: int, members: Callable[[], Any]) -> Any:
        if length > self._left or self._levels <= 0:
            raise Unfit
        before = self._left
        self._levels -= 1
        made = kind(members())
        self._levels += 1
        made.weight = 1 + before - self._left
        return made


def _name(name: Any) -> str:
    if not issubclass(type(name), str) or str.__len__(name) > MAX_NAME:
        raise Unfit
    return str.__str__(name)


def _number(value: float) -> float:
    if (type(value) is int and value.bit_length() > MAX_BITS) or (type(value) is float and value - value != 0.0):
        raise Unfit
    return value
