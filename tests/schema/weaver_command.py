"""Where OpenTelemetry Weaver is, and how it is called. It is optional: without it its tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCHEMA = Path(__file__).resolve().parents[2] / "schema"
MISSING = "OpenTelemetry Weaver is neither on PATH nor named by WEAVER"


def found() -> str | None:
    """The command named by ``WEAVER``, else the one on PATH."""
    return os.environ.get("WEAVER") or shutil.which("weaver")


needs_weaver = pytest.mark.skipif(found() is None, reason=MISSING)


def check(registry: str, folder: Path = SCHEMA) -> subprocess.CompletedProcess[str]:
    """Run ``weaver registry check`` where the manifest's relative path is right."""
    command = [found() or "weaver", "registry", "check", "-r", registry, "--v2"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
