"""The stand-in on the command line: what it refuses, and that it serves where it is told to."""

from __future__ import annotations

import socket

import pytest

from otel_agent.testing.standin.__main__ import main


@pytest.mark.parametrize("port", ["-1", "65536", "99999", "123456", "http", "80.0", "", " 80", "1_000", "²", "٣"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and the bounds, before anything listens."""
    with pytest.raises(SystemExit) as ended:
        main([f"--port={port}", "--seconds=0"])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.err.endswith("argument --port: this is not a port; write a whole number from 0 to 65535\n")
    assert told.out == ""


def test_a_port_that_is_one_is_listened_on(capsys: pytest.CaptureFixture[str]) -> None:
    """The one that was named."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    assert main([f"--port={port}", "--seconds=0"]) == 0
    assert f"ANTHROPIC_BASE_URL=http://127.0.0.1:{port}" in capsys.readouterr().out


def test_a_free_port_is_taken_for_0(capsys: pytest.CaptureFixture[str]) -> None:
    """And told."""
    assert main(["--port=0", "--seconds=0"]) == 0
    assert ":0" not in capsys.readouterr().out


@pytest.mark.parametrize("seconds", ["-1", "-0.1", "nan", "-inf", "soon", "", "5s"])
def test_a_time_that_is_none_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and the remedy, before anything listens; not-a-number would never come, or be over at once."""
    with pytest.raises(SystemExit) as ended:
        main(["--port=0", f"--seconds={seconds}"])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.err.endswith(
        "argument --seconds: this is no number of seconds; write one from 0 on, or leave it out to serve until interrupted\n"
    )
    assert told.out == ""
