"""Readers of foreign values: what does not fit is told apart without asking the value."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from otel_agent import fields

READERS = (fields.identifier, fields.word, fields.tool_name, fields.model_name, fields.host, fields.error_type)


class Proxy:
    """A lazy proxy with nothing behind it."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("outside of its context")


class Shouting(str):
    def _asked(self, *_args: Any) -> NoReturn:
        raise RuntimeError("asked")

    __eq__ = __hash__ = __len__ = __str__ = __bool__ = _asked  # type: ignore[assignment]


@pytest.mark.parametrize("read", READERS)
def test_no_value_is_asked(read: Any) -> None:
    assert read(Proxy()) is None
    found = read(str.__new__(Shouting, "abc"))
    assert (type(found), found) == (str, "abc")
    assert read(str.__new__(Shouting, "not a word")) == fields.OTHER
    assert read(str.__new__(Shouting, "")) is None
    assert read("a" * 1_000_000) == fields.OTHER
