"""No text that the allow-list does not name reaches the disk, wherever in a request it hides."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from otel_agent.allowlist import Allowlist, load, parse
from otel_agent.local import reader
from otel_agent.local.guard import PLACES, drop, guard_logs, guard_metrics, guard_traces
from otel_agent.local.server import LocalServer

from . import payloads
from .senders import JSON, disk_bytes, encoded, everything, rows, send_grpc, send_http, signal_of

SCOPES = ("otel_agent", "opentelemetry.instrumentation.openai_v2", "somebody.else")
GUARDS = {"traces": guard_traces, "metrics": guard_metrics, "logs": guard_logs}


class Canaries:
    """Text no rule accepts, a different one each time."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def text(self) -> str:
        self.sent.append(f"I should think about canary{len(self.sent):04d}x step by step")
        return self.sent[-1]

    def scalar(self, field: FieldDescriptor) -> Any:
        """A value for one field: text where text goes, else a number."""
        if field.type == field.TYPE_STRING:
            return self.text()
        if field.type == field.TYPE_BYTES:
            return {"trace_id": payloads.trace_id(9), "span_id": payloads.span_id(9), "parent_span_id": payloads.span_id(8)}.get(
                field.name, self.text().encode()
            )
        return True if field.type == field.TYPE_BOOL else 1

    def fill(self, message: Message, depth: int = 0) -> Message:
        """Set every field that the protocol has, all the way down; of a choice, the last, but a value is text."""
        if isinstance(message, AnyValue):
            message.string_value = self.text()
            return message
        for field in message.DESCRIPTOR.fields:
            if field.message_type is None:
                self._scalar(message, field)
            elif depth < 12:
                target = getattr(message, field.name)
                self.fill(target.add() if field.is_repeated else target, depth + 1)
        return message

    def _scalar(self, message: Message, field: FieldDescriptor) -> None:
        if field.is_repeated:
            getattr(message, field.name).append(self.scalar(field))
        else:
            setattr(message, field.name, self.scalar(field))


def scopes_of(request: Message) -> list[Any]:
    """The scope groups of a request of any signal."""
    found = []
    for _, groups in request.ListFields():
        for group in groups:
            found += [scoped for field, value in group.ListFields() if field.name.startswith("scope_") for scoped in value]
    return found


def filled(kind: type[Message], scope: str, canaries: Canaries) -> Message:
    """A request with a canary in every string and bytes field, from a scope of that name."""
    request = canaries.fill(kind())
    for scoped in scopes_of(request):
        scoped.scope.name = scope
    return request


METRIC_KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")


def poisoned_requests(scope: str, canaries: Canaries) -> list[Message]:
    """One request per signal with every field set; metrics once per kind of data, under a known name."""
    requests = [filled(signal_of(kind).request, scope, canaries) for kind in (payloads.spans(0), payloads.logs())]
    for kind in METRIC_KINDS:
        request = filled(signal_of(payloads.metrics()).request, scope, canaries)
        [metric] = scopes_of(request)[0].metrics
        canaries.fill(getattr(metric, kind))
        metric.name = "otel_agent.turns"
        requests.append(request)
    return requests


def known_keys(request: Message, checks: Any, canaries: Canaries) -> None:
    """Give the records of a request every allowed key, each with a value that does not fit it."""
    for scoped in scopes_of(request):
        for record in (*getattr(scoped, "spans", ()), *getattr(scoped, "log_records", ())):
            for key in checks:
                record.attributes.add(key=key).value.CopyFrom(payloads.any_value(canaries.text()))
                record.attributes.add(key=key).value.CopyFrom(payloads.any_value([canaries.text()]))
                nested = record.attributes.add(key=key).value.kvlist_value.values.add(key=canaries.text())
                nested.value.string_value = canaries.text()
                record.attributes.add(key=key).value.bytes_value = canaries.text().encode()


def strings(message: Message) -> list[str]:
    """Every string and bytes value left in a message but for the ids."""
    found: list[str] = []
    for field, value in message.ListFields():
        values = list(value) if field.is_repeated else [value]
        if field.message_type is not None:
            found += [text for item in values for text in strings(item)]
        elif field.type in (field.TYPE_STRING, field.TYPE_BYTES) and not field.name.endswith("_id"):
            found += [str(item) for item in values]
    return found


