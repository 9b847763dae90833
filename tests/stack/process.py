"""One server process: started with a log file, waited for by its health address, stopped or killed by its own id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.stack.http_client import answers

FIRST, SHARE, SHARES = 20_000, 200, 60
"""Below the range from which the kernel takes ports for outgoing connections, which could come first; each process has a share."""

_turn = count()


def free_ports(wanted: int) -> list[int]:
    """Distinct loopback ports that nobody listens on. Raises ``StopIteration`` when there are not enough."""
    base = FIRST + os.getpid() % SHARES * SHARE
    tried = (base + next(_turn) % SHARE for _ in range(SHARE))
    free = filter(_is_free, tried)
    return [next(free) for _ in range(wanted)]


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do: a connection of before is no hindrance
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


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
