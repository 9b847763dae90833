"""What the receiver does not take, and how it says so: bounded, in OTLP's own words, never quoting what was sent."""

from __future__ import annotations

import gzip
import http.client
import json
import resource
import socket
import threading
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_agent.local import reader
from otel_agent.local.bodies import MAX_MEMBERS, from_json, inflate
from otel_agent.local.patience import PatientProtocol
from otel_agent.local.refusals import MALFORMED, TOO_DEEP, TOO_LARGE, Refused
from otel_agent.local.server import CannotListen, LocalServer
from otel_agent.local.settings import LocalSettings, UnsafeBinding
from otel_agent.local.signals import SIGNALS
from otel_agent.local.store import Store
from otel_agent.local.wire import count

from . import payloads
from .senders import JSON, PROTOBUF, call, post, rows, send_grpc, send_http

TRACES, METRICS, LOGS = SIGNALS
CANARY = "canary-5f1e"
MEBIBYTE = 1024 * 1024


def nested_any_value(depth: int) -> str:
    """OTLP JSON with one attribute nested ``depth`` times."""
    value = '{"stringValue":"x"}'
    for _ in range(depth):
        value = '{"arrayValue":{"values":[' + value + "]}}"
    return '{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":' + value + "}]}}]}"


BAD_BODIES = {
    "not protobuf": (PROTOBUF, "identity", b"\xff\xff" + CANARY.encode(), 400),
    "cut protobuf": (PROTOBUF, "identity", payloads.spans(1).SerializeToString()[:-3], 400),
    "not json": (JSON, "identity", b'{"resourceSpans": [' + CANARY.encode(), 400),
    "not utf-8": (JSON, "identity", b'{"a":"\xff"}', 400),
    "json of another shape": (JSON, "identity", json.dumps({"resourceSpans": CANARY}).encode(), 400),
    "json list": (JSON, "identity", b"[]", 400),
    "json id that is no id": (
        JSON,
        "identity",
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": CANARY}]}]}]}).encode(),
        400,
    ),
    "json id that is a number": (JSON, "identity", b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":5}]}]}]}', 400),
    "deep json": (JSON, "identity", b"[" * 100_000, 400),
    "deep json object": (JSON, "identity", b'{"resourceSpans":' * 300 + b"1" + b"}" * 300, 400),
    "deep attribute": (JSON, "identity", nested_any_value(60).encode(), 400),
    "not gzip": (PROTOBUF, "gzip", b"plain" + CANARY.encode(), 400),
    "cut gzip": (PROTOBUF, "gzip", gzip.compress(payloads.spans(9).SerializeToString())[:-12], 400),
    "unknown encoding": (PROTOBUF, "br", b"", 415),
    "text": ("text/plain", "identity", CANARY.encode(), 415),
    "form": ("application/x-www-form-urlencoded", "identity", CANARY.encode(), 415),
    "no type": ("", "identity", CANARY.encode(), 415),
    "too large": (PROTOBUF, "identity", bytes(16 * MEBIBYTE + 1), 413),
    "gzip bomb": (PROTOBUF, "gzip", gzip.compress(bytes(64 * MEBIBYTE)), 413),
}


@pytest.mark.parametrize(("media_type", "encoding", "body", "status"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_bad_bodies_get_an_otlp_status(server: LocalServer, media_type: str, encoding: str, body: bytes, status: int) -> None:
    """Each is refused with its HTTP status and a google.rpc.Status in the sender's media type that quotes nothing."""
    answer = post(server, "/v1/traces", body, {"Content-Type": media_type, "Content-Encoding": encoding})
    assert answer.status == status
    if media_type == JSON:
        assert set(json.loads(answer.body)) == {"code", "message"}
    else:
        assert Status.FromString(answer.body).message
    assert CANARY.encode() not in answer.body
    assert send_http(server, payloads.spans(1)).status == 200


def test_attributes_nested_to_the_bound_are_taken(server: LocalServer) -> None:
    """Nesting within the bound is read (and dropped by the guard), not refused."""
    body = nested_any_value(20).encode()
    assert post(server, "/v1/traces", body, {"Content-Type": JSON}).status == 200


def test_deep_protobuf_is_refused(server: LocalServer) -> None:
    """A value nested a thousand times in protobuf is malformed, on both transports."""
    value = b"\x0a\x01x"
    for _ in range(1000):
        value = _field(1, value)  # ArrayValue.values
        value = _field(5, value)  # AnyValue.array_value
    attribute = _field(1, b"k") + _field(2, value)
    body = _field(1, _field(1, _field(1, attribute)))  # ExportTraceServiceRequest, ResourceSpans, Resource
    assert post(server, "/v1/traces", body, {"Content-Type": PROTOBUF}).status == 400
    with pytest.raises(grpc.RpcError) as caught:
        call(server, TRACES, body)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def _field(number: int, value: bytes) -> bytes:
    size, prefix = len(value), bytearray([number << 3 | 2])
    while size > 127:
        prefix.append(size & 127 | 128)
        size >>= 7
    prefix.append(size)
    return bytes(prefix) + value


def test_other_methods_and_paths_are_not_served(server: LocalServer) -> None:
    """Only POST to the three paths is OTLP."""
    assert post(server, "/v1/traces", b"", {}, method="GET").status == 405
    assert post(server, "/v1/other", b"", {"Content-Type": PROTOBUF}).status == 404


def test_a_body_without_length_is_bounded_too(database: Path) -> None:
    """A chunked body is refused when it passes the bound, however long it would have gone on."""

    def endless() -> Any:
        for _ in range(40):
            yield bytes(65536)

    with LocalServer(database, grpc_port=0, http_port=0, max_body=MEBIBYTE) as server:
        try:
            answer = post(server, "/v1/traces", endless(), {"Content-Type": PROTOBUF})
        except (BrokenPipeError, ConnectionResetError):
            return
        assert answer.status == 413


def test_a_body_that_never_comes_is_given_up(database: Path) -> None:
    """A sender that announces a body and sends none is told so after the time allowed, and holds no place."""
    with LocalServer(database, grpc_port=0, http_port=0, body_timeout=0.3, max_pending_requests=1) as server:
        with socket.create_connection(("127.0.0.1", server.http_port)) as slow:
            slow.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 9\r\n\r\n")
            slow.settimeout(10)
            assert slow.recv(64).startswith(b"HTTP/1.1 408")
        assert send_http(server, payloads.spans(1)).status == 200


GRPC_BAD = {
    "not protobuf": (b"\xff\xff" + CANARY.encode(), None, grpc.StatusCode.INVALID_ARGUMENT),
    "false gzip": (b"\x1f\x8b" + CANARY.encode(), None, grpc.StatusCode.INVALID_ARGUMENT),
    "too large": (bytes(16 * MEBIBYTE + 1), None, grpc.StatusCode.RESOURCE_EXHAUSTED),
    "gzip bomb": (bytes(200 * MEBIBYTE), grpc.Compression.Gzip, grpc.StatusCode.RESOURCE_EXHAUSTED),
    "deflate": (bytes(5000), grpc.Compression.Deflate, grpc.StatusCode.UNIMPLEMENTED),
}


@pytest.mark.parametrize(("body", "compression", "code"), GRPC_BAD.values(), ids=GRPC_BAD)
def test_bad_grpc_messages_get_a_status(server: LocalServer, body: bytes, compression: Any, code: grpc.StatusCode) -> None:
    """Each is refused with its gRPC status and no word of the message."""
    with pytest.raises(grpc.RpcError) as caught:
        call(server, TRACES, body, compression)
    assert caught.value.code() is code
    assert CANARY not in caught.value.details()
    send_grpc(server, payloads.spans(1))


def test_a_bomb_is_not_unpacked() -> None:
    """Decompression stops at the bound: a gigabyte in a megabyte costs the bound, in memory and in time."""
    bomb = gzip.compress(bytes(1024 * MEBIBYTE), 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Refused) as caught:
        inflate(bomb, "gzip", MEBIBYTE)
    assert caught.value.refusal is TOO_LARGE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_gzip_in_several_members_is_one_body() -> None:
    """Concatenated gzip members are read through, as the format asks, within the same bound."""
    assert inflate(gzip.compress(b"ab") + gzip.compress(b"cd"), "gzip", 4) == b"abcd"
    with pytest.raises(Refused):
        inflate(gzip.compress(b"ab") + gzip.compress(b"cde"), "gzip", 4)


def test_very_many_gzip_members_are_not_read_through() -> None:
    """Each would be copied for every one before it: a body of them within the bound would hold the receiver for minutes."""
    member = gzip.compress(b"a")
    assert inflate(member * MAX_MEMBERS, "gzip", MEBIBYTE) == b"a" * MAX_MEMBERS
    before = time.process_time()
    with pytest.raises(Refused) as caught:
        inflate(member * 700_000, "gzip", 16 * MEBIBYTE)
    assert caught.value.refusal is TOO_LARGE
    assert time.process_time() - before < 3


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:4318"])
@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
def test_web_pages_cannot_send(server: LocalServer, origin: str, media_type: str) -> None:
    """A page whose name was made to mean this machine is of the same origin to its browser: the receiver itself refuses it."""
    answer = send_http(server, payloads.spans(1), media_type, Origin=origin, Host="evil.example:4318")
    assert answer.status == 403
    assert b"web pages" in answer.body


def test_a_web_page_with_the_token_can(locked: LocalServer) -> None:
    """Who has the token was given it."""
    assert send_http(locked, payloads.spans(1), Origin="http://shop.example", Authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize("said", [b"", b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX: "])
def test_a_connection_without_a_request_is_given_up(said: bytes, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing said, or a header that never ends, a byte at a time: the place is free again after the time allowed."""
    monkeypatch.setattr(PatientProtocol, "patience", 0.3)
    with LocalServer(database, grpc_port=0, http_port=0) as server, socket.create_connection(("127.0.0.1", server.http_port)) as slow:
        slow.sendall(said)
        slow.settimeout(0.05)
        until, closed = time.monotonic() + 10, False
        while not closed and time.monotonic() < until:
            try:
                if said:
                    slow.sendall(b"a")
                closed = slow.recv(64) == b""
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                closed = True
        assert closed


def test_connections_beyond_the_limit_are_hung_up_on(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They say nothing and cost nothing; with room again, senders are let in."""
    monkeypatch.setattr("otel_agent.local.server.MAX_CONNECTIONS", 4)
    monkeypatch.setattr("otel_agent.local.patience.SPARE", 2)
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        held = [socket.create_connection(("127.0.0.1", server.http_port)) for _ in range(6)]
        with socket.create_connection(("127.0.0.1", server.http_port)) as beyond:
            beyond.settimeout(10)
            assert beyond.recv(1) == b""
        for each in held:
            each.close()
        until = time.monotonic() + 10
        while (status := send_http(server, payloads.spans(1)).status) != 200 and time.monotonic() < until:
            time.sleep(0.05)
    assert status == 200


def test_the_log_repeats_nothing(server: LocalServer, caplog: pytest.LogCaptureFixture) -> None:
    """A sender that speaks no HTTP is told of once, however often it comes."""
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.http_port)) as wrong:
            wrong.sendall(b"nonsense\r\n\r\n")
            wrong.recv(64)
    assert [record.getMessage() for record in caplog.records if record.name == "uvicorn.error"].count("Invalid HTTP request received.") == 1


def test_a_connection_that_is_used_is_kept(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests on one connection, with pauses shorter than the time allowed, also one that is long in coming."""
    monkeypatch.setattr(PatientProtocol, "patience", 1.0)
    body = payloads.spans(1).SerializeToString()
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=20)

        def slowly() -> Any:
            for at in range(0, len(body), len(body) // 6):
                time.sleep(0.3)
                yield body[at : at + len(body) // 6]

        for made in (body, slowly(), body, body, body):
            connection.request("POST", "/v1/traces", made, {"Content-Type": PROTOBUF})
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"")
            time.sleep(0.4)
        connection.close()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["0" * 32, "a" * 16, "NaN"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([
            "resourceSpans", "scopeSpans", "spans", "resource", "attributes", "key", "value", "stringValue", "intValue", "arrayValue",
            "values", "kvlistValue", "traceId", "spanId", "name", "kind", "startTimeUnixNano", "status", "code", "links", "events",
            "bytesValue", "doubleValue", "flags",
        ]), inner, max_size=5,
    ), max_leaves=25,
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON_VALUES)
def test_any_json_is_read_or_refused(value: Any) -> None:
    """No JSON whatever makes the reader fail in a way of its own."""
    for document in (value, {"resourceSpans": value}, {"resourceSpans": [{"scopeSpans": [{"spans": value}]}]}):
        try:
            from_json(json.dumps(document).encode(), TRACES.request, 100)
        except Refused as refused:
            assert refused.refusal in (MALFORMED, TOO_DEEP)


def test_lone_surrogates_are_malformed() -> None:
    """A JSON string that is no text is refused."""
    with pytest.raises(Refused):
        from_json(b'{"resourceSpans":[{"schemaUrl":"\\ud800"}]}', TRACES.request, 100)


def test_malformed_ids_are_rejected_in_part(database: Path) -> None:
    """Spans without valid ids are dropped and counted in the partial success; their neighbours are stored."""
    request = payloads.spans(4)
    spans = request.resource_spans[0].scope_spans[0].spans
    spans[0].trace_id, spans[1].span_id, spans[2].trace_id = b"short", b"", bytes(16)
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        answer = send_grpc(server, request)
        by_http = send_http(server, request, JSON)
    assert answer.partial_success.rejected_spans == 3
    assert json.loads(by_http.body)["partialSuccess"]["rejectedSpans"] == "3"
    assert rows(database, "SELECT DISTINCT trace_id FROM spans") == [(payloads.trace_id(4).hex(),)]


def test_unknown_events_and_metrics_of_our_scope_are_rejected(database: Path) -> None:
    """A log record or metric that the schema does not have is not ours, whatever its scope claims."""
    logs = payloads.logs(payloads.turn("r1", 1), payloads.turn("r1", 2))
    logs.resource_logs[0].scope_logs[0].log_records[0].event_name = "otel_agent.invented"
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        assert send_grpc(server, logs).partial_success.rejected_log_records == 1
        assert send_grpc(server, payloads.metrics("otel_agent.invented")).partial_success.rejected_data_points == 3
    assert rows(database, "SELECT count(*) FROM logs") == [(1,)]
    assert rows(database, "SELECT DISTINCT metric FROM points") == [("gen_ai.client.inference.duration",)]


TOKEN = "sesame-42"
WRONG = {"none": None, "other": "Bearer sesame-43", "other scheme": "Basic sesame-42", "bare": "sesame-42", "empty": "Bearer "}


@pytest.fixture
def locked(database: Path) -> Any:
    with LocalServer(database, grpc_port=0, http_port=0, token=TOKEN) as running:
        yield running


@pytest.mark.parametrize("header", WRONG.values(), ids=WRONG)
def test_a_token_is_required_on_both_transports(locked: LocalServer, header: str | None) -> None:
    """With a token set, a request without it is refused before its body is read."""
    answer = send_http(locked, payloads.spans(1), **({"Authorization": header} if header is not None else {}))
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    with pytest.raises(grpc.RpcError) as caught:
        send_grpc(locked, payloads.spans(1), metadata=[("authorization", header)] if header is not None else None)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_the_token_opens_both_transports(locked: LocalServer) -> None:
    """The right bearer token is let in; the scheme's case does not matter."""
    assert send_http(locked, payloads.spans(1), Authorization=f"Bearer {TOKEN}").status == 200
    send_grpc(locked, payloads.spans(1), metadata=[("authorization", f"bearer {TOKEN}")])


def test_a_header_that_is_not_ascii_is_refused(locked: LocalServer) -> None:
    """A header of arbitrary bytes is a wrong token, not a failure."""
    assert send_http(locked, payloads.spans(1), Authorization="Bearer \xff\xe9").status == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_wider_addresses_need_a_token(database: Path, host: str) -> None:
    """Anything but loopback without a token is refused with the remedy, before a file or a port is opened."""
    with pytest.raises(UnsafeBinding, match="set OTEL_AGENT_LOCAL_TOKEN"):
        LocalSettings(path=database, host=host)
    assert LocalSettings(path=database, host=host, token="t").token == "t"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.9.9.9", "::1", "[::1]"])
def test_loopback_needs_none(database: Path, host: str) -> None:
    """Loopback in any spelling goes without."""
    assert LocalSettings(path=database, host=host).token is None


def test_brackets_around_an_address_are_taken_off(database: Path) -> None:
    """As they stand in a URL; neither transport takes them, and the addresses that are told have one pair."""
    with LocalServer(database, host="[::1]", grpc_port=0, http_port=0) as server:
        assert server.http_endpoint == f"http://[::1]:{server.http_port}"
        assert reader.stats(database)["stored"] == {}
        with grpc.insecure_channel(server.grpc_endpoint.removeprefix("http://")) as channel:
            channel.unary_unary(f"/{TRACES.service}/Export")(payloads.spans(1).SerializeToString(), timeout=20)
    assert rows(database, "SELECT count(*) FROM spans") == [(1,)]


def test_a_taken_port_is_said_plainly(server: LocalServer, tmp_path: Path) -> None:
    """A port somebody else has is an error with the address in it, and leaves nothing open."""
    for ports in ({"http_port": server.http_port, "grpc_port": 0}, {"http_port": 0, "grpc_port": server.grpc_port}):
        with (
            pytest.raises(CannotListen, match=r"127\.0\.0\.1.*give another with --(http|grpc)-port"),
            LocalServer(tmp_path / "other.duckdb", **ports),
        ):
            pass
    with LocalServer(tmp_path / "other.duckdb", grpc_port=0, http_port=0):
        pass


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The disk, stopped until set."""
    gate = threading.Event()
    append = Store.append

    def wait(store: Store, batches: Any) -> None:
        assert gate.wait(20)
        append(store, batches)

    monkeypatch.setattr(Store, "append", wait)
    return gate


@pytest.mark.parametrize("bound", [{"max_pending_requests": 2}, {"max_pending_bytes": 2500}])
def test_a_full_queue_pushes_back(database: Path, held: threading.Event, bound: dict[str, int]) -> None:
    """What does not fit is refused at once, as retryable and with the pause to make, on both transports; the rest is stored."""
    with LocalServer(database, grpc_port=0, http_port=0, **bound) as server:
        accepted = [threading.Thread(target=send_http, args=(server, payloads.spans(1, first=n))) for n in (1, 2)]
        for sender in accepted:
            sender.start()
        deadline = time.monotonic() + 10
        while server.intake.admission.requests < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        answer = send_http(server, payloads.spans(1, first=3))
        with pytest.raises(grpc.RpcError) as caught:
            send_grpc(server, payloads.spans(1, first=4))
        held.set()
        for sender in accepted:
            sender.join(10)
        assert (server.intake.admission.requests, server.intake.admission.bytes) == (0, 0)
        assert send_http(server, payloads.spans(1, first=5)).status == 200
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    retry = RetryInfo()
    details = dict(caught.value.trailing_metadata())["grpc-status-details-bin"]
    assert Status.FromString(details).details[0].Unpack(retry)
    assert retry.retry_delay.seconds == 1
    stored = {int(trace, 16) for (trace,) in rows(database, "SELECT trace_id FROM spans")}
    assert stored == {1, 2, 5}


def test_a_stuck_disk_is_reported(database: Path, held: threading.Event) -> None:
    """A commit that takes too long is answered as not stored, so that the sender tries again."""
    with LocalServer(database, grpc_port=0, http_port=0, commit_timeout=0.2) as server:
        assert send_http(server, payloads.spans(1)).status == 503
        with pytest.raises(grpc.RpcError) as caught:
            send_grpc(server, payloads.spans(1))
        held.set()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


SMALL = 16 * MEBIBYTE - 200
EXPANDING = {
    "empty groups": ("/v1/traces", lambda: b"\x0a\x00" * (SMALL // 2)),
    "empty spans": ("/v1/traces", lambda: _field(1, _field(2, b"\x12\x00" * (SMALL // 2)))),
    "empty points": ("/v1/metrics", lambda: _field(1, _field(2, _field(2, _field(7, b"\x0a\x00" * (SMALL // 2)))))),
    "unknown fields": ("/v1/logs", lambda: b"\x78\x01" * (SMALL // 2)),
}


@pytest.mark.parametrize(("path", "body"), EXPANDING.values(), ids=EXPANDING)
def test_a_body_that_would_expand_is_not_expanded(server: LocalServer, path: str, body: Any) -> None:
    """Millions of empty messages fit the bound on bytes; they are counted on the wire and refused before they take memory."""
    made = body()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert post(server, path, made, {"Content-Type": PROTOBUF}).status == 413
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * 1024


def test_json_of_millions_of_values_is_refused(server: LocalServer) -> None:
    """Counted before it is read."""
    body = b'{"resourceSpans":[' + b",".join([b"{}"] * 2_000_000) + b"]}"
    assert post(server, "/v1/traces", body, {"Content-Type": JSON}).status == 413


def test_arrays_too_long_for_telemetry_are_dropped(database: Path) -> None:
    """Thousands of attributes, events, links, buckets or array entries in one record go, and the record stays."""
    request, metrics = payloads.spans(1), payloads.metrics()
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.attributes.extend(payloads.pairs({f"k{number}": 1 for number in range(2000)}))
    for _ in range(2000):
        span.events.add(name="exception")
        span.links.add(trace_id=payloads.trace_id(1), span_id=payloads.span_id(1))
    histogram = metrics.resource_metrics[0].scope_metrics[0].metrics[1].histogram.data_points[0]
    histogram.bucket_counts.extend([1] * 2000)
    histogram.attributes.extend(payloads.pairs({"gen_ai.agent.name": ["x"] * 2000}))
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        assert send_http(server, request).status == 200
        assert send_http(server, metrics).status == 200
    assert rows(database, "SELECT attributes, events, links FROM spans") == [(None, None, None)]
    assert rows(database, "SELECT bucket_counts, attributes FROM points WHERE type = 'histogram'") == [([], None)]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 5))
def test_counting_stops_on_anything(body: bytes, limit: int) -> None:
    """Any bytes can be counted, and never further than the limit and one."""
    assert all(count(body, signal.way, limit) <= limit + 1 for signal in SIGNALS)


def test_counting_counts_records() -> None:
    """Each record adds to the count."""
    counts = [count(payloads.spans(number).SerializeToString(), TRACES.way, 10_000) for number in (0, 1, 500)]
    assert counts[2] - counts[1] == 499
    assert counts[1] - counts[0] == 1
    assert count(payloads.metrics().SerializeToString(), METRICS.way, 1000) >= 4 + 2
