"""What ``flush`` and ``shutdown`` say is true, and setting up again works, whatever was before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_agent
from otel_agent import guard
from otel_agent.sdk import Delivery, Forked, Memory, resource
from otel_agent.settings import from_env

from .receiving import Collector, collecting
from .starting import PYTHON, environment, run
from .test_exit import closed, one_run

CERTIFICATE = "OTEL_EXPORTER_OTLP_CERTIFICATE"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What our own logger says, which it hands to nobody else."""
    guard.log.addHandler(caplog.handler)
    yield caplog
    guard.log.removeHandler(caplog.handler)


@pytest.fixture
def to(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> Iterator[Collector]:
    """A collector that the variables name; nothing is set up yet."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.http)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_AGENT_DIGEST_KEY", "0123456789abcdef")
    yield collector
    otel_agent.uninstrument()


def test_a_refusal_is_no_success_and_counts_once(to: Collector) -> None:
    """What a collector answers with an error is lost; the next flush is about what came since."""
    otel_agent.instrument()
    to.status = 400
    one_run()
    assert otel_agent.flush(10.0) is False
    to.status = 200
    assert otel_agent.flush(10.0) is True
    one_run()
    assert otel_agent.flush(10.0) is True
    assert len(to.spans) == 2  # the first were refused when they had come


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_closed_port_is_no_success(protocol: str, to: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the exporter's own time, so that it is no matter of ``flush``'s."""
    with closed() as endpoint:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        otel_agent.instrument()
        one_run()
        assert otel_agent.flush(20.0) is False
        one_run()
        assert otel_agent.shutdown(20.0) is False


def test_what_the_background_lost_is_said_at_the_next_flush(to: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that were dropped before anyone asked are lost as well."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setenv("OTEL_BLRP_SCHEDULE_DELAY", "20")
    otel_agent.instrument()
    to.status = 400
    one_run()
    to.wait_for("agent_run", 1)
    to.status = 200
    assert otel_agent.flush(10.0) is False
    assert otel_agent.flush(10.0) is True


def test_cumulative_metrics_make_up_for_what_was_not_taken() -> None:
    """Each export of theirs holds all that came before; spans and log records are sent once."""
    for delivery, right in ((Delivery(sums=True), [True, False, False, True]), (Delivery(), [False, False, True, True])):
        found = []
        for taken in ((False, True), (False,), (), (True,)):
            for each in taken:
                delivery.told(each)
            found.append(delivery.complete())
        assert found == right


def test_after_the_end_nothing_is_flushed(to: Collector) -> None:
    """Nobody is told that what goes nowhere has arrived."""
    otel_agent.instrument()
    assert otel_agent.shutdown() is True
    one_run()
    assert otel_agent.flush() is False
    assert to.spans == []


def test_setting_up_again_after_the_end_exports_again(to: Collector) -> None:
    """Once with the providers of before, which are shut down, nothing would arrive and nothing would be said."""
    for number in (1, 2, 3):
        assert otel_agent.instrument().sink == "own"
        one_run()
        assert otel_agent.flush(10.0) is True
        assert len(to.spans) == len(to.facts("agent_run")) == number
        assert otel_agent.shutdown() is True


def test_a_signal_that_was_given_and_is_no_more_gets_a_provider(to: Collector) -> None:
    """A second set-up with less from the host needs more from us, and loses nothing of what waits."""
    memory = Memory()
    assert otel_agent.instrument(memory.tracer).sink == "own"
    one_run()
    assert otel_agent.instrument().sink == "own"
    one_run()
    assert otel_agent.flush(10.0) is True
    assert (len(memory.spans()), len(to.spans), len(to.facts("agent_run"))) == (1, 1, 2)


def test_given_providers_are_flushed_beside_ours(to: Collector) -> None:
    """They are in no global place to be found."""
    kept = InMemorySpanExporter()
    given = TracerProvider()
    given.add_span_processor(BatchSpanProcessor(kept))
    otel_agent.instrument(given)
    one_run()
    assert otel_agent.flush(10.0) is True
    assert [span.name for span in kept.get_finished_spans()] == ["invoke_agent keeper"]
    assert len(to.facts("agent_run")) == 1
    given.shutdown()
    assert otel_agent.flush(10.0) is False


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("what", ["CERTIFICATE", "TRACES_CERTIFICATE"])
def test_a_missing_certificate_raises_nothing(
    what: str, protocol: str, to: Collector, monkeypatch: pytest.MonkeyPatch, said: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """One warning for each signal that cannot be exported, by name and remedy; the others go on; ``flush`` says no."""
    name = f"OTEL_EXPORTER_OTLP_{what}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:9")
    monkeypatch.setenv(name, str(tmp_path / "hunter2.pem"))
    otel_agent.instrument()
    signals = ("traces",) if "TRACES" in what else ("traces", "metrics", "logs")
    why = f"{name} names a file that cannot be read (FileNotFoundError); name a readable one, or unset it"
    assert [record.getMessage() for record in said.records if "exported" in record.getMessage()] == [
        f"{signal} are not exported: {why}" for signal in signals
    ]
    assert "hunter2" not in said.text
    if len(signals) == 3:
        one_run()
        assert otel_agent.flush(5.0) is False


def test_files_that_nobody_reads_may_be_missing(to: Collector, tmp_path: Path) -> None:
    """Without TLS, without OTLP, and a client's files over gRPC without an authority's."""
    away, secure = str(tmp_path / "away.pem"), {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://127.0.0.1:9"}
    http = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    for env in (
        {CERTIFICATE: away}, {CERTIFICATE: away, **http}, {"OTEL_EXPORTER_OTLP_CLIENT_KEY": away, **secure},
        {CERTIFICATE: away, **secure, **{f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}},
        {CERTIFICATE: away, "OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:9", "OTEL_EXPORTER_OTLP_INSECURE": "true"},
        {CERTIFICATE: str(tmp_path), **secure, **http}, {CERTIFICATE: "", **secure},
    ):  # fmt: skip
        assert from_env(env).hindered == {}, env
    for env in ({CERTIFICATE: str(tmp_path), **secure}, {CERTIFICATE: away, "OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:9"}):
        assert set(from_env(env).hindered) == {"traces", "metrics", "logs"}


@pytest.mark.parametrize("flag", ["", "--json"])
def test_the_doctor_names_the_certificate(flag: str, tmp_path: Path) -> None:
    """One line for all signals, with the variable and the remedy."""
    env = environment("https://127.0.0.1:9", OTEL_EXPORTER_OTLP_CERTIFICATE=str(tmp_path / "hunter2.pem"))
    ended = run(PYTHON, "-m", "otel_agent.cli", "doctor", *filter(None, [flag]), env=env)
    assert ended.code == 1
    right = f"traces, metrics, logs are not exported: {CERTIFICATE} names a file that cannot be read (FileNotFoundError)"
    assert ended.out.count(right) == 1
    assert "hunter2" not in ended.out + ended.err


def test_each_process_exports_under_an_instance_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the SDK leaves a forked child its parent's resource: one new instance for all signals of the child."""
    made = resource()
    forked = Forked(made)
    assert forked(made) is made
    monkeypatch.setattr(os, "getpid", lambda: -1)
    child = forked(made)
    assert child.attributes["service.instance.id"] != made.attributes["service.instance.id"]
    assert {**child.attributes, "service.instance.id": 0} == {**made.attributes, "service.instance.id": 0}
    assert forked(made) is child
    assert forked(child) is child


def test_a_loss_before_a_fork_is_the_parent_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child lost nothing."""
    delivery = Delivery()
    delivery.told(taken=False)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert delivery.complete() is True


def test_a_hanging_collector_is_no_success_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time was not enough."""
    with collecting(hang=True) as silent:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", silent.http)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        otel_agent.instrument()
        one_run()
        assert otel_agent.shutdown(0.3) is False
        assert otel_agent.shutdown(0.3) is True
    otel_agent.uninstrument()


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_an_exporter_that_cannot_be_made_raises_nothing(
    protocol: str, to: Collector, monkeypatch: pytest.MonkeyPatch, said: pytest.LogCaptureFixture
) -> None:
    """The SDK has variables of its own that we know nothing of; its exporters raise on some, with the value."""
    monkeypatch.setattr(guard, "_loud", False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:9")
    monkeypatch.setenv(f"OTEL_PYTHON_EXPORTER_OTLP_{protocol.partition('/')[0].upper()}_CREDENTIAL_PROVIDER", "hunter2")
    monkeypatch.setattr(guard, "_reported", set())
    assert otel_agent.instrument().sink == "own"
    one_run()
    assert otel_agent.flush(5.0) is False
    assert "sdk.exporter failed with RuntimeError" in said.text
    assert "hunter2" not in said.text
