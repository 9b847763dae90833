"""An answered request survives anything that can be done to the process."""

from __future__ import annotations

import http.client
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from otel_agent.cli import main
from otel_agent.local import reader, state
from otel_agent.local.store import StoreHeld

from . import payloads
from .senders import rows

SERVE = """
import sys
from pathlib import Path
from otel_agent.local.server import serve
from otel_agent.local.settings import LocalSettings
serve(LocalSettings(path=Path(sys.argv[1]), grpc_port=0, http_port=0), say=lambda text: print(text, flush=True))
"""
PER_REQUEST = 5


class Process:
    """A receiver in a process of its own."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.process = subprocess.Popen([sys.executable, "-c", SERVE, str(database)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.greeting = [self.process.stdout.readline() for _ in range(6)]
        running = state.read(database)
        assert running is not None
        self.port = running.port

    def end(self, number: int) -> int:
        """Send a signal and wait."""
        self.process.send_signal(number)
        self.process.communicate(timeout=30)
        return self.process.returncode


class Load(threading.Thread):
    """One sender that posts spans until the connection breaks, and remembers whose answer came."""

    def __init__(self, port: int, first: int) -> None:
        super().__init__()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.next = first
        self.answered: list[int] = []

    def run(self) -> None:
        """Send until refused."""
        try:
            while True:
                self.send()
        except (OSError, http.client.HTTPException):
            return

    def send(self) -> None:
        """Send one request, and note its ids if it was answered as stored."""
        connection = self.connection
        body = payloads.spans(PER_REQUEST, first=self.next).SerializeToString()
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        response = connection.getresponse()
        response.read()
        if response.status == 200:
            self.answered += range(self.next, self.next + PER_REQUEST)
        self.next += PER_REQUEST


def loaded(port: int, spans: int) -> list[Load]:
    """Four senders in the midst of sending, once so many spans were answered."""
    senders = [Load(port, first=1 + number * 10_000_000) for number in range(4)]
    for sender in senders:
        sender.start()
    until = time.monotonic() + 60
    while sum(len(sender.answered) for sender in senders) < spans and time.monotonic() < until:
        time.sleep(0.01)
    return senders


def finish(senders: list[Load]) -> set[int]:
    """Every id whose request was answered."""
    for sender in senders:
        sender.join(30)
    return {number for sender in senders for number in sender.answered}


def stored(database: Path) -> list[int]:
    """Every id in the file, as often as it is there."""
    return [int(trace, 16) for (trace,) in rows(database, "SELECT trace_id FROM spans")]


@pytest.mark.parametrize("spans", [150, 1500])
def test_kill_9_under_load_loses_no_answered_record(database: Path, spans: int) -> None:
    """Every answered span is in the file after the process was killed, once, and a new process goes on with it."""
    process = Process(database)
    senders = loaded(process.port, spans)
    assert process.end(signal.SIGKILL) == -signal.SIGKILL
    answered = finish(senders)
    assert len(answered) >= spans
    found = stored(database)
    assert answered <= set(found)
    assert len(found) == len(set(found))
    assert len(found) % PER_REQUEST == 0
    assert state.read(database) is not None  # left behind
    assert reader.runs(database)["no_run"] == []  # and seen through
    again = Process(database)
    assert again.end(signal.SIGTERM) == 0
    assert sorted(stored(database)) == sorted(found)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_under_load_ends_in_good_order(database: Path, number: int) -> None:
    """On SIGTERM or SIGINT what is under way is stored and answered; the state file goes, and nothing is left in the log."""
    process = Process(database)
    senders = loaded(process.port, 150)
    assert process.end(number) == 0
    answered = finish(senders)
    assert answered <= set(stored(database))
    assert sorted(file.name for file in database.parent.iterdir()) == [database.name]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs limits that can be changed from outside (Linux)")
def test_a_full_disk_is_told_to_the_sender_and_passes(database: Path) -> None:
    """While nothing can be written every sender hears so, once in the log; afterwards it goes on, with all that was answered."""
    process = Process(database)
    sender = Load(process.port, first=1)
    for _ in range(3):
        sender.send()
    before = list(sender.answered)
    for limit in (1000, resource.RLIM_INFINITY):
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for _ in range(5):
            sender.send()
        if limit == 1000:
            assert sender.answered == before
    assert process.end(signal.SIGTERM) == 0
    assert len(sender.answered) == len(before) + 5 * PER_REQUEST
    assert sorted(stored(database)) == sorted(sender.answered)


def test_serve_says_where_and_how(database: Path) -> None:
    """The greeting holds the addresses, the store and the line that points an application at it."""
    process = Process(database)
    text = "".join(process.greeting)
    assert process.end(signal.SIGTERM) == 0
    assert f"export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{process.port} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in text
    assert str(database) in text


def test_files_are_private(database: Path) -> None:
    """Database, log and state file are the owner's alone, and so is a folder made for them."""
    before = os.umask(0o000)
    try:
        process = Process(database)
        finish_load = loaded(process.port, 50)
        modes = {file.name: file.stat().st_mode & 0o777 for file in database.parent.iterdir()}
        process.end(signal.SIGKILL)
        finish(finish_load)
    finally:
        os.umask(before)
    assert set(modes) == {database.name, f"{database.name}.wal", f"{database.name}.server.json"}
    assert set(modes.values()) == {0o600}
    assert database.parent.stat().st_mode & 0o777 == 0o700


def test_two_processes_do_not_share_a_file(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second receiver on the same file, and a reader without the state file, are told that it is held; where, if that can be known."""
    process = Process(database)
    try:
        second = subprocess.run([sys.executable, "-c", SERVE, str(database)], capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode != 0
        assert "held by another process" in second.stderr
        verb = ["local", "--store", str(database), "--http-port", "0", "--grpc-port", "0"]
        assert main(verb) == 2
        assert f"runs already, on 127.0.0.1:{process.port}, with this store" in capsys.readouterr().err
        state.remove(database)
        with pytest.raises(StoreHeld, match="held by another process"):
            reader.runs(database)
        assert main(verb) == 2
        assert "held by another process" in capsys.readouterr().err
    finally:
        process.end(signal.SIGTERM)
