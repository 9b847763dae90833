"""``otel-agent doctor`` says what would leak, and leaks nothing itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_agent.cli.doctor import mistaken

from .receiving import Collector
from .starting import PYTHON, Ended, environment, run
from .test_exit import closed

SECRET = "hunter2hunter2"
LEAKING = {
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_and_event",
    "OPENAI_LOG": "debug", "TRACELOOP_TRACE_CONTENT": "true",
}  # fmt: skip


def doctor(*flags: str, endpoint: str | None = None, **changes: str) -> Ended:
    """Ask the doctor."""
    return run(PYTHON, "-m", "otel_agent.cli", "doctor", *flags, env=environment(endpoint, **changes))


def found(ended: Ended) -> Any:
    """Its findings."""
    return json.loads(ended.out)


def test_all_is_well(collector: Collector) -> None:
    """Exit code 0, and nothing is sent by asking."""
    ended = doctor("--json", endpoint=collector.http)
    assert ended.code == 0, ended.out
    said = found(ended)
    assert set(said["observed"]) == {"anthropic", "openai"}
    assert said["problems"] == []
    assert said["leaks"] == {}
    assert said["digests"] == "keyed"
    assert {way["to"] for way in said["export"].values()} == {collector.http}
    assert all(way["listening"] for way in said["export"].values())
    assert collector.received == []


def test_what_leaks_and_what_is_away() -> None:
    """Exit code 1, each problem with its remedy."""
    with closed() as endpoint:
        ended = doctor("--json", endpoint=endpoint, **LEAKING)
    assert ended.code == 1
    said = found(ended)
    assert set(said["leaks"]) == set(LEAKING)
    assert len([line for line in said["problems"] if "unset it" in line or "set it to" in line]) == len(LEAKING)
    assert any("nothing listens on" in line for line in said["problems"])


def test_where_the_sdk_is_disabled_nothing_is_recorded(collector: Collector) -> None:
    """That is bad news with its remedy, whatever the settings of the export are."""
    ended = doctor("--json", endpoint=collector.http, OTEL_SDK_DISABLED="true")
    assert ended.code == 1, ended.err
    said = found(ended)
    assert said["problems"] == ["OTEL_SDK_DISABLED is set, so nothing is recorded; unset it"]
    assert said["export"] == {}
    assert doctor(endpoint="no-scheme:1", OTEL_SDK_DISABLED="true").code == 1


def test_an_endpoint_with_the_path_of_a_signal(collector: Collector) -> None:
    """Over HTTP the exporters append it again. In a signal's own variable it is right, and over gRPC it is not looked at."""
    for name, code in (("OTEL_EXPORTER_OTLP_ENDPOINT", 1), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", 0)):
        ended = doctor(endpoint=collector.http, **{name: f"{collector.http}/v1/traces"})
        assert (ended.code, "leave the path out" in ended.out) == (code, bool(code)), ended.out


@pytest.mark.parametrize(("spoken", "port"), [("grpc", 4318), ("http/protobuf", 4317)])
def test_the_other_protocols_port(spoken: str, port: int) -> None:
    """The commonest slip: something listens, and understands nothing."""
    way = {"exporter": "otlp", "protocol": spoken, "to": f"http://localhost:{port}", "listening": True}
    assert [line.split(" is ")[0] for line in mistaken({"traces": way, "logs": way})] == [f"port {port}"]
    assert mistaken({"traces": {**way, "listening": False}, "logs": {"exporter": "none"}}) == []
    assert mistaken({"traces": {**way, "to": "http://localhost:4319"}}) == []


def test_no_secret_is_shown(collector: Collector) -> None:
    """Neither credentials in an endpoint, nor headers, nor the digest key."""
    with_user = collector.http.replace("http://", f"http://user:{SECRET}@")
    for flags in ((), ("--json",)):
        ended = doctor(*flags, endpoint=with_user, OTEL_EXPORTER_OTLP_HEADERS=f"authorization={SECRET}", OTEL_AGENT_DIGEST_KEY=SECRET * 2)
        assert ended.code == 0, ended.err
        assert SECRET not in ended.out + ended.err
        assert "user" not in ended.out


def test_wrong_settings_end_with_two() -> None:
    """A value that cannot be used is not repeated, and there is no traceback."""
    ended = doctor(endpoint=f"http://user:{SECRET}@host:{SECRET}")
    assert (ended.code, ended.out) == (2, "")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in ended.err
    assert SECRET not in ended.err
    assert "Traceback" not in ended.err
