"""Programs that send to a running stack as applications do: through ``otel-agent run``, by the standard variables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dashboards import build as boards
from dashboards.thresholds import load
from tests.stack.addresses import Stack
from tests.stack.build import ROOT

LIMIT = 120.0
"""Seconds that any of these programs may take."""


def environment(stack: Stack, service: str, **more: str) -> dict[str, str]:
    """What an application has to know: where the collector is, and its own name."""
    return {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": stack.otlp_http,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_SERVICE_NAME": service,
        "OTEL_METRIC_EXPORT_INTERVAL": "2000",
        "OTEL_AGENT_DIGEST_KEY": "a key for the stack tests",
        "OTEL_AGENT_EXIT_TIMEOUT": "20",
        **more,
    }


def started(stack: Stack, service: str, module: str, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
    """A program of ours, observed without a line in it."""
    command = [sys.executable, "-m", "otel_agent.cli", "run", "--", sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment(stack, service, **more))


def ended(*programs: subprocess.Popen[bytes]) -> None:
    """All of them came to a good end."""
    assert [0] * len(programs) == [program.wait(LIMIT) for program in programs]


def hurried_rules(folder: Path, window: str, baseline: str, every: str = "1s") -> Sequence[Path]:
    """The shipped rules over short windows and without holding; thresholds and minimum counts are the shipped ones."""
    boards.write(boards.files(load().hurried(window, baseline, every)), folder)
    return [folder / "rules" / name for name in ("recording.yml", "alerts.yml")]
