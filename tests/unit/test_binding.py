"""Arguments by name: what the signature calls them, without the receiver, and none of them lost."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from otel_agent.instrument.binding import Binding, declared


def plain(order: str, *, limit: int = 3) -> None: ...


def first_only(order: str, /, **more: Any) -> None: ...


def rest(order: str, *others: str, **more: Any) -> None: ...


class Desk:
    def act(this, order: str) -> None: ...  # noqa: N805 - the receiver may have any name

    def usual(self, order: str) -> None: ...


CALLS = [
    (plain, None, ("A1",), {"limit": 2}, {"order": "A1", "limit": 2}),
    (plain, None, (), {"order": "A1"}, {"order": "A1"}),
    (plain, None, ("A1", "A2"), {}, None),
    (first_only, None, ("A1",), {"limit": 2}, {"order": "A1", "limit": 2}),
    (first_only, None, ("A1",), {"order": "B2", "limit": 2}, {"order": "A1", "more": {"order": "B2", "limit": 2}}),
    (rest, None, ("A1",), {}, {"order": "A1"}),
    (rest, None, ("A1", "A2", "A3"), {"note": "x"}, {"order": "A1", "others": ("A2", "A3"), "note": "x"}),
    (rest, None, ("A1", "A2"), {"others": "x"}, {"order": "A1", "others": ("A2",), "more": {"others": "x"}}),
    (Desk.act, Desk(), ("A1",), {}, {"order": "A1"}),
    (Desk().act, Desk(), ("A1",), {}, {"order": "A1"}),
    (Desk.usual, None, (Desk(), "A1"), {}, {"order": "A1"}),
    (len, object(), ("A1",), {}, {"obj": "A1"}),
    (dict, None, ("A1",), {}, None),
]


@pytest.mark.parametrize(("function", "instance", "args", "kwargs", "expected"), CALLS)
def test_arguments_by_name(function: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any], expected: Any) -> None:
    """Each once, under its own name."""
    assert Binding(function).of(instance, args, kwargs) == expected


def test_what_a_signature_declares() -> None:
    """The receiver is no argument, and names under ``**`` are the caller's."""
    assert declared(rest) == {"order", "others"}
    assert declared(Desk.usual) == {"order"}
    assert declared(dict) is None


class Reluctant:
    """A callable that raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __call__(self, order: str) -> str:
        return order


def test_a_callable_that_will_not_be_read() -> None:
    """Declaring it as a tool does not fail; its arguments have names where the call gives them."""
    binding = Binding(Reluctant())
    assert binding.of(None, ("A1",), {}) is None
    assert binding.of(None, (), {"order": "A1"}) == {"order": "A1"}
    assert declared(Reluctant()) is None


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated where they are written")
def test_no_annotation_is_evaluated() -> None:
    """One may name what only a type checker knows."""
    made: dict[str, Any] = {}
    exec(compile("def typed(order: Missing, limit: Missing.Inner = 3): ...", "typed", "exec", dont_inherit=True), made)  # noqa: S102
    assert Binding(made["typed"]).of(None, ("A1", 2), {}) == {"order": "A1", "limit": 2}