@pytest.mark.parametrize("scope", SCOPES)
def test_every_field_of_the_protocol_is_guarded(scope: str) -> None:
    """With every string of every message set, by reflection, so that a field a later protocol adds is tried too."""
    canaries, removed = Canaries(), Counter()
    for request in poisoned_requests(scope, canaries):
        known_keys(request, {**load().own.span, **load().own.log, **load().foreign.span}, canaries)
        GUARDS[signal_of(request).name](request, load(), removed)
        left = strings(request)
        assert not [text for text in left if "canary" in text], left
    assert set(removed) <= PLACES
    assert len(canaries.sent) > 500


@pytest.mark.parametrize("media_type", ["application/x-protobuf", JSON, "grpc"])
def test_no_canary_reaches_the_disk(database: Path, media_type: str) -> None:
    """Neither while it runs, nor in the log of an unclosed file, nor after closing; what is allowed is found by the same search."""
    canaries = Canaries()
    marker = "refunds-marker"
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        for scope in SCOPES:
            requests = poisoned_requests(scope, canaries)
            for request in requests:
                known_keys(request, {**load().own.span, **load().own.log}, canaries)
                send_grpc(server, request) if media_type == "grpc" else send_http(server, request, media_type)
        send_grpc(server, payloads.logs(payloads.turn(marker, 1)))
        open_bytes = disk_bytes(database)
    closed_bytes, text = disk_bytes(database), everything(database)
    assert marker.encode() in open_bytes
    assert marker in text
    for needle in ("canary", "step by step"):
        assert needle not in text
        for form in encoded(needle):
            assert form not in open_bytes + closed_bytes
    assert rows(database, "SELECT count(*) FROM spans") == [(3,)]


def test_ids_of_another_length_are_no_ids() -> None:
    """Bytes where an id belongs can be text: they go, and with them a link or span that is nothing without."""
    text = b"I should think"
    traces, logs, metrics = payloads.spans(2), payloads.logs(payloads.turn("r1", 1)), payloads.metrics()
    first, second = traces.resource_spans[0].scope_spans[0].spans
    first.parent_span_id = text
    first.links.add(trace_id=text, span_id=payloads.span_id(1))
    first.links.add(trace_id=payloads.trace_id(1), span_id=payloads.span_id(1))
    second.trace_id = text
    logs.resource_logs[0].scope_logs[0].log_records[0].trace_id = text
    metrics.resource_metrics[0].scope_metrics[0].metrics[0].sum.data_points[2].exemplars[0].span_id = text
    removed: Counter[str] = Counter()
    rejected = [GUARDS[signal_of(request).name](request, load(), removed) for request in (traces, logs, metrics)]
    assert rejected == [1, 0, 0]
    counted = {place: count for place, count in removed.items() if count and place != "metric.text"}
    assert counted == {"span.parent_id": 1, "span.link": 1, "span": 1, "log.id": 1, "exemplar.id": 1}
    assert all(text not in request.SerializeToString() for request in (traces, logs, metrics))
    assert len(traces.resource_spans[0].scope_spans[0].spans[0].links) == 1


def test_a_scope_is_named_only_when_known() -> None:
    """Any library may call itself anything: unknown names become one word; ours keeps its version when it is one."""
    cases = {
        ("otel_agent", "1.2.0"): ("otel_agent", "1.2.0"),
        ("otel_agent", "a sentence"): ("otel_agent", ""),
        ("opentelemetry.instrumentation.openai_v2", "2.0"): ("opentelemetry.instrumentation.openai_v2", ""),
        ("the user asked about", "1"): ("other", ""),
    }
    for (name, version), right in cases.items():
        for request in (payloads.spans(1), payloads.logs(payloads.turn("r1", 1)), payloads.metrics()):
            scope = scopes_of(request)[0].scope
            scope.name, scope.version = name, version
            GUARDS[signal_of(request).name](request, load(), Counter())
            assert (scope.name, scope.version) == right


