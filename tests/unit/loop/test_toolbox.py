"""Tools and toolboxes are refused where they are written, not where they are used."""

from __future__ import annotations

from typing import Any

import pytest

from otel_agent.loop import Tool, Toolbox


def nothing() -> None:
    """A tool."""


@pytest.mark.parametrize("effect", ["reed", "", "READ", None])
def test_an_effect_that_is_none_is_refused_by_the_tool(effect: Any) -> None:
    """A misspelt read would run by itself as a write does, and nobody would know why."""
    with pytest.raises(ValueError, match=r"^a tool's effect is one of read, write, unknown$"):
        Tool("look", nothing, effect=effect)


@pytest.mark.parametrize("effect", ["read", "write", "unknown"])
def test_every_effect_is_taken(effect: Any) -> None:
    """The whole closed set."""
    assert Tool("look", nothing, effect=effect).effect == effect


@pytest.mark.parametrize(
    ("names", "twice"), [(("look", "look"), "look"), (("a", "look", "a", "pay", "pay", "pay"), "a, pay")], ids=["one", "several"]
)
def test_two_tools_of_one_name_are_refused_by_the_toolbox(names: tuple[str, ...], twice: str) -> None:
    """The message says which."""
    with pytest.raises(ValueError, match=f"^a toolbox holds each tool once; several are named {twice}$"):
        Toolbox([Tool(name, nothing) for name in names])


@pytest.mark.parametrize("names", [(), ("look",), ("look", "Look", "pay")], ids=["none", "one", "three"])
def test_tools_of_different_names_stay_in_their_order(names: tuple[str, ...]) -> None:
    """As the model is shown them."""
    assert [item.name for item in Toolbox([Tool(name, nothing) for name in names]).declared] == list(names)
