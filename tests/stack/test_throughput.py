"""What the guard costs: the same pipeline with and without it, in one run.

Compared is the processor time of the collector per span, which other work on the machine disturbs far less than wall
time; the best of several rounds counts.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.stack import build, otlp
from tests.stack.http_client import eventually, fetch
from tests.stack.native import write_yaml
from tests.stack.pair import Collector, collector

pytestmark = pytest.mark.stack

ROUNDS, REQUESTS, SPANS = 3, 40, 500
LEAST_RATIO = 0.7


def facts(number: int) -> dict[str, object]:
    """A model turn as our SDK side emits it: thirty attributes, some of them never seen twice."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-opus-5",
        "gen_ai.response.model": "claude-opus-5-20260801",
        "gen_ai.response.id": f"msg_01{number:022d}",
        "gen_ai.response.finish_reasons": ["max_tokens"],
        "gen_ai.request.max_tokens": 4096,
        "gen_ai.request.temperature": 0.2,
        "gen_ai.request.stream": True,
        "gen_ai.request.reasoning.level": "high",
        "gen_ai.usage.input_tokens": 1200 + number % 97,
        "gen_ai.usage.output_tokens": 300,
        "gen_ai.usage.reasoning.output_tokens": 120,
        "gen_ai.usage.cache_read.input_tokens": 900,
        "gen_ai.usage.cache_write.input_tokens": 100,
        "gen_ai.response.time_to_first_chunk": 0.4,
        "gen_ai.agent.name": "support",
        "gen_ai.conversation.id": f"conv_{number // 20:08d}",
        "server.address": "api.anthropic.com",
        "server.port": 443,
        "error.type": "timeout",
        "otel_agent.response.truncated": True,
        "otel_agent.response.truncated_by": "token_limit",
        "otel_agent.response.empty_truncated": False,
        "otel_agent.response.finish_reason": "length",
        "otel_agent.usage.state": "complete",
        "otel_agent.tool.repeat": 1,
        "otel_agent.tool.outcome": "ok",
        "otel_agent.policy.decision": "allow",
        "otel_agent.run.end_reason": "answered",
    }


def payloads() -> list[bytes]:
    blocks = (range(block * SPANS, (block + 1) * SPANS) for block in range(REQUESTS))
    return [
        otlp.traces("load", [otlp.span(n + 1, n + 1, "chat claude-opus-5", facts(n)) for n in block]).SerializeToString()
        for block in blocks
    ]


def with_processors(folder: Path, *processors: str) -> Path:
    """The gateway's traces pipeline with these processors; its exporter and queue stay as they are."""
    pipeline = {"receivers": ["otlp"], "processors": list(processors), "exporters": ["otlp_grpc/traces"]}
    return write_yaml(folder / f"{'-'.join(processors)}.yaml", {"service": {"pipelines": {"traces": pipeline}}})


def post_all(target: Collector, bodies: Sequence[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", target.http, timeout=60)
    for body in bodies:
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def accepted(target: Collector) -> int:
    lines = fetch(target.metrics_url).decode().splitlines()
    return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith("otelcol_receiver_accepted_spans"))


def microseconds_per_span(target: Collector, end: Collector, bodies: Sequence[bytes]) -> float:
    before, cpu = accepted(end), target.process.cpu_seconds()
    post_all(target, bodies)
    eventually("the whole load at the sink", lambda: accepted(end) - before >= REQUESTS * SPANS, seconds=120)
    return (target.process.cpu_seconds() - cpu) * 1e6 / (REQUESTS * SPANS)


@pytest.fixture(scope="module")
def bodies() -> list[bytes]:
    return payloads()


@pytest.fixture
def end(go_toolchain: None, tmp_path: Path) -> Iterator[Collector]:
    """A second collector that takes everything and throws it away."""
    build.build(("collector",))
    drop = write_yaml(
        tmp_path / "drop.yaml",
        {
            "exporters": {"debug": {"verbosity": "basic"}},
            "service": {"pipelines": {"traces": {"processors": ["memory_limiter"], "exporters": ["debug"]}}},
        },
    )
    with collector("sink", tmp_path, [build.COLLECTOR / "gateway.yaml", drop]) as running:
        yield running


def in_memory(folder: Path) -> Path:
    """The exporter's queue in memory: without the disk's share of the work, the guard's share is the largest."""
    return write_yaml(folder / "memory.yaml", {"exporters": {"otlp_grpc/traces": {"sending_queue": {"storage": None}}}})


@pytest.mark.parametrize("queue", ["disk", "memory"])
def test_the_guard_keeps_most_of_the_throughput(queue: str, end: Collector, tmp_path: Path, bodies: list[bytes]) -> None:
    """At least 0.7 of what the same pipeline does without the guard."""
    env = {"COLLECTOR_TRACES": f"127.0.0.1:{end.grpc}"}
    shipped = [build.COLLECTOR / "gateway.yaml", *([in_memory(tmp_path)] if queue == "memory" else [])]
    bare = with_processors(tmp_path, "memory_limiter")
    guarded = with_processors(tmp_path, "memory_limiter", "otel_agent_guard")
    with (
        collector("bare", tmp_path, [*shipped, bare], env) as without,
        collector("guarded", tmp_path, [*shipped, guarded], env) as with_guard,
    ):
        rounds = [(microseconds_per_span(without, end, bodies), microseconds_per_span(with_guard, end, bodies)) for _ in range(1 + ROUNDS)][
            1:
        ]  # the first warms both
        removed = fetch(with_guard.metrics_url)
    for plain, costly in rounds:
        print(f"\nqueue in {queue}: without guard {plain:.2f} us/span, with guard {costly:.2f} us/span, ratio {plain / costly:.2f}")
    assert b"otel_agent_guard_removed{" not in removed, "a guard that shortens the spans would look too fast"
    assert max(plain / costly for plain, costly in rounds) >= LEAST_RATIO
