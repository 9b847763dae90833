"""Old records go when that is asked for, never by themselves; runs stay whole; the space comes back."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import duckdb
import pytest

from otel_agent.cli import main
from otel_agent.local import reader, retention, server
from otel_agent.local.server import LocalServer, greeting
from otel_agent.local.settings import LocalSettings
from otel_agent.local.store import NewerStore, Store, StoreError
from otel_agent.local.tables import TABLES, VERSION
from otel_agent.settings import SettingsError, local_keep_days

from .payloads import ended, logs, metrics, spans, started, tool, turn
from .senders import post, rows, send_http

DAYS = 30


def aged(database: Path, table: str, condition: str = "true", days: int = 40) -> None:
    """Make rows as old as that."""
    with duckdb.connect(str(database)) as connection:
        moment = (datetime.now(UTC) - timedelta(days=days)).replace(tzinfo=None)
        connection.execute(f"UPDATE {table} SET received_at = ? WHERE {condition}", [moment])


def counts(database: Path) -> dict[str, int]:
    """Rows by table."""
    return {table: rows(database, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


@pytest.fixture
def filled(database: Path) -> Path:
    """Three runs: one old, one whose beginning is old, one new; a turn outside any run, spans and metrics, old and new."""
    with LocalServer(database, grpc_port=0, http_port=0) as running:
        for name in ("old", "long", "new"):
            send_http(running, logs(started(name), turn(name, 1), tool(name, 1), ended(name)))
        send_http(running, logs(turn(None, None), trace=77))
        send_http(running, spans(2, attributes={"otel_agent.run.id": "old"}))
        send_http(running, spans(2, first=3, attributes={"otel_agent.run.id": "long"}))
        send_http(running, metrics())
        send_http(running, metrics("otel_agent.runs"))
    aged(database, "logs", "attributes->>'$.\"otel_agent.run.id\"' IS DISTINCT FROM 'new'")
    aged(database, "logs", "attributes->>'$.\"otel_agent.run.id\"' = 'long' AND event_name = 'otel_agent.agent_run'", days=3)
    aged(database, "spans")
    aged(database, "points", "metric = 'otel_agent.turns'")
    aged(database, "exemplars", "metric = 'otel_agent.turns'")
    return database


REMOVED = {"spans": 2, "logs": 5, "points": 3, "exemplars": 1}


def check_kept(database: Path) -> None:
    """What is left is what should be."""
    assert {run["run_id"]: (run["state"], run["turns"], run["tool_calls"]) for run in reader.runs(database)["runs"]} == {
        "long": ("ended", 2, 1), "new": ("ended", 2, 1),
    }  # fmt: skip
    assert reader.runs(database)["no_run"] == []


def test_a_file_that_nobody_holds_is_written_anew(filled: Path) -> None:
    """What is too old is gone, runs are whole, the file is private and can be written to as before."""
    before = counts(filled)
    filled.with_name(f"{filled.name}.pruned").write_bytes(b"left by one that was killed")
    filled.with_name(f"{filled.name}.pruned.wal").write_bytes(b"the same")
    found = reader.prune(filled, DAYS)
    assert found["removed"] == REMOVED
    assert found["rewritten"] is True
    assert counts(filled) == {table: before[table] - REMOVED[table] for table in TABLES}
    check_kept(filled)
    assert found["bytes_after"] == filled.stat().st_size
    assert stat.S_IMODE(filled.stat().st_mode) == 0o600
    assert [path.name for path in filled.parent.iterdir()] == [filled.name]
    with LocalServer(filled, grpc_port=0, http_port=0) as running:
        send_http(running, logs(ended("later")))
    assert len(reader.runs(filled)["runs"]) == 3
    assert reader.prune(filled, DAYS)["removed"] == dict.fromkeys(TABLES, 0)


def test_a_receiver_that_runs_deletes_in_place(filled: Path) -> None:
    """The same goes, what comes meanwhile stays, and reading goes on."""
    with LocalServer(filled, grpc_port=0, http_port=0) as running:
        found = reader.prune(filled, DAYS)
        assert (found["removed"], found["rewritten"]) == (REMOVED, False)
        check_kept(filled)
        send_http(running, logs(ended("later")))
        assert reader.prune(filled, DAYS)["removed"] == dict.fromkeys(TABLES, 0)
        assert len(reader.runs(filled)["runs"]) == 3
    assert len(reader.runs(filled)["runs"]) == 3


def test_the_receiver_prunes_at_its_start(filled: Path) -> None:
    """With ``--keep`` alone; the greeting says how many went."""
    before = counts(filled)
    with LocalServer(filled, grpc_port=0, http_port=0) as running:
        assert "everything is kept" in greeting(running)
    assert counts(filled) == before
    with LocalServer(filled, grpc_port=0, http_port=0, keep_days=DAYS) as running:
        assert f"records of {DAYS} days are kept: removed 11 records older than {DAYS} days" in greeting(running)
        check_kept(filled)
    assert counts(filled) == {table: before[table] - REMOVED[table] for table in TABLES}
    with LocalServer(filled, grpc_port=0, http_port=0, keep_days=DAYS) as running:
        assert f"records of {DAYS} days are kept\n" in greeting(running)  # nothing is written anew for nothing


def test_the_receiver_prunes_as_time_goes_by(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And ends at once, whatever the pause."""
    monkeypatch.setattr(server, "HOUR", 0.05)
    monkeypatch.setattr(LocalServer, "_prune_at_start", lambda self: None)
    until = monotonic() + 20
    with LocalServer(filled, grpc_port=0, http_port=0, keep_days=DAYS) as running:
        assert running.pruned is None
        while len(reader.runs(filled)["runs"]) > 2:
            assert monotonic() < until
            sleep(0.02)
    check_kept(filled)
    monkeypatch.setattr(server, "HOUR", 3600.0)
    began = monotonic()
    with LocalServer(filled, grpc_port=0, http_port=0, keep_days=DAYS):
        pass
    assert monotonic() - began < 15


