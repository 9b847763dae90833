"""Starting programs as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
ROOT = HERE.parent.parent
KEY = "process-test-key-0123456789"
PYTHON = sys.executable


def environment(endpoint: str | None = None, **changes: str) -> dict[str, str]:
    """The variables of a program: none of this process's own that steer telemetry, and short delays so that tests are short."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "ANTHROPIC_", "OPENAI_", "PYTEST_"))}
    made = {**kept, "PYTHONPATH": str(ROOT), "OTEL_AGENT_DIGEST_KEY": KEY, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    if endpoint is not None:
        made["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    return {**made, **changes}


@dataclass(frozen=True)
class Ended:
    """How a program ended. ``at``: when, on the monotonic clock that all processes share."""

    code: int
    out: str
    err: str
    at: float


def run(*command: Any, env: dict[str, str], seconds: float = 90.0) -> Ended:
    """Run a command to its end."""
    done = subprocess.run([*map(str, command)], env=env, capture_output=True, text=True, timeout=seconds, check=False)
    return Ended(done.returncode, done.stdout, done.stderr, time.monotonic())


def program(name: str, *arguments: Any, env: dict[str, str], before: tuple[Any, ...] = (), seconds: float = 90.0) -> Ended:
    """Run one of the programs beside this file, ``before`` being what starts it."""
    return run(*before, PYTHON, PROGRAMS / f"{name}.py", *arguments, env=env, seconds=seconds)


def ok(ended: Ended) -> Ended:
    """The same, once it is known that the program itself succeeded."""
    assert ended.code == 0, f"ended with {ended.code}: {ended.err[-2000:]}"
    return ended


OTEL_AGENT_RUN = (PYTHON, "-m", "otel_agent.cli", "run", "--")
