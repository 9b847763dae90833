"""Messages recognised by the bytes in which they go out."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_agent.wire import MAX_HEAD, MAX_MEAN, Wire

WAYS: list[dict[str, Any]] = [{"separators": (",", ":"), "ensure_ascii": False}, {"separators": (", ", ": ")}, {"indent": 1}]
MESSAGES = [
    {"role": "user", "content": 'a "quoted" [word] {and}, \\ another'},
    {"role": "assistant", "content": [{"type": "text", "text": "é"}]},
]


def wire(body: Any, array: Any = "messages", **way: Any) -> Wire | None:
    """The body as an SDK sends it."""
    return Wire.of(SimpleNamespace(_content=json.dumps(body, **(way or WAYS[0])).encode()), array)


def sent(messages: list[Any], **way: Any) -> Wire:
    """A request that holds ``messages`` and ends with something else."""
    found = wire({"max_tokens": 1, "messages": messages, "model": "m"}, **way)
    assert found is not None
    return found


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(['"', "}", "]", "role", "content", "\\"]), values, min_size=1, max_size=3)


@given(st.lists(objects, min_size=1, max_size=6), st.lists(objects, max_size=3), st.sampled_from(WAYS), st.data())
def test_what_is_repeated_is_recognised_and_nothing_else(old: list[Any], new: list[Any], way: dict[str, Any], data: st.DataObject) -> None:
    """Whatever the texts hold that looks like structure, and however the writer puts spaces."""
    count = data.draw(st.integers(1, len(old)))
    mark = sent(old, **way).mark(count, None)
    assert mark is not None
    later = sent([*old, *new], **way)
    assert later.repeats(mark)
    whole = later.mark(len(old) + len(new), None)
    assert whole == later.mark(len(old) + len(new), mark) if len(old) + len(new) > count else whole is not None
    assert later.mark(len(old) + len(new) + 1, None) is None
    at = data.draw(st.integers(0, count - 1))
    other = data.draw(objects.filter(lambda value: json.dumps(value) != json.dumps(old[at])))
    assert not sent([*old[:at], other, *old[at + 1 :], *new], **way).repeats(mark)


@pytest.mark.parametrize("way", WAYS)
def test_a_shorter_request_repeats_nothing(way: dict[str, Any]) -> None:
    """Nor does one whose last message goes on where the mark ends."""
    mark = sent(MESSAGES, **way).mark(2, None)
    assert mark is not None
    assert not sent(MESSAGES[:1], **way).repeats(mark)
    assert sent(MESSAGES, **way).repeats(mark)


@pytest.mark.parametrize(
    "ahead",
    [
        {},
        {"max_tokens": 1024, "temperature": 0.5, "stream": True, "metadata": None},
        {"metadata": {"user": 'x "messages": [{ \\'}, "include": ["a", "]"], "stop": '"messages":[{'},
        {"messages_more": [1], "x": {}, "y": []},
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_the_array_is_found_past_plain_members(ahead: dict[str, Any], way: dict[str, Any]) -> None:
    """Members whose texts look like the array are not taken for it."""
    found = wire({**ahead, "messages": MESSAGES, "tools": [{"messages": [{}]}]}, **way)
    assert found is not None
    assert found.mark(2, None) is not None
    assert found.mark(3, None) is None


@pytest.mark.parametrize(
    "body",
    [
        {}, [], "messages", {"messages": "text"}, {"messages": []}, {"messages": ["text"]}, {"messages": {"a": 1}}, {"input": [{}]},
        {"tools": [{"messages": [{}]}], "messages": [{}]}, {"a": {"messages": [{}]}}, {"pad": "x" * MAX_HEAD, "messages": [{}]},
    ],
)  # fmt: skip
def test_other_bodies_are_left_to_the_comparison(body: Any) -> None:
    """No array of objects in sight: there is nothing to read."""
    assert wire(body) is None


@pytest.mark.parametrize("content", [None, "text", bytearray(b'{"messages":[{}]}'), b"", b"\x1f\x8b", b'{"messages":[', b"{" * 100_000])
def test_other_contents_are_left_to_the_comparison(content: Any) -> None:
    """A stream, a compressed body, one that is cut."""
    assert Wire.of(SimpleNamespace(_content=content), "messages") is None
    assert Wire.of(SimpleNamespace(), "messages") is None
    assert Wire.of(object(), "messages") is None


def test_what_is_cut_has_no_mark() -> None:
    """A body that ends inside a message, or where its array should."""
    data = json.dumps({"messages": MESSAGES}).encode()
    for end in range(len(data)):
        found = Wire.of(SimpleNamespace(_content=data[:end]), "messages")
        assert found is None or found.mark(2, None) is None or end >= len(data) - 2


def test_large_texts_are_not_read_through() -> None:
    """Where hashing would cost more than comparing, there is no mark; a body of escapes takes no more time than any."""
    assert sent([{"role": "user", "content": "x" * MAX_MEAN}]).mark(1, None) is None
    assert sent([{"role": "user", "content": "x" * 10}, {"role": "user", "content": '\\"{' * 1_000_000}]).mark(2, None) is None
    assert sent([{"role": "user", "content": "x" * 10}, *MESSAGES]).mark(3, None) is not None


def test_the_responses_input_is_an_array_of_another_name() -> None:
    """Text alone is not one."""
    assert wire({"include": ["a"], "input": MESSAGES}, "input") is not None
    assert wire({"input": "text"}, "input") is None
