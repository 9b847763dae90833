"""Wrong settings are refused at start-up by name and remedy, and never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

import otel_agent
from otel_agent import fields, sdk, settings
from otel_agent.sdk import Memory
from otel_agent.settings import SettingsError, cache_home, data_home, endpoints, from_env

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
SECONDS = ("OTEL_AGENT_EXIT_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT")
WRONG = (
    *((name, SECRET) for name in (*NUMBERS, *WORDS)),
    *((name, value) for name in NUMBERS for value in ("-1", "nan", "inf", "1e300")),
    *((name, value) for name in NUMBERS if name not in SECONDS for value in ("1.5", "1.0", "1e3", "1_000", "true", "yes", "٣")),
    ("OTEL_TRACES_EXPORTER", f"otlp,{SECRET}"),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:{SECRET}@host:{SECRET}"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:{SECRET}@localhost:4317"),
    ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://"),
    ("OTEL_EXPORTER_OTLP_INSECURE", "1"),
    ("OTEL_EXPORTER_OTLP_TRACES_INSECURE", SECRET),
    ("OTEL_EXPORTER_OTLP_HEADERS", f"authorization {SECRET}"),
    ("OTEL_EXPORTER_OTLP_HEADERS", f"a=b,=,{SECRET}"),
    *(("OTEL_EXPORTER_OTLP_HEADERS", f"a={SECRET}{text}") for text in ("é", '"', "\\", "%0A", "%00", "%FF", "\udcff", "\tb", "%C3%A9")),
    ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", f"trace-bin={SECRET}"),
    *((name, value) for name in ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT") for value in ("0", "0.0", "-0")),
    ("OTEL_AGENT_DIGEST_KEY", f"{SECRET}\udcff" * 4),
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


HTTP = "http/protobuf"
WITHOUT_SCHEME = (
    ({"OTEL_EXPORTER_OTLP_PROTOCOL": HTTP, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{SECRET}:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ({"OTEL_EXPORTER_OTLP_PROTOCOL": HTTP, "OTEL_EXPORTER_OTLP_ENDPOINT": f"ftp://{SECRET}:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ({"OTEL_EXPORTER_OTLP_PROTOCOL": HTTP, "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": f"//{SECRET}"}, "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"),
    ({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": HTTP, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{SECRET}:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
    (
        {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": HTTP, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": SECRET, "OTEL_TRACES_EXPORTER": "none"},
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("env", "name"), WITHOUT_SCHEME, ids=lambda given: given if isinstance(given, str) else ",".join(given))
def test_http_asks_for_a_scheme(env: dict[str, str], name: str) -> None:
    """The exporter over HTTP would drop everything at ``host:port``; whichever variable speaks for the signal is the one that is named."""
    with pytest.raises(SettingsError) as raised:
        from_env(env)
    said = str(raised.value)
    assert said.startswith(f"{name} is an address without http:// or https:// before it")
    assert said.endswith("write one such as http://localhost:4318")
    assert SECRET not in said


RIGHT = (
    *({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317", "OTEL_EXPORTER_OTLP_INSECURE": word} for word in ("true", "FALSE", "")),
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": HTTP,
     "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "console", "OTEL_LOGS_EXPORTER": "none"},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "HTTPS://collector", "OTEL_EXPORTER_OTLP_PROTOCOL": HTTP},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://collector:4318",
     "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": HTTP},
    dict.fromkeys((name for name in NUMBERS if "OTLP" not in name), " "), {"OTEL_AGENT_LABEL_LIMIT": " +7 "},
    {}, {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc,x-tenant=blue"},
    {"OTEL_EXPORTER_OTLP_HEADERS": "a=b%3Dc==:/@?&%, b = c , ,"}, {"OTEL_EXPORTER_OTLP_HEADERS": "a=100% b"},
    {"OTEL_EXPORTER_OTLP_HEADERS": "a=%C3%A9", "OTEL_EXPORTER_OTLP_PROTOCOL": HTTP}, {"OTEL_EXPORTER_OTLP_TIMEOUT": "0.001"},
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


EMPTY = (
    *(f"OTEL_EXPORTER_OTLP{signal}_{what}" for signal in ("", "_TRACES", "_METRICS", "_LOGS") for what in (
        "ENDPOINT", "HEADERS", "COMPRESSION", "PROTOCOL", "CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE", "INSECURE")),
    "OTEL_METRICS_EXEMPLAR_FILTER", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_AGENT_LABEL_LIMIT",
    "OTEL_AGENT_EXIT_TIMEOUT", "OTEL_AGENT_DIGESTS", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER",
)  # fmt: skip


@pytest.mark.parametrize("protocol", ["grpc", HTTP])
def test_what_is_empty_is_unset(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the standard has it. The exporters over gRPC and the SDK raise on some, and send to nowhere, encrypted, on others."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    for name in EMPTY:
        with monkeypatch.context() as alone:
            alone.setenv(name, "")
            read = from_env()
            owned = sdk.providers(read)
            made = [sdk.exporter(signal, read) for signal in ("traces", "metrics", "logs")]
            assert owned.shutdown(5.0), name
        for exporter in made:
            exporter.shutdown()
        assert {exporter._endpoint.partition("//")[2].partition("/")[0] or exporter._endpoint for exporter in made} <= {
            "localhost:4317", "localhost:4318",
        }, name  # fmt: skip
        assert all(getattr(exporter, "_insecure", True) for exporter in made), name


@pytest.mark.parametrize(("word", "right"), [("none", 0), ("deflate", 1), ("gzip", 2), ("", 0)])
def test_grpc_knows_every_compression(word: str, right: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter itself raises on all words but ``gzip``."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", word)
    exporter = sdk.exporter("logs", from_env())
    assert int(exporter._compression) == right
    exporter.shutdown()


@pytest.mark.parametrize("what", ["CERTIFICATE", "TRACES_CERTIFICATE"])
def test_an_empty_certificate_is_not_trust_in_everyone(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter over HTTP of older SDKs took it so; the common variable speaks where the signal's own is empty."""
    monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{what}", "")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", HTTP)
    read = from_env()
    assert read.stand_ins["traces"] == {"certificate_file": True}
    exporter = sdk.exporter("traces", read)
    assert getattr(exporter, "_certificate_file", True) is True
    exporter.shutdown()
    assert from_env({
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/", "OTEL_EXPORTER_OTLP_TIMEOUT": "",
        "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION": " ", "OTEL_EXPORTER_OTLP_COMPRESSION": "GZIP", "OTEL_EXPORTER_OTLP_PROTOCOL": HTTP,
    }).stand_ins["logs"] == {"endpoint": "http://collector:4318/v1/logs", "timeout": 10.0, "compression": "gzip"}  # fmt: skip


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"])
def test_an_empty_timeout_is_refused_where_it_would_raise(name: str) -> None:
    """The exporter over gRPC takes it for a number; the one over HTTP does not mind."""
    with pytest.raises(SettingsError, match=f"{name} is set and empty, which the exporter for gRPC cannot read; unset it or write seconds"):
        from_env({name: ""})
    from_env({name: "", "OTEL_EXPORTER_OTLP_PROTOCOL": HTTP})


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


