"""``python -m tests.stack pictures``: plays agents into a native stack for some minutes, and draws every board over what came of it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dashboards import pictures
from otel_agent.testing.canaries import Canaries
from otel_agent.testing.standin import Standin
from tests.stack import acts, leaks
from tests.stack.addresses import Stack
from tests.stack.build import ROOT
from tests.stack.configs import Options
from tests.stack.native import native_stack
from tests.stack.stage import environment, hurried_rules, started

WINDOW, BASELINE, EVERY = "2m", "6m", "2s"
PAUSE = 4.0


def draw(minutes: float, out: Path) -> None:
    """Healthy for the first two thirds, then with everything that can go wrong."""
    with tempfile.TemporaryDirectory(prefix="otel-agent-pictures-") as folder:
        rules = hurried_rules(Path(folder), WINDOW, BASELINE, EVERY)
        with Standin() as standin, native_stack(Options(rule_files=rules, evaluation_interval=EVERY)) as running:
            begun = time.monotonic()
            while (gone := (time.monotonic() - begun) / 60) < minutes:
                _round(running.stack, standin, ill=gone > minutes * 2 / 3, control=Path(folder) / "control")
                print(f"played {gone:.1f} of {minutes:g} minutes", flush=True)
                time.sleep(PAUSE)
            stack = running.stack
            shown = ["--minutes", f"{minutes + 0.5:g}", "--rate", "1m", "--out", str(out)]
            pictures.main([stack.prometheus, "--logs", stack.logs, "--traces", stack.jaeger, *shown])


def _round(stack: Stack, standin: Standin, *, ill: bool, control: Path) -> None:
    """The demo once, and the agents of the alert scenarios in one state; when ill, with an application that leaks beside them."""
    command = [sys.executable, "-m", "otel_agent.cli", "demo", "--endpoint", stack.otlp_http]
    demo = subprocess.Popen(command, cwd=ROOT, env=environment(stack, "demo"), stdout=subprocess.DEVNULL)
    acts.load(standin, "shop", ill=ill)
    started(stack, "shop", "tests.stack.agents", standin.url(), "shop", "ill" if ill else "well").wait()
    if ill:
        leaks.scripts(standin, Canaries("pictures"))
        leaks.leak(stack, standin, control)
    demo.wait()
