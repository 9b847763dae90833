"""The canonical form: the written rule, value by value, and the fast path against the library."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from functools import reduce
from time import thread_time
from typing import Any
from uuid import UUID

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, RootModel

from otel_agent import canonical as module
from otel_agent.canonical import MAX_BYTES, MAX_DEPTH, Marker, canonical, is_marker


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    ONE = "one"


@dataclass
class Point:
    x: int
    y: Any = None


@dataclass(slots=True)
class Slotted:
    x: int


class Order(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int
    lines: list[str] = []


class Names(RootModel[list[str]]):
    pass


class Hostile:
    """Raises whatever is done to it beyond looking at its type."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __hash__ = __eq__ = __iter__ = __len__ = __bool__ = __str__  # type: ignore[assignment]


class Zone(tzinfo):
    def utcoffset(self, when: Any) -> Any:
        raise RuntimeError

    dst = tzname = utcoffset


class Shouting(str):
    def __str__(self) -> str:
        raise RuntimeError

    encode = __str__  # type: ignore[assignment]


class Touchy(type):
    """Raises whatever is asked of the classes it makes."""

    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)

    def __hash__(cls) -> int:
        raise RuntimeError

    __eq__ = __instancecheck__ = __subclasscheck__ = __hash__  # type: ignore[assignment]


class Untouched(metaclass=Touchy):
    pass


UNFINISHED = Order.model_construct(id=1)
del UNFINISHED.id
Pair = namedtuple("Pair", "left right")


def nested(levels: int) -> Any:
    """A list that many levels deep."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def cyclic() -> Any:
    """A dictionary inside itself."""
    value: dict[str, Any] = {}
    value["self"] = {"again": value}
    return value


HELD = [
    ((1, 2), b"[1,2]"),
    (Pair(1, "a"), b'[1,"a"]'),
    (b"\xff\x00", b'"/wA="'),
    (bytearray(b"a"), b'"YQ=="'),
    (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), b'"2026-01-02T03:04:05+00:00"'),
    (date(2026, 1, 2), b'"2026-01-02"'),
    (time(3, 4), b'"03:04:00"'),
    (Decimal("1.10"), b'"1.10"'),
    (UUID(int=1), b'"00000000-0000-0000-0000-000000000001"'),
    ({3, 1, 2}, b"[1,2,3]"),
    (frozenset({"b", "a"}), b'["a","b"]'),
    (Colour.RED, b'"red"'),
    (Level.HIGH, b"3"),
    (Word.ONE, b'"one"'),
    (Point(1, (2,)), b'{"x":1,"y":[2]}'),
    (Slotted(1), b'{"x":1}'),
    (Order.model_validate({"id": 1, "lines": ["a"], "note": "n"}), b'{"id":1,"lines":["a"],"note":"n"}'),
    (Names(["a"]), b'["a"]'),
    (OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
    (Shouting("a"), b'"a"'),
    ({Word.ONE: 1}, b'{"one":1}'),
    (1.0, b"1"),
    (-0.0, b"0"),
    (1e21, b"1e+21"),
    (0.000001, b"0.000001"),
    ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'.encode()),
]

REFUSED = [
    (float("nan"), "nonfinite"),
    ({"a": [float("inf")]}, "nonfinite"),
    (Decimal("NaN"), "nonfinite"),
    (2**53, "integer"),
    ([-(2**60)], "integer"),
    ("\ud800", "surrogate"),
    ({"\udfff": 1}, "surrogate"),
    (nested(MAX_DEPTH + 1), "depth"),
    (cyclic(), "cycle"),
    ({1: "a"}, "key"),
    ({None: "a"}, "key"),
    (Hostile(), "type"),
    ({"a": (Hostile(),)}, "type"),
    (object, "type"),
    (Point, "type"),
    (threading.RLock(), "type"),
    ((value for value in (1, 2)), "type"),
    (range(3), "type"),
    (datetime(2026, 1, 1, tzinfo=Zone()), "type"),
    (UNFINISHED, "type"),
    (object.__new__(Untouched), "type"),
    ([object.__new__(Untouched)], "type"),
    ([object()] * MAX_BYTES, "size"),
    ((object(),) * MAX_BYTES, "size"),
    (dict.fromkeys(range(MAX_BYTES)), "size"),
    ("x" * MAX_BYTES, "size"),
    ([1] * MAX_BYTES, "size"),
    (b"x" * MAX_BYTES, "size"),
]


class TestRule:
    @pytest.mark.parametrize(("value", "expected"), HELD, ids=lambda value: type(value).__name__)
    def test_a_python_value_has_the_written_form(self, value: Any, expected: bytes) -> None:
        """Each row of the table in the module's docstring."""
        assert expected == canonical(value)

    @pytest.mark.parametrize(("value", "reason"), REFUSED, ids=lambda value: value if type(value) is str and len(value) < 10 else "")
    def test_what_has_no_form_gets_a_marker(self, value: Any, reason: str) -> None:
        """It is named, never raised."""
        marker = canonical(value)
        assert (Marker, "uncanonical:" + reason) == (type(marker), marker)
        assert is_marker(str(marker))

    def test_depth_is_bounded_at_the_same_level_on_both_paths(self) -> None:
        """Sixty-four levels pass, with floats inside or without."""
        for bottom in (1, 1.5):
            value = json.loads(json.dumps(nested(MAX_DEPTH)).replace("1", str(bottom)))
            assert type(canonical(value)) is bytes
            assert canonical([value]) == "uncanonical:depth"

    def test_containers_that_are_used_twice_are_no_cycle(self) -> None:
        """Only a container inside itself is one."""
        shared = [1.5]
        assert canonical([shared, shared]) == b"[[1.5],[1.5]]"

    def test_two_normal_forms_of_a_word_differ(self) -> None:
        """Text is taken as it is."""
        assert canonical("\u00e9") != canonical("e\u0301")

    def test_a_widely_shared_cycle_ends_soon(self) -> None:
        """A container that holds itself twice does not double the work at each level."""
        value: dict[str, Any] = {}
        value.update(a=value, b=value)
        assert canonical(value) == "uncanonical:cycle"


scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8)


def nests(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)


trees = st.recursive(scalars, nests, max_leaves=12)
floats = st.floats(allow_nan=False, allow_infinity=False)
mixed = st.recursive(scalars | floats, nests, max_leaves=12)


class TestFastPath:
    @given(trees)
    def test_it_writes_what_the_library_writes(self, value: Any) -> None:
        """Whenever it applies at all."""
        data = module._fast(value)
        assert data is None or data == rfc8785.dumps(value)

    @given(mixed)
    def test_the_whole_writes_what_the_library_writes(self, value: Any) -> None:
        """For every JSON value."""
        assert canonical(value) == rfc8785.dumps(value)

    @given(st.dictionaries(st.text("abc", max_size=3), st.integers(0, 9)))
    def test_it_applies_to_plain_arguments(self, value: dict[str, int]) -> None:
        """Else it would be of no use."""
        assert module._fast(value) is not None

    @given(trees)
    def test_the_interpreters_encoder_agrees_with_the_public_one(self, value: Any) -> None:
        """It is made by a function that is not documented."""
        for sort_keys in (True, False):
            assert module.encoder(sort_keys)(value) == module._public_encoder(sort_keys)(value)

    @given(st.dictionaries(st.text(max_size=4), mixed, max_size=5))
    def test_the_members_of_an_object_are_written_as_alone_and_in_the_whole(self, value: dict[str, Any]) -> None:
        """Wherever they are written at once."""
        found = module.members(value)
        if found is not None:
            assert found[0] == rfc8785.dumps(value)
            assert found[1] == {name: rfc8785.dumps(member) for name, member in value.items()}
            assert list(found[1]) == sorted(value)

    def test_plain_arguments_are_written_at_once(self) -> None:
        """Else it would be of no use."""
        assert module.members({"b": 1, "a": "x"}) == (b'{"a":"x","b":1}', {"a": b'"x"', "b": b"1"})

    @pytest.mark.parametrize("value", [[1], {1: 2}, {"a": 1.5}, {"a": "x" * MAX_BYTES}, {"a": '"' * (MAX_BYTES - 40)}, {"a": "\ud800"}])
    def test_others_are_left_to_the_rule(self, value: Any) -> None:
        """What the fast path refuses, or is too large."""
        assert module.members(value) is None


class TestBounds:
    @pytest.mark.parametrize("path", [list, tuple])
    def test_more_values_than_the_bound_are_too_many_on_both_paths(self, path: Any) -> None:
        """Their own bytes would pass."""
        assert type(canonical(path([1] * (MAX_BYTES // module.VALUE - 1)))) is bytes
        assert canonical(path([1] * (MAX_BYTES // module.VALUE))) == "uncanonical:size"

    def test_sets_in_sets_are_counted_for_being_sorted(self) -> None:
        """Each level is written again to sort the next by; a few levels pass, however that doubles what they hold."""
        few, many = (reduce(lambda inner, _: frozenset([inner, (inner,)]), range(levels), frozenset[Any]()) for levels in (2, 25))
        assert canonical(few) == b"[[[[[]],[]]],[[[]],[]]]"
        assert canonical(many) == "uncanonical:size"

    @pytest.mark.parametrize(
        "value",
        [[1] * 10**6, [1.5] * 10**6, dict.fromkeys(map(str, range(10**6)), 1), {"a": "x" * 50_000_000}, "\u00e9" * 20_000_000,
         [[1.5] * 1000] * 1000, b"x" * 50_000_000],
        ids=["ints", "floats", "keys", "text in an object", "text", "lists", "bytes"],
    )  # fmt: skip
    def test_what_is_huge_is_refused_before_it_is_walked_through(self, value: Any) -> None:
        """In what the largest small value takes, not in what it would take."""
        begun = thread_time()
        assert canonical(value) == "uncanonical:size"
        assert thread_time() - begun < 0.5
