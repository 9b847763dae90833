"""Tools and toolboxes are refused where they are written, not where they are used."""

from __future__ import annotations

from typing import Any

import pytest

from otel_agent.loop import Tool


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
