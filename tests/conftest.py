"""For every test: an environment without settings of telemetry or of providers, so that the machine's own do not matter."""

from __future__ import annotations

import os

import pytest

OURS = ("OTEL_", "ANTHROPIC_", "OPENAI_")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable that steers OpenTelemetry, this package or an SDK."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
