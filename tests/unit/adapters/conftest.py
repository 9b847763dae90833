"""Every test of an adapter starts with empty counts and ends without a warning."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from otel_agent import tally


@pytest.fixture(autouse=True)
def counts() -> Iterator[None]:
    """Counts of the readers begin at nothing."""
    tally.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    tally.reset()


@pytest.fixture
def tallied() -> object:
    """What the readers counted so far, as ``kind place``."""
    return lambda: sorted(f"{kind} {place}" for kind, place in tally.tallies())
