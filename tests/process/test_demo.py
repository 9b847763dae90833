"""The demo from the command line, as a visitor runs it."""

from __future__ import annotations

import json

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