def test_the_space_comes_back(database: Path) -> None:
    """A checkpoint alone leaves the file as large as it was."""
    with LocalServer(database, grpc_port=0, http_port=0) as running:
        for first in range(1, 20_001, 4000):
            assert send_http(running, spans(4000, first=first)).status == 200
    aged(database, "spans", "CAST(concat('0x', right(trace_id, 8)) AS BIGINT) > 400")
    found = reader.prune(database, DAYS)
    assert found["removed"]["spans"] == 19_600
    assert found["bytes_after"] == database.stat().st_size < 0.6 * found["bytes_before"]


def test_what_cannot_be_pruned_says_so_and_stays(database: Path) -> None:
    """No file, a newer one, one that is held."""
    with pytest.raises(StoreError, match="does not exist"):
        reader.prune(database, 1)
    assert not database.parent.exists()
    Store(database).close()
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"UPDATE schema_version SET version = {VERSION + 1}")
    whole = database.read_bytes()
    with pytest.raises(NewerStore):
        reader.prune(database, 1)
    assert database.read_bytes() == whole
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_a_failure_on_the_way_leaves_the_file_as_it_was(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing beside it."""
    whole = counts(filled)
    monkeypatch.setattr(retention, "_too_old", lambda table, source="": "no_such_column")
    with pytest.raises(StoreError, match="it is as it was"):
        reader.prune(filled, DAYS)
    assert counts(filled) == whole
    assert [path.name for path in filled.parent.iterdir()] == [filled.name]
    with LocalServer(filled, grpc_port=0, http_port=0), pytest.raises(StoreError, match="could not answer"):
        reader.prune(filled, DAYS)
    assert len(reader.runs(filled)["runs"]) == 3


def test_only_the_owner_prunes(database: Path) -> None:
    """The token of the state file is needed, and a sound number of days."""
    with LocalServer(database, grpc_port=0, http_port=0) as running:
        assert post(running, "/api/prune?days=1", None, {}).status == 401
        key = {"Authorization": f"Bearer {running._token}"}
        assert post(running, "/api/prune?days=1", None, key, method="GET").status == 405
        for days in ("", "0", "-1", "x", "999999"):
            assert post(running, f"/api/prune?days={days}", None, key).status == 400


def test_the_verb_says_what_went(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for a person, or JSON."""
    assert main(["prune", "--store", str(filled), "--keep", "30"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("removed 11 records older than 30 days (spans 2, logs 5, points 3, exemplars 1); the store went from ")
    assert main(["prune", "--store", str(filled), "--keep", "1", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["removed"] == {"spans": 2, "logs": 4, "points": 0, "exemplars": 0}
    assert set(found) == {"before", "removed", "bytes_before", "bytes_after", "rewritten"}
    assert main(["prune", "--store", f"{filled}.away", "--keep", "1"]) == 2
    assert "does not exist" in capsys.readouterr().err


WRONG = (
    *((["local", f"--{kind}-port", value], "this is not a port; write a whole number from 0 to 65535")
      for kind in ("grpc", "http") for value in ("99999", "65536", "-1", "http", "")),
    *(([*verb, "--keep", value], "this is not a number of days; write a whole number from 1 to 36500")
      for verb in (["local"], ["prune"]) for value in ("0", "-1", "1.5", "week")),
    *((["runs", "--limit", value], "this is not a count; write a whole number from 1 to 1000") for value in ("0", "-5", "1001")),
    *((["verify", option, value], "this is no number of seconds")
      for option in ("--timeout", "--settle") for value in ("-1", "nan", "inf")),
)  # fmt: skip


@pytest.mark.parametrize(("arguments", "right"), WRONG, ids=lambda given: " ".join(given) if isinstance(given, list) else "")
def test_wrong_numbers_are_refused_where_they_are_read(arguments: list[str], right: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By option and remedy, before anything is opened. A port of 99999 was 34463 to gRPC."""
    with pytest.raises(SystemExit) as ended_with:
        main([arguments[0], f"{arguments[1]}={arguments[2]}"])
    assert ended_with.value.code == 2
    assert f"argument {arguments[1]}: {right}" in capsys.readouterr().err


@pytest.mark.parametrize("field", ["grpc_port", "http_port"])
@pytest.mark.parametrize("port", [-1, 65_536, 99_999])
def test_a_receiver_refuses_a_wrong_port(field: str, port: int, tmp_path: Path) -> None:
    """Also where it is built in code."""
    with pytest.raises(ValueError, match="is no port: give one from 1 to 65535, or 0 for a free one"):
        LocalSettings(path=tmp_path / "x", **{field: port})


def test_the_variable_for_days() -> None:
    """Unset or empty keeps everything."""
    assert local_keep_days({}) is local_keep_days({"OTEL_AGENT_LOCAL_KEEP_DAYS": ""}) is None
    assert local_keep_days({"OTEL_AGENT_LOCAL_KEEP_DAYS": "7"}) == 7
    for wrong in ("0", "-1", "1.5", "true", "99999"):
        with pytest.raises(SettingsError, match="OTEL_AGENT_LOCAL_KEEP_DAYS"):
            local_keep_days({"OTEL_AGENT_LOCAL_KEEP_DAYS": wrong})


def test_an_empty_file_is_no_reason_not_to_start(database: Path) -> None:
    """There is nothing in it to prune."""
    database.parent.mkdir()
    with duckdb.connect(str(database)):
        pass
    with LocalServer(database, grpc_port=0, http_port=0, keep_days=1) as running:
        assert running.pruned is None
        send_http(running, logs(ended("r1")))
    assert [run["run_id"] for run in reader.runs(database)["runs"]] == ["r1"]


def test_a_store_that_is_held_is_left_alone(filled: Path) -> None:
    """By another process that does not say so in a state file."""
    holding = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holding, str(filled)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match="held by another process"):
            reader.prune(filled, DAYS)
        other.communicate()
    assert len(reader.runs(filled)["runs"]) == 3
    assert [path.name for path in filled.parent.iterdir()] == [filled.name]


def test_a_quote_in_the_path_is_no_matter(filled: Path, tmp_path: Path) -> None:
    """The path stands in a statement."""
    folder = tmp_path / "it's; DROP"
    folder.mkdir()
    odd = filled.rename(folder / "o'dd.duckdb")
    assert reader.prune(odd, DAYS)["removed"] == REMOVED
    check_kept(odd)
