"""Every alert about agents reaches a person when its scenario is played through the real SDK wrappers, and none does while all is well.

Rules, routes and thresholds are the shipped ones; only windows and waiting times are short. All agents work well for a while,
which is also the baseline, and then each of them does one thing wrong, while the same agents go on working well under another service's
name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dashboards.alerts import ALERTS
from dashboards.boards import boards
from dashboards.panels import Metrics
from dashboards.results import Range, Servers, Variables, metrics
from dashboards.thresholds import load, seconds
from otel_agent.testing.standin import Standin
from tests.stack import acts, backends
from tests.stack.acts import ACTS
from tests.stack.configs import Options
from tests.stack.http_client import eventually, fetch_json
from tests.stack.native import NativeStack, native_stack
from tests.stack.stage import ended, hurried_rules, started
from tests.stack.webhook import Webhook, webhook

pytestmark = pytest.mark.stack

WINDOW, BASELINE, EVERY = "20s", "5m", "2s"
WELL, ILL = "works-well", "works-ill"
NAMES = {alert.key: alert.name for alert in ALERTS}
ABOUT_THE_PIPELINE = {"export_lost", "intake_refused", "queue_filling", "collector_silent"}
WATCHDOG = "TelemetryWatchdog"


@dataclass
class Played:
    """The stack after everything was played, who was told, and what had been told as all was still well."""

    running: NativeStack
    hook: Webhook
    calm: list[dict[str, Any]] = field(default_factory=list)


def play(running: NativeStack, standin: Standin, second: str) -> None:
    """Both services side by side; the second in this state."""
    states = {WELL: "well", ILL: second}
    for service, state in states.items():
        acts.load(standin, service, ill=state == "ill")
    programs = [started(running.stack, service, "tests.stack.agents", standin.url(), service, state) for service, state in states.items()]
    ended(*programs)


def told(running: NativeStack) -> list[dict[str, Any]]:
    """What Prometheus found, at any time, whether or not Alertmanager held it back."""
    found = fetch_json(f"{running.stack.prometheus}/api/v1/query", query="max_over_time(ALERTS[10m])")
    return [series["metric"] for series in found["data"]["result"]]


@pytest.fixture(scope="module")
def played(go_toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    rules = hurried_rules(tmp_path_factory.mktemp("rules"), WINDOW, BASELINE, EVERY)
    options = Options(rule_files=rules, evaluation_interval=EVERY)
    with webhook() as hook, Standin() as standin, native_stack(replace(options, webhook=hook.url)) as running:
        play(running, standin, "well")
        # The baseline is what lies before the window: every event of it must have passed through one whole window of its own.
        time.sleep(2 * seconds(WINDOW) + 4)
        seen = Played(running, hook, told(running))
        play(running, standin, "ill")
        wanted = {act.alert for act in ACTS.values()}
        names = {NAMES[key] for key in wanted}
        deadline = time.monotonic() + seconds(WINDOW)
        while not names <= hook.firing() and time.monotonic() < deadline:
            time.sleep(0.5)
        yield seen


def test_every_alert_has_a_scenario() -> None:
    """Here, or among the faults of the pipeline; the watchdog needs none."""
    assert {*NAMES} - ABOUT_THE_PIPELINE - {"watchdog"} == {act.alert for act in ACTS.values()}


@pytest.mark.parametrize("name", ACTS)
def test_it_fires(played: Played, name: str) -> None:
    """The webhook heard of this act, with a sentence, what to do, and the way to the panel."""
    alert = next(alert for alert in ALERTS if alert.key == ACTS[name].alert)
    about = [each for each in played.hook.told() if each["labels"]["alertname"] == alert.name]
    agents = {each["labels"].get("gen_ai_agent_name", name) for each in about if each["labels"]["service_name"] == ILL}
    assert name in agents
    (first, *_) = about
    assert first["annotations"]["runbook"] == alert.act
    assert "{{" not in first["annotations"]["summary"]
    assert "/d/otel-agent-" in first["annotations"]["panel_url"]


def test_nothing_fires_while_all_is_well(played: Played) -> None:
    """Neither before the first fault, nor ever for the service that goes on well; held-back alerts included."""
    assert {WATCHDOG} == {labels["alertname"] for labels in played.calm}
    ever = [labels["alertname"] for labels in told(played.running) if labels.get("service_name") == WELL]
    assert [] == ever


def test_the_healthy_service_was_seen(played: Played) -> None:
    """The control: what stayed silent had been counted, and its two processes are two instances."""
    turns = backends.metric_value(played.running.stack, f'sum(otel_agent_turns_total{{service_name="{WELL}"}})')
    assert turns is not None
    assert turns > 2 * 300
    instances = f'count(count by (instance) (otel_agent_turns_total{{service_name="{WELL}"}}))'
    assert backends.metric_value(played.running.stack, instances) == 2


def test_the_watchdog_is_heard(played: Played) -> None:
    eventually("the watchdog", lambda: WATCHDOG in played.hook.firing())


@pytest.mark.parametrize("panel", ["own_kinds", "own_events"])
def test_panels_of_the_instrumentations_own_failures(played: Played, panel: str) -> None:
    """They are empty while nothing fails."""
    board = next(board for board in boards(load()) if board.key == "pipeline")
    query = next(query for _, each in board.panels() if each.key == panel for query in each.queries if isinstance(query, Metrics))
    now = time.time()
    assert metrics(Servers(played.running.stack.prometheus), query, Range(now - 120, now, "60s"), Variables())
