"""Where the store is: odd paths, links, damaged files, state files that others left; always an answer, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from otel_agent.cli import main
from otel_agent.local import reader, retention, state
from otel_agent.local.server import LocalServer
from otel_agent.local.store import Store, StoreError, wal

from .payloads import ended, logs, started, turn
from .senders import rows, send_http

CLI = (sys.executable, "-m", "otel_agent.cli")
FREE = ("--http-port", "0", "--grpc-port", "0")
VERBS: dict[str, tuple[str, ...]] = {
    "local": ("local", *FREE), "runs": ("runs", "--json"), "show": ("show", "r1"), "prune": ("prune", "--keep", "30"),
    "economics": ("economics", "r1"),
}  # fmt: skip


@pytest.fixture
def filled(database: Path) -> Path:
    """A store with one run, long enough to be cut in the middle of its rows."""
    with LocalServer(database, grpc_port=0, http_port=0) as running:
        for number in range(20):
            send_http(running, logs(started(f"r{number}"), *(turn(f"r{number}", at) for at in range(50)), ended(f"r{number}")))
    return database


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("name", ["file/store.duckdb", "n" * 300, "/proc/none/store.duckdb", "folder"])
def test_a_path_that_cannot_be_used_is_said(name: str, verb: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below a file, too long, where nothing can be made, a folder: exit code 2, one line, nothing on standard output."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert main([*verb, "--store", str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("otel-agent")
    assert err.count("\n") == 1


def cut(content: bytes) -> bytes:
    """The second half is lost."""
    return content[: len(content) // 2]


def head(content: bytes) -> bytes:
    """Nothing but the beginning is there."""
    return content[:5000]


def zeros(content: bytes) -> bytes:
    """All but the header is overwritten."""
    return content[:8192] + bytes(len(content) - 8192)


@pytest.mark.parametrize("verb", ["runs", "show", "prune"])
@pytest.mark.parametrize("damage", [cut, head, zeros])
def test_a_damaged_file_is_said(damage: Callable[[bytes], bytes], verb: str, filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where that only shows when rows are read; it is not said to be held by somebody, and it stays as it is."""
    damaged = damage(filled.read_bytes())
    filled.write_bytes(damaged)
    assert main([*VERBS[verb], "--store", str(filled)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "held by another process" not in err
    assert err.count("\n") == 1
    assert filled.read_bytes() == damaged


def test_a_link_leads_to_one_store(filled: Path, tmp_path: Path) -> None:
    """Written by one name and read by the other while a receiver holds it and after one was killed; pruning leaves the link a link."""
    link = tmp_path / "elsewhere" / "link.duckdb"
    link.parent.mkdir()
    link.symlink_to(filled)
    with LocalServer(link, grpc_port=0, http_port=0) as running:
        send_http(running, logs(started("new")))
        assert reader.holder(filled) == reader.holder(link) == f"127.0.0.1:{running.http_port}"
        assert wal(link).exists()
        assert [file.name for file in link.parent.iterdir()] == [link.name]
    retention.rewrite(link, retention.cutoff(1))
    assert link.is_symlink()
    assert "new" in {run["run_id"] for run in reader.runs(filled)["runs"]}


def test_paths_of_any_letters(tmp_path: Path) -> None:
    """Spaces, letters, quotes; in a terminal that knows ASCII alone, too."""
    path = tmp_path / "a ü €" / "ß '\"%3F#.duckdb"
    with LocalServer(path, grpc_port=0, http_port=0) as running:
        send_http(running, logs(started("r1")))
        assert reader.runs(path)["runs"][0]["run_id"] == "r1"
    retention.rewrite(path, retention.cutoff(1))
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    shown = subprocess.run([*CLI, "runs", "--store", str(path)], env={**os.environ, **plain}, capture_output=True, check=False, timeout=60)
    assert (shown.returncode, b"r1" in shown.stdout) == (0, True)
    absent = [*CLI, "runs", "--store", str(tmp_path / "ü.duckdb")]
    ended = subprocess.run(absent, env={**os.environ, **plain}, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert b"does not exist" in ended.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
def test_a_path_that_is_no_utf_8_is_said(tmp_path: Path) -> None:
    """DuckDB takes no other."""
    with pytest.raises(StoreError, match="no UTF-8"):
        Store(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.duckdb")))


@pytest.fixture(params=[200, 302, 404, 500])
def stranger(request: pytest.FixtureRequest) -> Iterator[int]:
    """Another program, on the port that a killed receiver had: its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(request.param)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"error": "who are you?"}')

        do_POST = do_GET  # noqa: N815 - the name that is looked up

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_a_stranger_on_the_port_of_the_state_file(stranger: int, filled: Path) -> None:
    """Whatever it answers: the file is read, and pruned, as if nobody were there."""
    state.write(filled, state.Running(1, "127.0.0.1", stranger, "token"))
    assert len(reader.runs(filled)["runs"]) == 20
    assert reader.show(filled, "r1") is not None
    assert reader.which(filled, "r1")
    assert reader.holder(filled) is None
    assert reader.prune(filled, 30)["rewritten"]
    with pytest.raises(StoreError, match="no receiver is running"):
        reader.stats(filled)


STATE = {"pid": 1, "host": "127.0.0.1", "port": 1, "token": "t"}
BROKEN: list[Any] = [
    [], {}, "x", {**STATE, "host": 5}, {**STATE, "host": "a b\n"}, {**STATE, "host": "\u20ac" * 80}, {**STATE, "port": "1"},
    {**STATE, "port": 70_000}, {**STATE, "port": True}, {**STATE, "token": None}, {**STATE, "token": "a\r\nb"},
    {**STATE, "token": "\u20ac"}, {**STATE, "more": 1},
]  # fmt: skip


@pytest.mark.parametrize("content", BROKEN)
def test_a_state_file_that_is_none(content: Any, filled: Path) -> None:
    """It is passed over."""
    state.state_path(filled).write_text(json.dumps(content), "utf-8")
    assert len(reader.runs(filled)["runs"]) == 20


def test_a_state_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """Nothing is left open, so the next receiver starts."""
    path = tmp_path / ("n" * 240)
    with pytest.raises(StoreError, match="cannot be used"), LocalServer(path, grpc_port=0, http_port=0):
        pass
    assert rows(path, "SELECT count(*) FROM logs") == [(0,)]
