"""Raw senders: one per transport and encoding, and what the store holds afterwards."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import duckdb
import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from otel_agent.local.server import LocalServer
from otel_agent.local.signals import SIGNALS, Signal

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
ENCODERS = {"identity": bytes, "gzip": gzip.compress, "deflate": zlib.compress}


class Answer:
    """Status, headers and body of one HTTP answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


def signal_of(request: Message) -> Signal:
    """The signal a request belongs to."""
    return next(signal for signal in SIGNALS if isinstance(request, signal.request))


def post(server: LocalServer, path: str, body: bytes | Any, headers: dict[str, str], method: str = "POST") -> Answer:
    """One HTTP request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=20)
    try:
        connection.request(method, path, body, headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def _hex_ids(value: Any) -> Any:
    """Proto3 JSON's base64 ids in OTLP's hexadecimal."""
    if isinstance(value, list):
        return [_hex_ids(item) for item in value]
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {key: b64decode(item).hex() if key in ids else _hex_ids(item) for key, item in value.items()}
    return value


def as_otlp_json(request: Message) -> dict[str, Any]:
    """A request in OTLP's JSON."""
    return _hex_ids(MessageToDict(request, use_integers_for_enums=True))


def send_http(server: LocalServer, request: Message, media_type: str = PROTOBUF, encoding: str = "identity", **headers: str) -> Answer:
    """Send one request over HTTP."""
    body = request.SerializeToString() if media_type == PROTOBUF else json.dumps(as_otlp_json(request)).encode()
    given = {"Content-Type": media_type, **({} if encoding == "identity" else {"Content-Encoding": encoding}), **headers}
    return post(server, signal_of(request).path, ENCODERS[encoding](body), given)


def call(server: LocalServer, signal: Signal, body: bytes, compression: Any = None, metadata: Any = None) -> bytes:
    """One raw gRPC call."""
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", options=options) as channel:
        return channel.unary_unary(f"/{signal.service}/Export")(body, timeout=20, compression=compression, metadata=metadata)


def send_grpc(server: LocalServer, request: Message, compression: Any = None, metadata: Any = None) -> Message:
    """Send one request over gRPC."""
    signal = signal_of(request)
    return signal.response.FromString(call(server, signal, request.SerializeToString(), compression, metadata))


def rows(database: Path, statement: str) -> list[tuple[Any, ...]]:
    """What the closed store answers."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(statement).fetchall()


def everything(database: Path) -> str:
    """Every value of every table as text: compression on disk must not hide one from a search."""
    with duckdb.connect(str(database), read_only=True) as connection:
        tables = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return "\n".join(str(row) for table in tables for row in connection.execute(f"FROM {table}").fetchall())


def disk_bytes(database: Path) -> bytes:
    """The bytes of the database, its log and everything beside it."""
    return b"".join(file.read_bytes() for file in sorted(database.parent.iterdir()))


def encoded(needle: str) -> tuple[bytes, ...]:
    """A needle as it might stand in a file."""
    raw = needle.encode()
    return raw, b64encode(raw), raw.hex().encode()
