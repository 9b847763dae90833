"""The receiver as one object: store, writer, intake and both transports, started and stopped in the right order."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, Self

import uvicorn
from starlette.applications import Starlette

from otel_agent import allowlist
from otel_agent.local import over_grpc, retention, state
from otel_agent.local.api import NAME, SERVER, api_routes
from otel_agent.local.intake import Intake
from otel_agent.local.over_grpc import CannotListen
from otel_agent.local.over_http import otlp_routes
from otel_agent.local.patience import PatientProtocol
from otel_agent.local.quiet import without_messages
from otel_agent.local.settings import LocalSettings
from otel_agent.local.store import Store, StoreError, exists, told
from otel_agent.local.writer import WriteFailed, Writer
from otel_agent.plural import plural

GRACE: Final = 10.0
HOUR: Final = 3600.0
KEEP_ALIVE: Final = 30
MAX_CONNECTIONS: Final = 1024
MAX_FILES: Final = 4096


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=256)
    except OSError:
        raise CannotListen(
            f"cannot listen for HTTP on {host}:{port}: the port is taken or the address is not ours; give another with --http-port"
        ) from None


class LocalServer:
    """A receiver in this process: ``with LocalServer(path, grpc_port=0, http_port=0) as server``.

    Rows are in the file when a sender has its answer; leaving the block finishes what is under way and closes the file. Raises
    ``StoreError``, ``CannotListen`` or ``UnsafeBinding`` on entering, with nothing left open.
    """

    def __init__(self, settings: LocalSettings | Path, *, allowed: allowlist.Allowlist | None = None, **changes: Any) -> None:
        base = settings if isinstance(settings, LocalSettings) else LocalSettings(path=settings)
        self.settings = replace(base, **changes)
        self._allowed = allowed
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._closing = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.close()

    def _start(self, stack: ExitStack) -> None:
        """Open from the disk outwards, so that closing goes from the network inwards."""
        settings = self.settings
        stack.enter_context(without_messages())
        self.pruned = self._prune_at_start()
        store = Store(settings.path, memory=settings.database_memory, threads=settings.database_threads)
        stack.callback(store.close)
        writer = Writer(store, gather=settings.gather, gather_rows=settings.gather_rows)
        stack.callback(writer.close)
        self.intake = Intake(settings, self._allowed or allowlist.load(), writer)
        stack.callback(self.intake.close)
        if settings.keep_days is not None:
            stack.callback(_every(HOUR, partial(self._prune, store, writer, settings.keep_days)))
        self._start_http(stack, store, writer)
        grpc_server, self.grpc_port = over_grpc.start(settings, self.intake)
        stack.callback(lambda: grpc_server.stop(GRACE).wait())
        with told(settings.path):
            state.write(settings.path, state.Running(os.getpid(), self._reachable, self.http_port, self._token))
        stack.callback(state.remove, settings.path)

    def _prune_at_start(self) -> retention.Pruned | None:
        """While nobody holds the file, its space can be given back."""
        settings = self.settings
        if settings.keep_days is None or not exists(settings.path):
            return None
        before = retention.cutoff(settings.keep_days)
        try:
            older = retention.holds_older(settings.path, before)
        except StoreError:  # what is wrong with it, or that it is empty, is seen when it is opened for writing
            return None
        return retention.rewrite(settings.path, before) if older else None

    def _prune(self, store: Store, writer: Writer, days: int) -> retention.Pruned:
        pruned: retention.Pruned = writer.do(lambda: retention.delete(store, retention.cutoff(days))).result()
        return pruned

    def _start_http(self, stack: ExitStack, store: Store, writer: Writer) -> None:
        self._token = secrets.token_urlsafe(32)
        listener = _listen(self.settings.host, self.settings.http_port)
        self.http_port = int(listener.getsockname()[1])
        app = Starlette(
            routes=[*otlp_routes(self.intake), *api_routes(store, self.intake, self._token, partial(self._prune, store, writer))]
        )
        server = uvicorn.Server(_uvicorn(app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="otel-agent-http", daemon=True)
        thread.start()

        def stop() -> None:
            server.should_exit = True
            thread.join()
            listener.close()

        stack.callback(stop)

    @property
    def _reachable(self) -> str:
        """Where this machine reaches us: a wildcard address is no destination."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.settings.host, self.settings.host)  # noqa: S104 - a comparison

    def _url(self, port: int) -> str:
        host = self._reachable
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def grpc_endpoint(self) -> str:
        """For ``OTEL_EXPORTER_OTLP_ENDPOINT`` with protocol ``grpc``."""
        return self._url(self.grpc_port)

    @property
    def http_endpoint(self) -> str:
        """For ``OTEL_EXPORTER_OTLP_ENDPOINT`` with protocol ``http/protobuf`` or ``http/json``."""
        return self._url(self.http_port)


def _every(pause: float, task: Callable[[], object]) -> Callable[[], None]:
    """Do ``task`` again and again, in a thread of its own; what is returned ends that. One that fails is tried again after the pause."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(pause):
            with suppress(WriteFailed):
                task()

    thread = threading.Thread(target=go_on, name="otel-agent-retention", daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        thread.join()

    return stop


def _uvicorn(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[(SERVER, NAME)],
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(GRACE),
        limit_concurrency=MAX_CONNECTIONS,
    )


def greeting(server: LocalServer) -> str:
    """What a person needs to know to send to it."""
    lines = (
        f"otel-agent local is listening on {server.grpc_endpoint} (gRPC) and {server.http_endpoint} (HTTP)",
        f"store: {server.settings.path}, {_kept(server)}",
        "send to it with:",
        f"  export OTEL_EXPORTER_OTLP_ENDPOINT={server.http_endpoint} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        f"or, over gRPC: OTEL_EXPORTER_OTLP_ENDPOINT={server.grpc_endpoint} OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
        *_token_hint(server.settings.token),
        "Ctrl-C ends it.",
    )
    return "\n".join(lines)


def _kept(server: LocalServer) -> str:
    days = server.settings.keep_days
    if days is None:
        return "everything is kept"
    done = "" if server.pruned is None else f": {retention.summary(server.pruned.as_facts(), days)}"
    return f"records of {days} {plural(days, 'day')} are kept{done}"


def _token_hint(token: str | None) -> tuple[str, ...]:
    return ('senders need: OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20<the token>"',) if token else ()


def _allow_files() -> None:
    """As many open files as the connections need, where the system lets us: the usual 1024 are fewer."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def serve(settings: LocalSettings, *, say: Callable[[str], None] = print) -> None:
    """Run a receiver until SIGINT or SIGTERM, then finish what is under way. Call from the main thread of its own process."""
    os.umask(0o077)
    _allow_files()
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    with LocalServer(settings) as server:
        say(greeting(server))
        ended.wait()
        say("ending: storing what has arrived")
