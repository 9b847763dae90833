"""The Go tests of the guard, and every fuzz test of it for a few seconds.

``OTEL_AGENT_STACK_FUZZ`` is how long each fuzz test runs: ``5000x`` (inputs) unless set, or a time such as ``10m``. At the end of a
time, Go's fuzzing now and then takes its own deadline for a failure, so the short run counts.
"""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.stack import build

pytestmark = pytest.mark.stack

GUARD = build.COLLECTOR / "guardprocessor"
FUZZ = re.findall(r"^func (Fuzz\w+)\(", (GUARD / "fuzz_test.go").read_text(), re.MULTILINE)
LENGTH = os.environ.get("OTEL_AGENT_STACK_FUZZ", "5000x")


def go(*arguments: str) -> None:
    if reason := build.go_missing():
        pytest.skip(reason)
    done = subprocess.run(["go", *arguments], cwd=GUARD, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_go_tests_pass() -> None:
    go("vet", "./...")
    go("test", "./...")


@pytest.mark.parametrize("name", FUZZ)
def test_fuzzing_finds_nothing(name: str) -> None:
    """No panic, no canary, and nothing that could be a sentence, whatever the bytes."""
    go("test", "-run", "^$", "-fuzz", f"^{name}$", "-fuzztime", LENGTH, "-fuzzminimizetime", "1x", "-parallel", "1", ".")
