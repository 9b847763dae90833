"""Fixtures for pytest: ``telemetry`` (a :class:`Capture`), ``standin`` (a running :class:`Standin`), ``canaries``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from otel_agent.testing.canaries import Canaries
from otel_agent.testing.capture import Capture, capture
from otel_agent.testing.standin import Standin


@pytest.fixture
def telemetry() -> Iterator[Capture]:
    """What this test's calls emitted; failures of the instrumentation fail the test."""
    with capture() as captured:
        yield captured


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A provider on loopback, fresh for this test."""
    with Standin() as server:
        yield server


@pytest.fixture
def canaries() -> Canaries:
    """Sentences that must not be found in what was emitted."""
    return Canaries(1)
