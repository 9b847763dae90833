"""A real Prometheus with the shipped rules: every query of every board and every recorded series has data once every name has."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
import yaml

from dashboards.build import files, write
from dashboards.panels import Board, Metrics
from dashboards.results import Range, Servers, Variables, metrics
from dashboards.thresholds import Thresholds
from tests.dashboards.sample_points import request
from tests.dashboards.tools import tool

pytestmark = pytest.mark.stack
WINDOW, BASELINE = "5s", "10s"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, numbers: Thresholds) -> Iterator[str]:
    """Its address, after half a minute of points with the rules in short windows."""
    folder = tmp_path_factory.mktemp("prometheus")
    write(files(numbers.hurried(WINDOW, BASELINE, "1s")), folder)
    rules = [str(folder / "rules" / name) for name in ("recording.yml", "alerts.yml")]
    config = {"otlp": {"promote_resource_attributes": ["service.name"]}, "rule_files": rules}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [
        str(tool("prometheus", "prometheus")), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}", "--web.enable-otlp-receiver",
        "--enable-feature=exemplar-storage,created-timestamp-zero-ingestion",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _ready(f"http://{address}")
            _feed(f"http://{address}", seconds=28)
            yield f"http://{address}"
        finally:
            process.terminate()


def _ready(address: str) -> None:
    for _ in range(100):
        try:
            with urlopen(f"{address}/-/ready", timeout=1):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise AssertionError("Prometheus did not start")


def _feed(address: str, seconds: int) -> None:
    start = time.time_ns()
    for number in range(1, seconds + 1):
        body = json.dumps(request(start, time.time_ns(), number * 10)).encode()
        with urlopen(Request(f"{address}/api/v1/otlp/v1/metrics", body, {"Content-Type": "application/json"}), timeout=10):
            time.sleep(1)


def test_every_panel_query_has_data(prometheus: str, all_boards: tuple[Board, ...]) -> None:
    """No panel of any board is empty: names, labels, values and joins are those that Prometheus makes of what is emitted."""
    now = time.time()
    shown = Range(now - 30, now, "10s")
    found = [
        (f"{board.key}/{panel.key}", query.expr)
        for board in all_boards
        for _, panel in board.panels()
        for query in panel.queries
        if isinstance(query, Metrics) and not metrics(Servers(prometheus), query, shown, Variables())
    ]
    assert [] == found


def test_every_recording_rule_has_data(prometheus: str, rules: list[dict[str, str]]) -> None:
    """And none has failed."""
    now = time.time()
    empty = [
        rule["record"]
        for rule in rules
        if "record" in rule and not metrics(Servers(prometheus), Metrics(rule["record"]), Range(now - 30, now), Variables())
    ]
    assert [] == empty
    with urlopen(f"{prometheus}/api/v1/rules", timeout=10) as answer:
        groups = json.load(answer)["data"]["groups"]
    assert [] == [(rule["name"], rule.get("lastError")) for group in groups for rule in group["rules"] if rule["health"] != "ok"]


def test_filters_narrow_the_panels(prometheus: str, all_boards: tuple[Board, ...]) -> None:
    """A service nobody has empties every panel that can be filtered by service."""
    now = time.time()
    quality = next(board for board in all_boards if board.key == "quality")
    nobody = Variables({"service": "nobody"})
    for _, panel in quality.panels():
        for query in panel.queries:
            assert isinstance(query, Metrics)
            assert not metrics(Servers(prometheus), query, Range(now - 30, now, "10s"), nobody), panel.key
