"""Each alert says what happened and what to do, leads to a panel, and has numbers that can work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards import build, thresholds
from dashboards.alerts import ALERTS
from dashboards.boards import find_panel
from dashboards.meaning import amounts
from dashboards.names import metric
from dashboards.panels import Board
from dashboards.thresholds import Thresholds

TESTS = build.HERE / "rules" / "tests"
KEYS = [alert.key for alert in ALERTS]


@pytest.fixture(scope="module")
def alert_rules(rules: list[Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    return {rule["alert"]: rule for rule in rules if "alert" in rule}


@pytest.mark.parametrize("alert", ALERTS, ids=KEYS)
def test_an_alert_says_what_to_do_and_where_to_look(
    alert: Any,
    alert_rules: Mapping[str, Mapping[str, Any]],
    all_boards: tuple[Board, ...],
) -> None:
    """Summary and runbook are sentences; the link leads to a panel that exists and shows what the alert reads."""
    rule = alert_rules[alert.name]
    notes = rule["annotations"]
    assert notes["summary"].endswith(".")
    assert notes["runbook"].endswith(".")
    assert len(notes["runbook"].split()) > 8
    uid, number = find_panel(all_boards, alert.panel)
    assert (uid, str(number)) == (notes["dashboard_uid"], notes["panel_id"])
    assert f"/d/{uid}?viewPanel=panel-{number}" in notes["panel_url"]
    assert rule["labels"]["severity"] in ("info", "warning", "critical", "none")


@pytest.mark.parametrize("alert", ALERTS, ids=KEYS)
def test_an_alert_has_a_rule_test_that_fires_and_one_that_is_silent(alert: Any) -> None:
    """Its name is expected in one rule test, and its series are fed in a test that expects silence."""
    texts = [file.read_text() for file in TESTS.glob("*.yml")]
    assert any(f'"{alert.name}"' in text or f"alertname: {alert.name}\n" in text for text in texts)
    silent = [test for text in texts for test in yaml.safe_load(text)["tests"] if _expects(test, "")]
    assert silent
    if amounts(alert.means):
        stems = {_stem(name) for amount in amounts(alert.means)[:1] for name in amount.metrics}
        assert any(stem in entry["series"] for test in silent for entry in test["input_series"] for stem in stems)


def _expects(test: Mapping[str, Any], name: str) -> bool:
    expected = [sample for check in test.get("promql_expr_test", ()) for sample in check["exp_samples"]]
    return all("Watchdog" in sample["labels"] for sample in expected) if not name else any(name in str(s) for s in expected)


def _stem(name: str) -> str:
    return name.replace(".", "_")


def test_keys_and_names_are_unique() -> None:
    """One alert, one name."""
    assert len({alert.key for alert in ALERTS}) == len({alert.name for alert in ALERTS}) == len(ALERTS)


def test_histogram_limits_sit_on_edges(numbers: Thresholds) -> None:
    """A limit between edges cannot be counted; one at the top can never be passed."""
    watched = [(alert, name) for alert in ALERTS for amount in amounts(alert.means) if amount.above for name in amount.metrics]
    assert watched
    for alert, name in watched:
        assert numbers.limits[alert.key].edge in metric(name).buckets[:-1]


def edited(tmp_path: Path, alert: str, **changes: Any) -> Path:
    content = yaml.safe_load(thresholds.FILE.read_text())
    content["alerts"][alert].update(changes)
    file = tmp_path / "thresholds.yml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.parametrize(
    ("alert", "changes", "said"),
    [
        ("iterations_over_cap", {"edge": 22}, "edge 22"),
        ("iterations_over_cap", {"edge": 200}, "edge 200"),
        ("truncated", {"threshold": None}, "needs threshold"),
        ("truncated", {"window": "1 hour"}, "not a duration"),
        ("truncated", {"treshold": 1}, "unknown numbers"),
        ("truncated", {"overrides": [{"where": {"gen_ai.tool.name": "x"}, "threshold": 1}]}, "cannot be overridden"),
    ],
)
def test_impossible_numbers_are_refused(tmp_path: Path, alert: str, changes: Mapping[str, Any], said: str) -> None:
    """The message names the alert and what is wrong."""
    with pytest.raises(ValueError, match=f"{alert}|{said}") as caught:
        thresholds.load(edited(tmp_path, alert, **changes))
    assert said in str(caught.value)


def test_other_numbers_are_built_elsewhere(tmp_path: Path) -> None:
    """Users can keep their own numbers and build into their own folder."""
    file = edited(tmp_path, "truncated", threshold=0.3)
    assert 0 == build.main(["--thresholds", str(file), "--out", str(tmp_path)])
    assert "otel_agent:truncated:ratio > 0.3 and" in (tmp_path / "rules" / "alerts.yml").read_text()


def test_an_override_gives_one_group_its_own_threshold(tmp_path: Path) -> None:
    """The group is left out of the general comparison and compared with its own."""
    override = {"where": {"gen_ai.agent.name": "nightly"}, "threshold": 0.4}
    file = edited(tmp_path, "truncated", overrides=[override])
    build.write(build.files(thresholds.load(file)), tmp_path)
    text = " ".join((tmp_path / "rules" / "alerts.yml").read_text().split())
    own = 'otel_agent:truncated:ratio{gen_ai_agent_name="nightly"}'
    assert f"((otel_agent:truncated:ratio unless ({own})) > 0.05 or {own} > 0.4) and" in text


def test_meanings_are_complete_as_data(built: Mapping[str, str]) -> None:
    """Another engine finds kind, amounts, groups and every number it needs in one file, in dotted names."""
    document = json.loads(built["rules/meaning.json"])
    assert KEYS == [alert["key"] for alert in document["alerts"]]
    for described, alert in zip(document["alerts"], ALERTS, strict=True):
        assert set(alert.means.needs) <= set(described["limits"])
        assert "{{" not in json.dumps(described["says"])
    truncated = document["alerts"][0]
    assert {"kind": "share", "below": False, "unit": "share"}.items() <= truncated["means"].items()
    assert ["otel_agent.turns"] == truncated["means"]["part"]["metrics"]


def test_hurried_numbers_keep_the_meaning(numbers: Thresholds) -> None:
    """A test may shorten windows; thresholds and minimums stay."""
    quick = numbers.hurried("30s", "2m", "5s")
    assert ("30s", "2m", "0s") == (quick.limits["truncated"].window, quick.limits["truncated"].baseline, quick.limits["truncated"].hold)
    assert numbers.limits["truncated"].threshold == quick.limits["truncated"].threshold
