"""The HTTP side: a loopback server with keep-alive, where every chunk is flushed by itself."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from otel_agent.testing.standin.answers import Answer, Chunk

LOOPBACK = "127.0.0.1"
MAX_BODY = 256 * 1024 * 1024


class Log(Protocol):
    """Told how an answer went."""

    def sent(self, events: int) -> None:
        """So many chunks have left."""

    def ended(self, how: str) -> None:
        """`whole`, `cut` by the script, or `client_gone`."""


Answering = Callable[[str, str, tuple[tuple[str, str], ...], bytes, float], tuple[Answer, Log]]
"""Method, target, headers, body and time of arrival to what is sent."""


class LoopbackServer(ThreadingHTTPServer):
    """Serves on the loopback interface only; closing ends every connection and every wait at once."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answering: Answering, port: int = 0) -> None:
        self.answering = answering
        self.closing = threading.Event()
        self._connections: set[socket.socket] = set()
        super().__init__((LOOPBACK, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hand a connection to its thread, and keep it in mind."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that is done with."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections that clients drop are part of what is simulated; anything else is a mistake in a script."""
        if not self.closing.is_set() and not _is_dropped():
            super().handle_error(request, client_address)

    def stop(self) -> None:
        """Stop serving, end waits, close connections."""
        self.closing.set()
        self.shutdown()
        for connection in list(self._connections):
            _hang_up(connection)
        self.server_close()


def _is_dropped() -> bool:
    return isinstance(sys.exc_info()[1], OSError)


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


class _Handler(BaseHTTPRequestHandler):
    server: LoopbackServer
    protocol_version = "HTTP/1.1"
    server_version = "standin"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: requests are recorded instead."""

    def _serve(self) -> None:
        body = self._read_body()
        if body is None:
            self.send_error(413)
            self.close_connection = True
            return
        headers = tuple((str(name), str(value)) for name, value in self.headers.items())
        answer, log = self.server.answering(self.command, self.path, headers, body, time.monotonic())
        try:
            log.ended(self._send(answer, log))
        except OSError:
            log.ended("client_gone")
            self.close_connection = True

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 (the names that http.server calls)

    def _read_body(self) -> bytes | None:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            return self._read_chunks()
        length = int(self.headers.get("content-length") or 0)
        return self.rfile.read(length) if length <= MAX_BODY else None

    def _read_chunks(self) -> bytes | None:
        parts: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            if size + sum(map(len, parts)) > MAX_BODY:
                return None
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue
        return b"".join(parts)

    def _send(self, answer: Answer, log: Log) -> str:
        self._wait(answer.before)
        self._send_head(answer)
        if answer.chunks is None:
            return self._send_body(answer)
        for number, chunk in enumerate(answer.chunks, 1):
            self._send_chunk(chunk)
            log.sent(number)
        return self._cut() if answer.cut else self._finish()

    def _send_head(self, answer: Answer) -> None:
        self.send_response(answer.status)
        framing = ("content-length", str(len(answer.body))) if answer.chunks is None else ("transfer-encoding", "chunked")
        for name, value in (("content-type", answer.content_type), framing, *answer.headers):
            self.send_header(name, value)
        self.end_headers()
        if answer.chunks is not None:
            self.wfile.flush()

    def _send_body(self, answer: Answer) -> str:
        self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)
        self.wfile.flush()
        return self._cut() if answer.cut else "whole"

    def _send_chunk(self, chunk: Chunk) -> None:
        if chunk.gate is not None:
            chunk.gate.wait(chunk.gate_timeout)
        self._wait(chunk.wait)
        if chunk.data:  # an empty chunk would end the body
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk.data), chunk.data))
            self.wfile.flush()

    def _finish(self) -> str:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
        return "whole"

    def _cut(self) -> str:
        self.close_connection = True
        return "cut"

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self.server.closing.wait(seconds)
