"""The end of a process, and its work, while the collector is away, silent, slow or wrong."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import otel_agent
from otel_agent.testing import Standin

from .receiving import Collector, collecting, wait_until
from .starting import PROGRAMS, PYTHON, Ended, environment, ok, program

EXIT = 2.0
"""The default of ``OTEL_AGENT_EXIT_TIMEOUT``."""
SLACK = 1.5


@contextmanager
def closed() -> Iterator[str]:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def silent() -> Iterator[str]:
    """A collector that takes and never answers."""
    with collecting(hang=True) as running:
        yield running.http


@contextmanager
def silent_rpc() -> Iterator[str]:
    """The same over gRPC."""
    with collecting(hang=True) as running:
        yield running.grpc


@contextmanager
def slow() -> Iterator[str]:
    """A collector that takes two seconds to answer."""
    with collecting(delay=2.0) as running:
        yield running.http


def last(ended: Ended) -> Any:
    """The last line that a program printed, as JSON."""
    return json.loads(ok(ended).out.splitlines()[-1])


def ended_after(ended: Ended) -> tuple[Any, float]:
    """What a program said of its work, and the seconds that its end took after that."""
    said = last(ended)
    return said, ended.at - said["end"]


@pytest.mark.parametrize(
    ("where", "protocol"),
    [(closed, "http/protobuf"), (closed, "grpc"), (silent, "http/protobuf"), (silent_rpc, "grpc"), (slow, "http/protobuf")],
    ids=["closed-http", "closed-grpc", "silent-http", "silent-grpc", "slow-http"],
)
def test_a_bad_collector_costs_the_work_nothing(where: Any, protocol: str, provider: Standin) -> None:
    """Cases 097, 120: calls take what they take, the event loop is not held, and the end is bounded.

    Tried up to three times, since a busy machine can only make it look worse.
    """
    with where() as endpoint:
        env = environment(endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol, OTEL_BSP_SCHEDULE_DELAY="50", OTEL_BLRP_SCHEDULE_DELAY="50")
        found: list[str] = ["not tried"]
        for _ in range(3):
            bare, bare_end = ended_after(program("ticking", provider.url(), 40, "bare", env=env))
            observed, end = ended_after(program("ticking", provider.url(), 40, "observed", env=env))
            if not (found := [*complaints(bare, observed, end - bare_end)]):
                return
    pytest.fail(f"{found}: {bare} without us, {observed} with us")


def complaints(bare: dict[str, float], observed: dict[str, float], end: float) -> Iterator[str]:
    """What observation cost that it must not."""
    if end > EXIT + SLACK:
        yield f"the end took {end:.1f} s more"
    if observed["median"] > bare["median"] * 2 + 0.01:
        yield "a call took longer"
    if observed["took"] > bare["took"] * 2 + 0.5:
        yield "all calls took longer"
    if observed["late"] > bare["late"] + 0.2:
        yield "the event loop was held"


SMALL = (("MAX_QUEUE_SIZE", "200"), ("MAX_EXPORT_BATCH_SIZE", "50"))


def test_memory_is_bounded_while_nothing_is_taken(provider: Standin) -> None:
    """Case 097: what cannot be sent is dropped, said and counted, not kept."""
    with collecting(hang=True) as collector:
        small = {f"OTEL_{queue}_{what}": size for queue in ("BSP", "BLRP") for what, size in SMALL}
        env = environment(collector.http, **small)
        ended = program("flood", provider.url(), 3000, env=env)
    sizes = last(ended)
    assert sizes[-1] - sizes[1] < 8_000_000, sizes
    assert "Queue full" in ended.err


def test_a_script_that_ends_at_once_exports_all_three_signals(provider: Standin, collector: Collector) -> None:
    """Cases 100, 122: a one-shot program."""
    ended = ok(program("short", provider.url(), env=environment(collector.http)))
    assert len(collector.facts("model_turn")) == 1
    assert len(collector.spans) == 1
    assert "otel_agent.turns" in collector.metrics
    assert ended.err == ""


def serve_one_request(provider: Standin, collector: Collector, folder: Path, how: str, before_end: Any, **changes: str) -> int:
    """Start the server, ask it once, send SIGTERM; its exit code."""
    port = folder / "port"
    command = [PYTHON, PROGRAMS / "web.py", provider.url(), port, how]
    with subprocess.Popen([*map(str, command)], env=environment(collector.http, **changes), stderr=subprocess.PIPE, text=True) as server:
        try:
            wait_until(lambda: port.exists() and port.read_text() != "", 60)
            assert urllib.request.urlopen(f"http://127.0.0.1:{port.read_text()}/", timeout=30).read() == b"end_turn"
            before_end()
            server.send_signal(signal.SIGTERM)
            return server.wait(30)
        finally:
            server.kill()


def test_a_server_that_is_told_to_stop(provider: Standin, collector: Collector, tmp_path: Path) -> None:
    """Case 122: SIGTERM under uvicorn right after one call, with the documented line in the ASGI lifespan."""
    assert serve_one_request(provider, collector, tmp_path, "lifespan", lambda: None) == -signal.SIGTERM
    assert len(collector.facts("model_turn")) == 1
    assert len(collector.spans) == 1
    assert "otel_agent.turns" in collector.metrics


def test_a_server_without_the_line(provider: Standin, collector: Collector, tmp_path: Path) -> None:
    """Case 122: uvicorn ends itself by the signal, so no exit handler runs; what the usual delays have sent by then is there."""
    delays = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_BLRP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "100"}

    def wait() -> None:
        collector.wait_for("model_turn", 1)
        wait_until(lambda: bool(collector.spans) and "otel_agent.turns" in collector.metrics)

    assert serve_one_request(provider, collector, tmp_path, "exit", wait, **delays) == -signal.SIGTERM
    assert (len(collector.facts("model_turn")), len(collector.spans)) == (1, 1)
    assert "otel_agent.turns" in collector.metrics


def test_a_redirect_is_not_success(provider: Standin) -> None:
    """Case 103, in part: against a 302 all three signals are sent and the program ends well.

    What the SDK's exporters make of a redirect is theirs and not looked at here; we count no failure for it.
    """
    with collecting(status=302) as collector:
        ended = ok(program("short", provider.url(), env=environment(collector.http)))
        assert {got.signal for got in collector.received} == {"traces", "logs", "metrics"}
    assert "Traceback" not in ended.err


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> Iterator[Collector]:
    """Our own providers in this process, sending to the collector."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.http)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_AGENT_DIGEST_KEY", "0123456789abcdef")
    assert otel_agent.instrument().sink == "own"
    yield collector
    otel_agent.uninstrument()


