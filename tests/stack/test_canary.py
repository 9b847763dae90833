"""Thinking text planted in every hiding place of OTLP arrives at no backend, file or log of the pipeline."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import backends, build, configs, otlp, planting
from tests.stack.http_client import eventually
from tests.stack.native import NativeStack, native_stack, write_yaml

pytestmark = pytest.mark.stack

TRACE = 0xCA11
FILES = ("traces", "metrics", "logs")


def file_overlay(folder: Path) -> Path:
    """The gateway with a file exporter beside each backend."""
    stores = {"traces": "otlp_grpc/traces", "metrics": "otlp_http/prometheus", "logs": "otlp_http/logs"}
    return write_yaml(
        folder / "files.yaml",
        {
            "exporters": {f"file/{name}": {"path": str(folder / f"{name}.json"), "flush_interval": "200ms"} for name in FILES},
            "service": {"pipelines": {name: {"exporters": [store, f"file/{name}"]} for name, store in stores.items()}},
        },
    )


@pytest.fixture(scope="module")
def planted(go_toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NativeStack, Path]]:
    """A stack through which every planted request went, with everything arrived."""
    folder = tmp_path_factory.mktemp("files")
    with native_stack(configs.Options(overlays=[file_overlay(folder)])) as running:
        now = time.time_ns()
        for request in (planting.traces(TRACE), planting.logs(TRACE), planting.metrics(TRACE, now - 10**9, now)):
            assert planting.found_in(request.SerializeToString()), "the control: what is sent does hold the canary"
            otlp.send(running.stack.otlp_http, request)
        _wait_for_arrival(running)
        yield running, folder


def _wait_for_arrival(running: NativeStack) -> None:
    stack = running.stack
    eventually("15 spans in Jaeger", lambda: len(backends.spans(backends.trace(stack, TRACE))) == 15)
    eventually("13 log records", lambda: len(backends.log_lines(stack, "*")) == 13)
    eventually("our counter in Prometheus", lambda: backends.metric_value(stack, "otel_agent_turns_total"))


def test_no_backend_holds_the_canary(planted: tuple[NativeStack, Path]) -> None:
    """Asked in every way, no store shows the sentence."""
    shown = backends.everything(planted[0].stack, TRACE)
    assert [] == [question for question, answer in shown.items() if planting.found_in(answer)]


def test_no_file_holds_the_canary(planted: tuple[NativeStack, Path]) -> None:
    """The file exporter wrote all three signals, and none of the text."""
    _, folder = planted
    contents = {name: eventually(f"{name} written", (folder / f"{name}.json").read_bytes) for name in FILES}
    assert [] == [name for name, content in contents.items() if planting.found_in(content)]


def test_nothing_on_the_pipelines_own_disk_holds_the_canary(planted: tuple[NativeStack, Path]) -> None:
    """Queue files, stores and logs of all servers: the guard stands before the queue."""
    folder = planted[0].folder
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [] == [str(path) for path in files if planting.found_in(path.read_bytes())]


def test_what_may_stay_arrived(planted: tuple[NativeStack, Path]) -> None:
    """Names fall back to what they may be; structure, ids and counts are whole."""
    spans = backends.spans(backends.trace(planted[0].stack, TRACE))
    names = {span["name"] for span in spans}
    assert names <= {"chat gpt-5", "chat", "redacted", "span"}
    assert {"chat gpt-5", "chat", "redacted", "span"} - names == set()
    assert all(link["traceId"] == "01" * 16 for span in spans for link in span["links"])
    assert {"exception"} == {event["name"] for span in spans for event in span["events"]}


def test_exemplars_keep_their_trace(planted: tuple[NativeStack, Path]) -> None:
    """The way from a number to its trace survives the guard."""
    shown = backends.everything(planted[0].stack, TRACE)["prometheus exemplars"]
    assert f"{TRACE:032x}".encode() in shown


def test_removals_are_counted(planted: tuple[NativeStack, Path]) -> None:
    """Every place that was planted shows in the guard's own counter."""
    places = re.findall(r'"([a-z_]+)",$', (build.COLLECTOR / "guardprocessor" / "places.go").read_text(), re.MULTILINE)
    stack = planted[0].stack
    uncounted = [place for place in places if not backends.collector_metric(stack, "otel_agent_guard_removed", place=place)]
    assert len(places) > 20
    assert [] == uncounted
