"""The compose stack, where Docker answers: records go in at the front and are found in every store."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.stack import backends, docker, otlp
from tests.stack.addresses import Stack
from tests.stack.build import ROOT
from tests.stack.http_client import eventually

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    if reason := docker.missing():
        pytest.skip(reason)
    with docker.docker_stack() as running:
        yield running


@pytest.mark.parametrize("override", [None, "loki.yml", "own-collector.yml"])
def test_compose_reads_the_file(override: str | None) -> None:
    """``docker compose config`` has no complaint, with and without the overrides. No engine has to answer."""
    if reason := docker.compose_missing():
        pytest.skip(reason)
    docker.make_password()
    extra = ["-f", f"collector/compose/{override}"] if override else []
    command = ["docker", "compose", "-f", "docker-compose.yml", *extra, "config", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_signal_arrives(stack: Stack) -> None:
    """A span in Jaeger, a record in the log store, a counter in Prometheus."""
    trace = 0xD0C4E5
    facts = {"gen_ai.operation.name": "chat", "gen_ai.response.id": "resp_1"}
    otlp.send(stack.otlp_http, otlp.traces("docker", [otlp.span(trace, 1, "chat gpt-5", facts)]))
    otlp.send(stack.otlp_http, otlp.logs("docker", [otlp.record("otel_agent.model_turn", facts, trace)]))
    otlp.send(stack.otlp_http, otlp.metrics("docker", [otlp.counter("otel_agent.turns", 3, {}, start=1)]))
    eventually("the span", lambda: backends.spans(backends.trace(stack, trace)))
    eventually("the record", lambda: backends.log_lines(stack, "gen_ai.response.id:=resp_1"))
    eventually("the counter", lambda: backends.metric_value(stack, "otel_agent_turns_total") == 3)
