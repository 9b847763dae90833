"""A webhook receiver for Alertmanager: what a person on call would have been told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Webhook:
    """Address to put into Alertmanager's configuration, and every notification that came."""

    url: str
    notifications: list[dict[str, Any]] = field(default_factory=list)

    def told(self) -> list[dict[str, Any]]:
        """Every alert that any notification reported as firing, with its labels and annotations."""
        alerts = [alert for notification in self.notifications for alert in notification["alerts"]]
        return [alert for alert in alerts if alert["status"] == "firing"]

    def firing(self) -> set[str]:
        """The names of these alerts."""
        return {alert["labels"]["alertname"] for alert in self.told()}


@contextmanager
def webhook() -> Iterator[Webhook]:
    """Listen on a free loopback port until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.hook = Webhook(f"http://127.0.0.1:{server.server_port}/")  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield server.hook  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.hook.notifications.append(json.loads(content))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the test reads the notifications."""
