"""The alerts about the pipeline, from real faults of it, while agents work on and know nothing of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dashboards.alerts import ALERTS
from otel_agent.testing.standin import Standin
from tests.stack import acts, backends
from tests.stack.configs import Options
from tests.stack.http_client import eventually
from tests.stack.native import NativeStack, native_stack, write_yaml
from tests.stack.panels import empty
from tests.stack.stage import ended, hurried_rules, started
from tests.stack.webhook import Webhook, webhook

pytestmark = pytest.mark.stack

SERVICE = "shop"
IMPATIENT = {"OTEL_BLRP_SCHEDULE_DELAY": "50", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "4", "OTEL_AGENT_EXIT_TIMEOUT": "1"}
"""Many small requests, and an end that waits for nobody."""


def short_queue(folder: Path) -> Path:
    """The gateway with a queue of five requests for logs."""
    queue = {"queue_size": 5, "batch": {"sizer": "items", "min_size": 1, "max_size": 20, "flush_timeout": "10ms"}}
    return write_yaml(folder / "short.yaml", {"exporters": {"otlp_http/logs": {"sending_queue": queue}}})


def work(running: NativeStack) -> None:
    """An agent works well, whatever becomes of its telemetry."""
    with Standin() as standin:
        acts.load(standin, SERVICE, ill=False)
        ended(started(running.stack, SERVICE, "tests.stack.agents", standin.url(), SERVICE, "well", "over-cap", "more-calls", **IMPATIENT))


@pytest.fixture(scope="module")
def stack(go_toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NativeStack, Webhook]]:
    folder = tmp_path_factory.mktemp("pipeline")
    options = Options(rule_files=hurried_rules(folder, "30s", "60s"), overlays=[short_queue(folder)])
    with webhook() as hook, native_stack(replace(options, webhook=hook.url)) as running:
        time.sleep(3)  # a few scrapes of the healthy collector
        yield running, hook


def hears(hook: Webhook, key: str) -> None:
    """The alert comes, about our collector, with what to do."""
    alert = next(alert for alert in ALERTS if alert.key == key)
    eventually(f"{alert.name} at the webhook", lambda: alert.name in hook.firing(), seconds=60)
    told = next(each for each in hook.told() if each["labels"]["alertname"] == alert.name)
    assert told["labels"]["job"] == "collector"
    assert told["annotations"]["runbook"] == alert.act


def test_faults_are_told_one_after_the_other(stack: tuple[NativeStack, Webhook]) -> None:
    """The log store goes away, its queue fills and overflows; the collector dies; it comes back without enough memory."""
    running, hook = stack
    work(running)
    assert hook.firing() <= {"TelemetryWatchdog"}

    running.processes["victorialogs"].stop()
    work(running)
    hears(hook, "queue_filling")
    hears(hook, "export_lost")
    assert not empty(running.stack, ["pipeline/queue_filling", "pipeline/export_lost"])

    running.processes["victorialogs"].start()
    running.collector.kill()
    hears(hook, "collector_silent")

    starved = replace(running.collector, env={**running.collector.env, "COLLECTOR_MEMORY_MIB": "81"})  # of which 80 are held in reserve
    running.processes["collector"] = starved
    starved.start()
    eventually("the limiter's first look", lambda: backends.collector_metric(running.stack, "otelcol_process_memory_rss"))
    time.sleep(2)
    work(running)
    assert backends.collector_metric(running.stack, "otelcol_receiver_refused_spans") > 0, "a full queue of logs refuses no span"
    hears(hook, "intake_refused")
    assert not empty(running.stack, ["pipeline/intake_refused"])
