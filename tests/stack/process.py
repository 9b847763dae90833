"""One server process: started with a log file, waited for by its health address, stopped or killed by its own id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.stack.http_client import answers


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that were free a moment ago."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def tied() -> list[str]:
    """What to put before a command so that the server ends with us, even when we are killed; nothing where that is not to be had."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


@dataclass
class Process:
    """A server that can be killed and started again with the same command."""

    name: str
    command: Sequence[str]
    health: str
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    _running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._running is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._running.pid

    def start(self, seconds: float = 60) -> None:
        """Start and wait until it is healthy; a server that ends early fails at once, with the end of its log."""
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                [*tied(), *self.command],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **self.env},
            )
        deadline = time.monotonic() + seconds
        while not answers(self.health):
            if self._running.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not become healthy:\n{self.tail()}")
            time.sleep(0.1)

    def stop(self, seconds: float = 15) -> None:
        """Ask it to end; kill it when it does not."""
        if self._running is None:
            return
        self._running.terminate()
        try:
            self._running.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        self._running = None

    def kill(self) -> None:
        """SIGKILL: no chance to write anything down."""
        if self._running is not None:
            os.kill(self._running.pid, signal.SIGKILL)
            self._running.wait()
            self._running = None

    def cpu_seconds(self) -> float:
        """Processor time used so far, user and system; Linux only."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def tail(self, size: int = 3000) -> str:
        return self.log.read_bytes()[-size:].decode(errors="replace")
