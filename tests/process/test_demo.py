"""The demo from the command line, as a visitor runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from otel_agent.demo.scripts import SCENARIOS

from .starting import PYTHON, environment, ok, run
from .test_exit import closed


def test_the_demo_shows_its_runs_and_proves_its_claim() -> None:
    """Every scenario is a run in the store, and none of the deliberation that was sent is in its bytes."""
    ended = ok(run(PYTHON, "-m", "otel_agent.cli", "demo", "--json", "--no-install", env=environment(), seconds=180))
    said = json.loads(ended.out)
    assert len(said["runs"]) == len(SCENARIOS) >= 16
    assert said["proof"]["found"] == []
    assert said["proof"]["planted"] > 20
    assert said["proof"]["read_bytes"] > 10_000


def test_what_nobody_took_was_not_sent() -> None:
    """Nothing listens at the endpoint: the demo says so, and ends as a failure."""
    with closed() as endpoint:
        ended = run(PYTHON, "-m", "otel_agent.cli", "demo", "--endpoint", endpoint, "--no-install", env=environment(), seconds=180)
    assert ended.code == 1
    assert f"not everything was taken at {endpoint}" in " ".join(ended.out.split())
    assert "were sent" not in ended.out


def test_an_endpoint_that_is_none_is_refused_before_anything_starts() -> None:
    """The variable that it becomes is named, with the remedy."""
    ended = run(PYTHON, "-m", "otel_agent.cli", "demo", "--endpoint", "nonsense", "--no-install", env=environment())
    assert (ended.code, ended.out) == (2, "")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in ended.err
    assert "http://localhost:4318" in ended.err


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """What is started here can be interrupted, even where the tests run in the background of a shell, which has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def begun_demo() -> tuple[subprocess.Popen[str], str]:
    """A demo about to start its agents, and what it said so far. Whoever reads its output to the end has waited for its agents too."""
    command = [PYTHON, "-m", "otel_agent.cli", "demo", "--no-install"]
    demo = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    assert demo.stdout is not None
    return demo, demo.stdout.readline()


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("after", [0.0, 0.001, 0.003, 0.01, 0.1, 1.0])
def test_an_interrupted_demo_ends_without_a_traceback(after: float) -> None:
    """As Ctrl-C at the terminal: the whole group gets the signal, whether the agents are not there yet, starting or at work."""
    demo, said = begun_demo()
    time.sleep(after)
    os.killpg(demo.pid, signal.SIGINT)
    said += demo.communicate(timeout=60)[0]
    assert demo.returncode == 130
    assert "Traceback" not in said


@pytest.mark.parametrize("after", [0.0, 0.003, 1.0])
def test_a_killed_demo_leaves_no_agent(after: float) -> None:
    """Nobody is left who could end them, so they see it themselves; one that lived on would hold the pipe open."""
    demo, _ = begun_demo()
    time.sleep(after)
    demo.kill()
    demo.communicate(timeout=12)  # agents that live on hold it for 17 seconds: they try to export
    assert demo.returncode == -signal.SIGKILL


def test_agents_alone_end_when_their_input_does() -> None:
    """The moment that a signal meets by chance: the agents are there and whoever started them is not."""
    command = [PYTHON, "-m", "otel_agent.demo.agents", "http://127.0.0.1:9", "--attended"]
    ended = subprocess.run(command, env=environment(), input="", capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