@pytest.mark.parametrize("signal", ["TRACER", "METER", "LOGGER"])
def test_a_provider_that_is_not_installed_is_named(signal: str) -> None:
    """The API ends its search with ``StopIteration``, which says nothing to a reader and breaks generators."""
    program = "import otel_agent\ntry: otel_agent.instrument()\nexcept otel_agent.SettingsError as error: print(error)"
    name = f"OTEL_PYTHON_{signal}_PROVIDER"
    ended = run(PYTHON, "-c", program, env=environment(**{name: SECRET}))
    assert ended.out == f"{name} names no provider that is installed; unset it, or write sdk_{signal.lower()}_provider\n"


@pytest.mark.parametrize(
    ("env", "expected"), [({}, ["own", "own", "host", "host", "off"]), ({"OTEL_SDK_DISABLED": "true"}, ["off"] * 2 + ["host"])]
)
def test_status_says_where_records_go(env: dict[str, str], expected: list[str]) -> None:
    """As :func:`instrument` reported it, until that changes."""
    program = (
        "import otel_agent, sys\nfrom otel_agent.sdk import Memory\nmemory = Memory()\n"
        "print(otel_agent.instrument().sink, otel_agent.status().sink)\n"
        "if 'host' in sys.argv: print(otel_agent.instrument(memory.tracer, memory.meter, memory.logger).sink, otel_agent.status().sink)\n"
        "if 'host' in sys.argv: otel_agent.instrument(); otel_agent.shutdown()\n"
        "else: otel_agent.uninstrument()\n"
        "print(otel_agent.status().sink)"
    )
    ended = run(PYTHON, "-c", program, *(() if env else ("host",)), env=environment(**env))
    assert ended.out.split() == expected, ended.err


def test_the_launcher_refuses_to_start() -> None:
    """``otel-agent run`` ends with 2 and starts nothing."""
    ended = run(*OTEL_AGENT_RUN, PYTHON, "-c", "print('started')", env=environment(OTEL_EXPORTER_OTLP_TIMEOUT=SECRET))
    assert (ended.code, ended.out) == (2, "")
    assert "OTEL_EXPORTER_OTLP_TIMEOUT is not a number" in ended.err
    assert SECRET not in ended.err
    assert "Traceback" not in ended.err
    assert run(*OTEL_AGENT_RUN, env=environment()).code == 2


@pytest.mark.parametrize("text", ["", "relative", "./data"])
def test_folders_that_are_not_absolute_count_as_unset(text: str) -> None:
    """By the XDG rule; else the store would be wherever the shell stands."""
    assert data_home({"XDG_DATA_HOME": text}) == Path.home() / ".local" / "share"
    assert cache_home({"XDG_CACHE_HOME": text}) == Path.home() / ".cache" / "otel-agent"
    assert data_home({"XDG_DATA_HOME": "/data"}) == Path("/data")


def test_endpoints_are_known_where_the_sdk_is_disabled() -> None:
    """Nothing is read of what the exporters would read, and nothing raises."""
    assert set(endpoints({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_PROTOCOL": "nonsense"}).values()) == {"http://localhost:4317"}
