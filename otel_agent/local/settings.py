"""What the receiver can be told: addresses, limits, pace. Read nowhere from the environment; the caller fills it in."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

GRPC_PORT: Final = 4317
HTTP_PORT: Final = 4318
LAST_PORT: Final = 65_535
FILE_NAME: Final = "otel-agent.duckdb"
MEBIBYTE: Final = 1024 * 1024


class UnsafeBinding(ValueError):
    """A wider address than loopback was asked for without a token, or with one that cannot be sent."""


class WrongPort(ValueError):
    """A number that is no port; gRPC would take it modulo 65536."""


def default_path(data_home: Path) -> Path:
    """Where the store is when nothing else is said: below the user's data directory."""
    return data_home / "otel-agent" / FILE_NAME


def is_loopback(host: str) -> bool:
    """Whether ``host`` can only be reached from this machine. A name other than ``localhost`` may resolve to anything."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Settings of one receiver; port 0 takes a free one. Sizes are bytes, decompressed; times are seconds.

    ``keep_days``: records that were received longer ago are removed, at the start and then every hour; ``None`` keeps everything.

    ``max_records`` counts the records of a request together with the groups and fields around them.
    """

    path: Path
    host: str = "127.0.0.1"
    grpc_port: int = GRPC_PORT
    http_port: int = HTTP_PORT
    token: str | None = None
    keep_days: int | None = None
    max_body: int = 16 * MEBIBYTE
    max_pending_bytes: int = 64 * MEBIBYTE
    max_pending_requests: int = 128
    max_depth: int = 100
    max_records: int = 300_000
    gather: float = 0.003
    gather_rows: int = 20_000
    body_timeout: float = 30.0
    commit_timeout: float = 30.0
    retry_after: int = 1
    database_memory: str = "512MB"
    database_threads: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "host", self.host.removeprefix("[").removesuffix("]"))  # as in a URL; sockets take none of them
        for name, port in (("gRPC", self.grpc_port), ("HTTP", self.http_port)):
            if not 0 <= port <= LAST_PORT:
                raise WrongPort(f"the port for {name} is no port: give one from 1 to {LAST_PORT}, or 0 for a free one")
        if not is_loopback(self.host) and not self.token:
            raise UnsafeBinding(
                f"{self.host} can be reached from other machines: set OTEL_AGENT_LOCAL_TOKEN to a token, or listen on 127.0.0.1"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise UnsafeBinding("the token must be printable ASCII without spaces, since it travels in a header")
