"""Wrong settings are refused at start-up by name and remedy, and never repeated."""

from __future__ import annotations

import pytest

import otel_agent
from otel_agent import fields, settings
from otel_agent.sdk import Memory
from otel_agent.settings import SettingsError, from_env

from .starting import OTEL_AGENT_RUN, PYTHON, environment, run

SECRET = "soonish-hunter2"
NUMBERS = (
    "OTEL_AGENT_EXIT_TIMEOUT", "OTEL_AGENT_LABEL_LIMIT", "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT",
    "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "OTEL_BLRP_EXPORT_TIMEOUT",
    "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
)  # fmt: skip
WORDS = (
    "OTEL_AGENT_DIGESTS", "OTEL_AGENT_ANSWER_DIGEST", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER",
    "OTEL_LOGS_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_COMPRESSION",
    "OTEL_METRICS_EXEMPLAR_FILTER",
)  # fmt: skip
WRONG = (
    *((name, SECRET) for name in (*NUMBERS, *WORDS)),
    *((name, value) for name in NUMBERS for value in ("-1", "nan", "inf", "1e300")),
    *((name, "1.5") for name in NUMBERS if "TIMEOUT" not in name and "LABEL" not in name),
    ("OTEL_TRACES_EXPORTER", f"otlp,{SECRET}"),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:{SECRET}@host:{SECRET}"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:{SECRET}@localhost:4317"),
    ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://"),
    ("OTEL_EXPORTER_OTLP_HEADERS", f"authorization {SECRET}"),
    ("OTEL_EXPORTER_OTLP_HEADERS", f"a=b,=,{SECRET}"),
    ("OTEL_AGENT_DIGEST_KEY", SECRET),
    ("OTEL_AGENT_DIGEST_KEY_ID", f"{SECRET} of March"),
    ("OTEL_AGENT_DIGEST_KEY_FILE", f"/no/such/{SECRET}"),
    ("OTEL_BSP_MAX_QUEUE_SIZE", "200"),
)  # fmt: skip
REMEDIES = ("write", "make one with", "name a readable", "put credentials", "lower it")


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda given: given[:40])
def test_a_wrong_value_is_refused(name: str, value: str) -> None:
    """The message names the variable and the remedy, and repeats no value, since that may hold a secret."""
    with pytest.raises(SettingsError) as raised:
        from_env({name: value})
    said = str(raised.value)
    assert name.removesuffix("_FILE") in said or "MAX_EXPORT_BATCH_SIZE" in said
    assert any(remedy in said for remedy in REMEDIES), said
    assert SECRET not in said
    assert raised.value.__cause__ is None


RIGHT = (
    {}, {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc,x-tenant=blue"},
    {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer abc"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector.example:4317"},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1]:4318/otlp"},
    {"OTEL_EXPORTER_OTLP_TIMEOUT": "2.5"}, {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:word@host:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
    {"OTEL_BSP_MAX_QUEUE_SIZE": "200", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "100"}, {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "64"},
    {"OTEL_AGENT_DIGEST_KEY_ID": "march-2026"}, {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "jaeger"},
)  # fmt: skip


@pytest.mark.parametrize("env", RIGHT, ids=lambda env: ",".join(env) or "nothing")
def test_what_is_right_is_taken(env: dict[str, str]) -> None:
    """Nothing that the SDK takes is refused."""
    from_env(env)


def test_the_key_id_has_one_spelling() -> None:
    """Settings and digests agree."""
    assert settings.KEY_ID.pattern == fields.KEY_ID


def test_a_host_that_exports_by_itself_may_use_other_exporters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 063: what the host's own SDK understands is no concern of ours."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp,zipkin")
    memory = Memory()
    assert otel_agent.instrument(memory.tracer, memory.meter, memory.logger).sink == "host"
    otel_agent.uninstrument()
    with pytest.raises(SettingsError):
        otel_agent.instrument()


def test_the_launcher_refuses_to_start() -> None:
    """``otel-agent run`` ends with 2 and starts nothing."""
    ended = run(*OTEL_AGENT_RUN, PYTHON, "-c", "print('started')", env=environment(OTEL_EXPORTER_OTLP_TIMEOUT=SECRET))
    assert (ended.code, ended.out) == (2, "")
    assert "OTEL_EXPORTER_OTLP_TIMEOUT is not a number" in ended.err
    assert SECRET not in ended.err
    assert "Traceback" not in ended.err
    assert run(*OTEL_AGENT_RUN, env=environment()).code == 2
