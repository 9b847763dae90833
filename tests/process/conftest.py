"""A provider and a collector for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from otel_agent.testing import Standin
from otel_agent.testing.standin import Reply, Text, Thinking, ToolUse

from .receiving import Collector, collecting


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that does its work."""
    with collecting() as running:
        yield running


@pytest.fixture
def provider() -> Iterator[Standin]:
    """A provider that answers everything: first asks for a tool where one is offered, then says one sentence."""
    with Standin(seed="process", caching=False) as running:
        running.script("*", answer)
        yield running


def answer(request: object) -> Reply:
    """A tool call until its result has been sent, then an answer."""
    text = str(getattr(request, "json", ""))
    if "find_order" in text and "is in Oslo" not in text:
        return Reply([Thinking("The depot may know."), ToolUse("find_order", {"order": "A1"}, id="call_1")])
    return Reply([Thinking("The depot may know."), Text("It waits in Oslo.")])