def test_a_span_s_name_is_kept_only_when_it_fits() -> None:
    """Ours falls back on its operation, then on a fixed word; a foreign one on its first word when known."""
    cases = {
        ("otel_agent", "chat gpt-5.6", "chat"): "chat gpt-5.6",
        ("otel_agent", "chat about my divorce", "chat"): "chat",
        ("otel_agent", "my divorce", None): "redacted",
        ("otel_agent", "my divorce", "my divorce"): "redacted",
        ("opentelemetry.x", "GET /users/anna", None): "GET",
        ("opentelemetry.x", "anna asks", None): "span",
        ("opentelemetry.x", "", None): "span",
    }
    for (scope, name, operation), right in cases.items():
        request = payloads.spans(1, scope=scope, attributes={"gen_ai.operation.name": operation} if operation else {})
        request.resource_spans[0].scope_spans[0].spans[0].name = name
        guard_traces(request, load(), Counter())
        assert request.resource_spans[0].scope_spans[0].spans[0].name == right


def test_span_events_keep_the_exception_s_type_alone() -> None:
    """Of all span events only exceptions stay, without message and stack trace."""
    request = payloads.spans(1)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.events.add(name="gen_ai.choice", attributes=payloads.pairs({"content": "secret"}))
    span.events.add(name="exception", attributes=payloads.pairs({
        "exception.type": "openai.RateLimitError", "exception.message": "secret", "exception.stacktrace": "secret",
    }))  # fmt: skip
    removed: Counter[str] = Counter()
    guard_traces(request, load(), removed)
    assert strings(span)[-3:] == ["exception", "exception.type", "openai.RateLimitError"]
    assert (removed["span.event"], removed["span.event.attribute"]) == (1, 2)


def test_our_metric_s_text_is_the_schema_s() -> None:
    """Unit and description are what the schema says, whatever was sent."""
    request = payloads.metrics()
    metric = request.resource_metrics[0].scope_metrics[0].metrics[0]
    metric.unit, metric.description = "bogus", "secret"
    guard_metrics(request, load(), Counter())
    assert (metric.unit, metric.description) == load().metric_text["otel_agent.turns"]


def test_what_is_removed_is_counted(server: LocalServer) -> None:
    """Every removal is counted under its place, and the counts can be asked for."""
    request = payloads.spans(2, attributes={"gen_ai.operation.name": "chat", "secret": "text"})
    send_http(server, request)
    found = reader.stats(server.settings.path)
    assert found == {"stored": {"spans": 2}, "removed": {"span.attribute": 2}}


def test_the_guard_leaves_what_it_accepts_unchanged() -> None:
    """A request made of allowed values comes out equal, and guarding twice is guarding once."""
    for request in (payloads.spans(3), payloads.logs(payloads.turn("r1", 1), payloads.tool("r1", 1), payloads.ended("r1"))):
        guard = GUARDS[signal_of(request).name]
        before = request.SerializeToString(deterministic=True)
        removed: Counter[str] = Counter()
        assert guard(request, load(), removed) == 0
        assert not +removed
        assert request.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("every", [1, 2, 3, 50])
def test_drop_deletes_exactly_what_it_is_told(every: int) -> None:
    """Few or many, in any position, and the order of the rest stays."""
    request = payloads.spans(200)
    spans = request.resource_spans[0].scope_spans[0].spans
    doomed = list(range(0, 200, every))
    right = [span.span_id for index, span in enumerate(spans) if index % every]
    assert drop(spans, doomed) == len(doomed)
    assert [span.span_id for span in spans] == right


def test_rules_are_the_caller_s(sample: Allowlist) -> None:
    """The guard holds no rule of its own: another list, other results."""
    request = payloads.spans(1, attributes={"sample.word": "yes", "gen_ai.operation.name": "chat"})
    guard_traces(request, sample, Counter())
    [span] = request.resource_spans[0].scope_spans[0].spans
    assert [pair.key for pair in span.attributes] == ["sample.word"]


@pytest.fixture
def sample() -> Allowlist:
    return parse(json.loads((Path(__file__).parent / "data" / "allowlist.json").read_text()))
