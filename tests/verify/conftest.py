"""A collector without a guard, and the verb run in this process in an environment of its own."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from otel_agent.cli import main
from tests.process.receiving import collecting


@dataclass(frozen=True)
class Ran:
    """How a run of the verb ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Verify = Callable[..., Ran]


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Verify:
    """Run the verb; ``endpoint`` is where the user's records go."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("OTEL_AGENT_DIGEST_KEY", "a key for these tests")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")

    def run(*arguments: str, endpoint: str | None = None) -> Ran:
        if endpoint is not None:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        code = main(["verify", "--settle", "0.5", *arguments])
        told = capfd.readouterr()
        return Ran(code, told.out, told.err)

    return run


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port on which nobody listens: bound, so that nobody else takes it, and not listened on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@dataclass(frozen=True)
class Unguarded:
    """A pipeline without any guard: what comes in at ``endpoint`` is in ``file``."""

    endpoint: str
    file: Path


@pytest.fixture
def unguarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Unguarded]:
    """A running collector that appends every body to a file."""
    kept, lock = tmp_path / "kept.bin", Lock()

    def keep(_way: str, _signal: str, _headers: dict[str, str], body: bytes) -> None:
        with lock, kept.open("ab") as file:
            file.write(body)

    with collecting() as collector:
        monkeypatch.setattr(collector, "take", keep)
        yield Unguarded(collector.http, kept)