def one_run() -> None:
    """A record of each signal."""
    with otel_agent.agent_run("keeper"):
        pass


def test_one_flush_covers_all_three_signals(own: Collector) -> None:
    """Case 100: one call, with a timeout, says whether it was enough."""
    one_run()
    assert otel_agent.flush(10.0) is True
    assert len(own.facts("agent_run")) == len(own.spans) == 1
    assert "otel_agent.runs" in own.metrics


def test_a_flush_keeps_to_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 100: a collector that never answers costs the handler what it allows and no more."""
    with collecting(hang=True) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.http)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        otel_agent.instrument()
        one_run()
        began = time.monotonic()
        assert otel_agent.flush(0.5) is False
        assert time.monotonic() - began < 1.5
        began = time.monotonic()
        otel_agent.shutdown(0.5)
        assert time.monotonic() - began < 1.5
        otel_agent.uninstrument()


def test_shutting_down_twice_is_safe_and_calls_go_on(own: Collector, provider: Standin) -> None:
    """Case 122: shutdown is idempotent; calls after it work and are not recorded."""
    import anthropic

    one_run()
    assert otel_agent.shutdown() is True
    assert otel_agent.shutdown() is True
    assert otel_agent.flush() in {True, False}
    with anthropic.Anthropic(base_url=provider.url(), api_key="none") as client:
        answer = client.messages.create(model="claude-sonnet-4-6", max_tokens=8, messages=[{"role": "user", "content": "Where?"}])
    assert answer.stop_reason == "end_turn"
    one_run()
    assert len(own.facts("agent_run")) == 1
