"""Far ends that are no servers: which records are counted in what a collector writes, and from where on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from otel_agent.verify.far_ends import Arrived
from otel_agent.verify.files import Files
from otel_agent.verify.report import CLEAN, LEAK, NOT_PROVEN, Finding, Result

MARK = "ab" * 16
TURN = "otel_agent.model_turn"


def exported(scope: str, event: str, trace: str = MARK) -> dict[str, Any]:
    record = {"timeUnixNano": "1", "observedTimeUnixNano": "1", "traceId": trace, "spanId": "01" * 8, "eventName": event}
    return {"resourceLogs": [{"scopeLogs": [{"scope": {"name": scope}, "logRecords": [record]}]}]}


def binary(trace: str = MARK) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add(scope={"name": "otel_agent"}).log_records.add()
    record.time_unix_nano = record.observed_time_unix_nano = 1
    record.trace_id, record.span_id, record.event_name = bytes.fromhex(trace), b"12345678", TURN
    return request


def watched(path: Path) -> Files:
    files = Files(path)
    files.check()
    return files


def test_json_lines_are_counted(tmp_path: Path) -> None:
    """Ours by event, others by scope, strangers' not at all; half a line at the end does not hurt."""
    files = watched(tmp_path / "logs.json")
    documents = [exported("otel_agent", TURN), exported("otel_agent", "x"), exported("acme", ""), exported("otel_agent", TURN, "cd" * 16)]
    (tmp_path / "logs.json").write_text("\n".join(map(json.dumps, documents)) + '\n{"resourceLogs": [')
    assert files.count(MARK) == Arrived(1, 1)


@pytest.mark.parametrize(
    "written",
    [
        binary().SerializeToString(),
        b"\0\0\1\7" + binary().SerializeToString() + binary("cd" * 16).SerializeToString(),
        gzip.compress(binary().SerializeToString(), mtime=0),
        MessageToJson(binary(), indent=None).encode(),
        json.dumps({"event_name": TURN, "trace_id": MARK}).encode(),
    ],
)
def test_every_form_is_counted(tmp_path: Path, written: bytes) -> None:
    """Binary, framed, gzipped, JSON of protobuf, JSON of somebody else."""
    files = watched(tmp_path)
    (tmp_path / "out").write_bytes(written)
    assert files.count(MARK).turns == 1


def test_what_was_there_before_is_left_alone(tmp_path: Path) -> None:
    """Only what was appended is searched; a file that was begun anew is read whole."""
    path = tmp_path / "log"
    path.write_bytes(b"before;")
    files = watched(tmp_path)
    path.write_bytes(b"before;after")
    assert b"".join(files.texts(MARK)) == b"after"
    path.write_bytes(b"new")
    assert b"".join(files.texts(MARK)) == b"new"


def test_pieces_of_a_long_file_overlap(tmp_path: Path) -> None:
    """A sentence on a border is whole in one of them."""
    files = watched(tmp_path)
    (tmp_path / "log").write_bytes(b"x" * (4 * 1024 * 1024 - 3) + b"sentence" + b"x" * 100)
    assert sum(b"sentence" in piece for piece in files.texts(MARK)) == 1


def finding(arrived: int = 5, searched: int = 10, found: tuple[str, ...] = (), why: str | None = None) -> Finding:
    return Finding("somewhere", 5, arrived, 0, searched, found, why)


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (finding(), CLEAN),
        (finding(arrived=4), NOT_PROVEN),
        (finding(arrived=0), NOT_PROVEN),
        (finding(searched=0), NOT_PROVEN),
        (finding(why="it stopped answering"), NOT_PROVEN),
        (finding(arrived=1, found=("anthropic.thinking",)), LEAK),
    ],
)
def test_clean_needs_evidence(one: Finding, verdict: str) -> None:
    """A leak is one however little arrived; the worst far end decides."""
    assert one.verdict == verdict
    assert Result("id", (finding(), one), (), (), (), foreign=True, private=False).verdict == verdict


def test_no_far_end_is_no_proof() -> None:
    assert Result("id", (), (), (), (), foreign=True, private=False).verdict == NOT_PROVEN
