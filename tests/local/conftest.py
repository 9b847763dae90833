"""A receiver per test, on free loopback ports, with failures of ours raised instead of held."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from otel_agent import guard
from otel_agent.local.server import LocalServer


@pytest.fixture(autouse=True)
def _loud() -> Iterator[None]:
    with guard.loud():
        yield


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where a store would be, in a folder that is not there yet."""
    return tmp_path / "private" / "store.duckdb"


@pytest.fixture
def server(database: Path) -> Iterator[LocalServer]:
    """A receiver on free ports."""
    with LocalServer(database, grpc_port=0, http_port=0) as running:
        yield running
