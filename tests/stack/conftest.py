"""Fixtures of the stack tests. The choice between native and Docker is printed in the report's head."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stack import build, docker
from tests.stack.native import NativeStack, native_stack


def pytest_report_header() -> str:
    native = f"not here ({reason})" if (reason := build.missing()) else f"binaries in {build.cache_root()}"
    containers = f"not here ({reason})" if (reason := docker.missing()) else "docker-compose.yml"
    return f"stack: native: {native}; containers: {containers}"


@pytest.fixture(scope="session")
def go_toolchain() -> None:
    """The servers, or what builds them; where both are missing, the reason is in the report."""
    if reason := build.missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def native(go_toolchain: None) -> Iterator[NativeStack]:
    """One running stack for the tests that leave it as they found it."""
    with native_stack() as running:
        yield running
