"""Finds Prometheus' and Alertmanager's own checkers, or builds them, or says why not."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.stack import build


@cache
def tool(server: str, name: str) -> Path:
    """A binary from the environment (``PROMTOOL``), the path, or the stack's cache; built there when Go is here. Else skips."""
    named = os.environ.get(name.upper()) or shutil.which(name)
    if named:
        return Path(named)
    if not build.binary(server, name).exists():
        if reason := build.go_missing():
            pytest.skip(f"no {name}: {reason}")
        build.build((server,))
    return build.binary(server, name)


def run(server: str, name: str, *arguments: str | Path, cwd: Path | None = None) -> tuple[int, str]:
    """Exit code and all output."""
    done = subprocess.run([tool(server, name), *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
