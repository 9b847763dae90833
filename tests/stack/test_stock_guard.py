"""What the guard for the stock image does and does not: its limits are stated here and in collector/README.md, no more, no less."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stack import build, otlp, planting
from tests.stack.http_client import eventually
from tests.stack.native import write_yaml
from tests.stack.pair import collector

pytestmark = pytest.mark.stack

SIGNALS = ("traces", "metrics", "logs")
STOCK = build.COLLECTOR / "contrib"
ATTRIBUTES = {
    "resourceSpans.scopeSpans.spans.attributes",
    "resourceSpans.scopeSpans.spans.events.attributes",
    "resourceLogs.scopeLogs.logRecords.attributes",
    *(
        f"resourceMetrics.scopeMetrics.metrics.{kind}.dataPoints.attributes"
        for kind in ("sum", "gauge", "histogram", "exponentialHistogram", "summary")
    ),
}
ENTITIES = {
    f"resource{signal}.resource.entityRefs.{part}"
    for signal in ("Spans", "Logs", "Metrics")
    for part in ("type", "schemaUrl", "idKeys", "descriptionKeys")
}
LIMITS = {
    "resourceSpans.scopeSpans.spans.links.attributes",
    "resourceSpans.scopeSpans.spans.links.attributes.bytes",
    "resourceSpans.scopeSpans.spans.links.traceState",
    *ENTITIES,
    *(f"{place}.bytes" for place in ATTRIBUTES),
}


def places(node: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Where a text holds the canary, as a path without the parts below an attribute list but for bytes."""
    if isinstance(node, str) and planting.found_in(node):
        yield ".".join(path)
    elif isinstance(node, list):
        for item in node:
            yield from places(item, path)
    elif isinstance(node, dict):
        for key, item in node.items():
            if planting.found_in(key):
                yield ".".join(path)
            yield from places(item, _below(path, key))


def _below(path: tuple[str, ...], key: str) -> tuple[str, ...]:
    if "ttributes" not in (path[-1] if path else ""):
        return (*path, key)
    return (*path, "bytes") if key == "bytesValue" else path


@pytest.fixture(scope="module")
def arrived(go_toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The planted batches as the stock guard lets them through."""
    build.build(("collector",))
    folder = tmp_path_factory.mktemp("stock")
    files = {f"file/{name}": {"path": str(folder / f"{name}.json"), "flush_interval": "100ms"} for name in SIGNALS}
    pipelines = {name: {"exporters": [f"file/{name}"]} for name in SIGNALS}
    overlay = write_yaml(folder / "files.yaml", {"exporters": files, "service": {"pipelines": pipelines}})
    shipped = [STOCK / "guard.yaml", STOCK / "gateway.yaml", STOCK / "keep-all.yaml", overlay]
    now = time.time_ns()
    with collector("stock", folder, shipped) as running:
        for request in (planting.traces(1), planting.logs(1), planting.metrics(1, now - 10**9, now)):
            otlp.send(running.base, request)
        for name in SIGNALS:
            eventually(f"{name} written", (folder / f"{name}.json").read_bytes)
    lines = {name: (folder / f"{name}.json").read_text().splitlines() for name in SIGNALS}
    return {name: [json.loads(line) for line in each] for name, each in lines.items()}


def test_its_limits_are_those_that_are_stated(arrived: dict[str, list[Any]]) -> None:
    """The canary passes in these places and in no other."""
    assert sorted(LIMITS) == sorted(set(places(list(arrived.values()))))


def test_what_may_stay_arrived(arrived: dict[str, list[Any]]) -> None:
    """Names fall back as in our own processor."""
    spans = [
        span
        for batch in arrived["traces"]
        for by_resource in batch["resourceSpans"]
        for by_scope in by_resource["scopeSpans"]
        for span in by_scope["spans"]
    ]
    assert len(spans) == 15
    assert {span["name"] for span in spans} == {"chat gpt-5", "chat", "redacted", "span"}
