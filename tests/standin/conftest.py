"""A stand-in for each test, and the voices that speak to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from voices import Voice

from otel_agent.testing.standin import Standin


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A running stand-in whose made-up ids do not change."""
    with Standin(seed="test") as running:
        yield running


@pytest.fixture(params=["sync", "async"])
def voice(request: pytest.FixtureRequest, standin: Standin) -> Iterator[Voice]:
    """The clients, sync and async in turn."""
    speaking = Voice(standin, is_async=request.param == "async")
    yield speaking
    speaking.close()
