"""The verdict: clean where everything arrived and was searched, a leak with its carriers' names, and never clean without evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_agent.local.server import LocalServer
from otel_agent.local.settings import default_path
from otel_agent.verify.far_ends import Store

from .conftest import Unguarded, Verify

FOREIGN = {
    "foreign.event.attribute", "foreign.event.name", "foreign.exception.message", "foreign.exception.stacktrace",
    "foreign.link.attribute", "foreign.log.attribute", "foreign.log.body", "foreign.log.event_name",
    "foreign.log.nested_body", "foreign.log.severity_text", "foreign.metric.description", "foreign.metric.exemplar",
    "foreign.metric.label", "foreign.metric.unit", "foreign.resource.attribute", "foreign.scope.attribute",
    "foreign.scope.name", "foreign.scope.schema_url", "foreign.scope.version", "foreign.span.attribute", "foreign.span.name",
    "foreign.span.trace_state", "foreign.status.message",
}  # fmt: skip


def test_a_guarded_store_is_clean(verify: Verify, tmp_path: Path) -> None:
    """Everything arrived, of all parties; every carrier was planted; none was found."""
    store = tmp_path / "there.duckdb"
    with LocalServer(store, grpc_port=0, http_port=0) as server:
        ran = verify("--store", str(store), "--json", endpoint=server.http_endpoint)
    assert ran.code == 0, ran.err
    (finding,) = ran.json["findings"]
    assert (finding["verdict"], finding["found"]) == ("clean", [])
    assert finding["arrived"] == finding["expected"] > 50
    assert finding["others"] > 10
    assert finding["searched_bytes"] > 100_000
    assert ran.json["left_out"] == []
    assert set(ran.json["planted"]) > FOREIGN
    assert "the pipeline" in ran.json["proves"]
    assert Store(store).count(ran.json["verification"]).turns == finding["arrived"], "the file says the same once nobody holds it"


def test_a_pipeline_without_a_guard_is_a_leak(verify: Verify, unguarded: Unguarded) -> None:
    """The control: what others emit is found in every place, by name; of our own records' carriers nothing is."""
    ran = verify("--file", str(unguarded.file), "--json", endpoint=unguarded.endpoint)
    assert ran.code == 1, ran.err
    (finding,) = ran.json["findings"]
    assert (finding["verdict"], finding["arrived"]) == ("leak", finding["expected"])
    found = set(finding["found"])
    assert set() == FOREIGN - found
    assert {"anthropic-sdk: anthropic.thinking", "anthropic-sdk: request.system"} <= found
    assert {name for name in found - FOREIGN if not name.startswith("anthropic-sdk: ")} == set()


def test_our_own_records_need_no_guard_behind_them(verify: Verify, unguarded: Unguarded) -> None:
    """Without what others emit, the same pipeline is clean; the report says what was not tried, and quotes no text."""
    ran = verify("--file", str(unguarded.file), "--no-with-foreign", endpoint=unguarded.endpoint)
    assert ran.code == 0, ran.out + ran.err
    assert "clean: none was found" in ran.out
    assert "not tried: what other instrumentations emit" in ran.out
    assert "lantern" not in ran.out + ran.err


def test_what_never_arrives_is_not_proven(verify: Verify, tmp_path: Path, free_port: int) -> None:
    """Nobody listens at the endpoint: there is nothing to be found, and that is no proof."""
    arguments = ("--file", str(tmp_path / "never.json"), "--timeout", "0.5", "--no-with-foreign")
    ran = verify(*arguments, endpoint=f"http://127.0.0.1:{free_port}")
    assert ran.code == 1, ran.err
    assert "nothing arrived: not proven" in ran.out
    assert "verdict: not proven" in ran.out


def test_without_far_ends_it_proves_its_own_side_only(verify: Verify, free_port: int) -> None:
    """Records go to a private store, whatever the endpoint; the report says so and names the options."""
    ran = verify("--no-with-foreign", endpoint=f"http://127.0.0.1:{free_port}")
    assert ran.code == 0, ran.err
    assert "own side only" in ran.out
    assert "--jaeger URL" in ran.out


def test_the_receiver_that_runs_here_is_read(verify: Verify, tmp_path: Path) -> None:
    """Without far ends, when records go to otel-agent local."""
    store = default_path(tmp_path / "data")
    with LocalServer(store, grpc_port=0, http_port=0) as server:
        ran = verify("--no-with-foreign", "--json", endpoint=server.http_endpoint)
    assert ran.code == 0, ran.err
    assert ran.json["findings"][0]["far_end"] == f"store {store}"
    assert ran.json["private"] is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--jaeger", "localhost:16686"), "not one of http or https"),
        (("--logs", "http://user:secret@127.0.0.1:{port}"), "cannot be reached (ConnectionRefusedError)"),
        (("--prometheus", "http://127.0.0.1:{port}"), "cannot be reached (ConnectionRefusedError)"),
        (("--file", "/no/such/folder/file"), "nor is the folder"),
        (("--store", "/no/such/store.duckdb"), "cannot be read as a store"),
    ],
)
def test_a_wrong_far_end_is_told_before_anything_is_sent(verify: Verify, free_port: int, arguments: tuple[str, str], said: str) -> None:
    """Exit code 2, with a reason, without the credentials."""
    ran = verify(*(one.format(port=free_port) for one in arguments))
    assert ran.code == 2
    assert said in ran.err
    assert "sending" not in ran.err
    assert "secret" not in ran.err


@pytest.mark.parametrize("option", ["--jaeger", "--prometheus", "--logs"])
def test_a_server_of_another_kind_is_refused(verify: Verify, tmp_path: Path, option: str) -> None:
    """It answers, and is not what it was said to be."""
    with LocalServer(tmp_path / "other.duckdb", grpc_port=0, http_port=0) as server:
        ran = verify(option, server.http_endpoint)
    assert ran.code == 2
    assert "answers 404" in ran.err


@pytest.mark.parametrize("ends", [("--file", "x.json"), ()], ids=["a far end", "none"])
def test_an_export_that_is_off_is_told(verify: Verify, ends: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would ever arrive."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    ran = verify(*ends)
    assert ran.code == 2
    assert "nothing is exported" in ran.err
