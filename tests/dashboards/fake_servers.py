"""One small HTTP server that answers as Prometheus, VictoriaLogs and Jaeger do, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs

LABELS: Final = {"gen_ai_request_model": "m1", "otel_agent_run_end_reason": "answered"}
RECORD: Final = {"_time": "2026-01-01T00:00:00Z", "otel_agent.run.id": "run-7", "trace_id": "0af7651916cd43dd8448eb211c80319c"}


def _vector(_: Mapping[str, str]) -> Any:
    return {"data": {"result": [{"metric": LABELS, "value": [1.0, "42"]}]}}


def _matrix(asked: Mapping[str, str]) -> Any:
    start = float(asked["start"])
    points = [[start + 60 * number, "NaN" if number == 2 else str(number)] for number in range(5)]
    return {"data": {"result": [{"metric": LABELS, "values": points}]}}


def _trace(_: Mapping[str, str]) -> Any:
    span = {"name": "invoke_agent support", "startTimeUnixNano": "1000000000", "endTimeUnixNano": "3000000000"}
    return {"result": {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}}


ANSWERS: Final[Mapping[str, Callable[[Mapping[str, str]], Any]]] = {
    "/api/v1/query": _vector, "/api/v1/query_range": _matrix, "/select/logsql/query": lambda _: RECORD,
    f"/api/v3/traces/{RECORD['trace_id']}": _trace,
}  # fmt: skip


@contextmanager
def fake_servers() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Its address, and the list of (path, query) it was asked."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            form = {key: values[0] for key, values in parse_qs(body).items()}
            asked.append((self.path, form.get("query", "")))
            content = json.dumps(ANSWERS[self.path](form)).encode() + b"\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815 - the base class's name

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
