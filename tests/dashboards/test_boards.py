"""The boards are what Grafana accepts, and what a person on call can read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dashboards import build
from dashboards.panels import Board, Metrics
from dashboards.recording import recorded
from dashboards.thresholds import Thresholds
from tests.dashboards.conftest import expressions, panels, queries
from tests.dashboards.promql_names import read

SCHEMAS = Path(__file__).with_name("schemas")
METRIC_PANELS = ("timeseries", "stat", "state-timeline")


def schema(name: str, definition: str) -> Mapping[str, Any]:
    content = json.loads((SCHEMAS / f"{name}.jsonschema.json").read_text())
    return {**content, "$ref": f"#/definitions/{definition}"}


def test_committed_files_are_what_the_code_builds(built: Mapping[str, str]) -> None:
    """The committed JSON and rules are up to date."""
    assert [] == build.stale(built, build.HERE)


def test_boards_are_resources_of_the_dashboard_schema(resources: Mapping[str, Any]) -> None:
    """Each file is a full v2 resource whose spec fits Grafana's schema."""
    for resource in resources.values():
        assert ("dashboard.grafana.app/v2", "Dashboard") == (resource["apiVersion"], resource["kind"])
        jsonschema.validate(resource["spec"], schema("dashboardv2", "Dashboard"))


def test_panel_options_fit_the_schema_of_their_panel(resources: Mapping[str, Any]) -> None:
    """Options and custom field settings, which the dashboard schema leaves free, fit the panel's own."""
    for resource in resources.values():
        for panel in panels(resource):
            visualization = panel["vizConfig"]
            name = visualization["group"].replace("-", "")
            if (SCHEMAS / f"{name}.jsonschema.json").exists():
                jsonschema.validate(visualization["spec"]["options"], schema(name, "Options"))
                custom = visualization["spec"]["fieldConfig"]["defaults"].get("custom")
                if custom is not None:
                    jsonschema.validate(custom, schema(name, "FieldConfig"))


def test_prometheus_queries_fit_their_schema(resources: Mapping[str, Any]) -> None:
    """Query bodies, which the dashboard schema leaves free, fit the Prometheus query's."""
    for resource in resources.values():
        for panel in panels(resource):
            for query in queries(panel):
                if query["group"] == "prometheus":
                    jsonschema.validate(query["spec"], schema("prometheus", "Dataquery"))


def test_every_panel_has_title_description_unit_and_query(resources: Mapping[str, Any]) -> None:
    """Nobody has to guess what a panel shows; the description is a sentence."""
    for name, resource in resources.items():
        for panel in panels(resource):
            assert panel["title"], name
            assert panel["description"].endswith("."), panel["title"]
            assert len(panel["description"]) > 40, panel["title"]
            assert list(queries(panel)), panel["title"]
            assert panel["vizConfig"]["spec"]["fieldConfig"]["defaults"]["unit"], panel["title"]


def test_titles_are_unique_within_a_board(resources: Mapping[str, Any]) -> None:
    """A title names one panel."""
    for resource in resources.values():
        titles = [panel["title"] for panel in panels(resource)]
        assert sorted(set(titles)) == sorted(titles)


def test_datasources_are_variables(resources: Mapping[str, Any]) -> None:
    """No query names a datasource of one installation."""
    for resource in resources.values():
        declared = {variable["spec"]["name"] for variable in resource["spec"]["variables"] if variable["kind"] == "DatasourceVariable"}
        for panel in panels(resource):
            for query in queries(panel):
                assert query["datasource"]["name"].strip("${}") in declared


def test_variables_follow_the_time_range_and_match_absent_attributes(resources: Mapping[str, Any]) -> None:
    """All matches everything, a call without an agent included; the lists are read again when the range changes."""
    for resource in resources.values():
        for variable in resource["spec"]["variables"]:
            if variable["kind"] == "QueryVariable":
                assert ("onTimeRangeChanged", ".*") == (variable["spec"]["refresh"], variable["spec"]["allValue"])
                assert variable["spec"]["multi"]


def test_metric_boards_have_the_five_filters(resources: Mapping[str, Any]) -> None:
    """Service, agent, provider, model and tool can be chosen."""
    wanted = {"service", "agent", "provider", "model", "tool"}
    for name in ("json/quality.json", "json/cost.json", "json/models.json"):
        assert wanted <= {variable["spec"]["name"] for variable in resources[name]["spec"]["variables"]}


def test_boards_are_not_editable_and_ids_are_unique(resources: Mapping[str, Any]) -> None:
    """A provisioned board cannot be saved, so it must not look as if it could."""
    for resource in resources.values():
        assert resource["spec"]["editable"] is False
        numbers = [panel["id"] for panel in panels(resource)]
        assert sorted(set(numbers)) == sorted(numbers)


def test_every_panel_has_a_place(resources: Mapping[str, Any]) -> None:
    """The layout shows each element once."""
    for resource in resources.values():
        rows = resource["spec"]["layout"]["spec"]["rows"]
        shown = [item["spec"]["element"]["name"] for row in rows for item in row["spec"]["layout"]["spec"]["items"]]
        assert sorted(resource["spec"]["elements"]) == sorted(shown)


def test_rates_follow_the_zoom_and_counters_are_only_rated(resources: Mapping[str, Any]) -> None:
    """``rate`` always over ``$__rate_interval``, totals over what is shown; a counter or histogram part never bare."""
    for where, expr in expressions(resources):
        assert set(re.findall(r"\[(.*?)\]", expr)) <= {"$__rate_interval", "$__range"}, where
        assert expr.count("rate(") == len(re.findall(r"rate\([^\[]*\[\$__rate_interval\]", expr)), where
        names = read(expr)
        for selection, function in zip(names.selections, names.rated, strict=True):
            if selection.metric.endswith(("_total", "_bucket", "_sum", "_count")):
                assert function in ("rate", "increase", "last_over_time"), where


def test_brackets_are_closed(resources: Mapping[str, Any]) -> None:
    """A cheap check that also runs without promtool."""
    for where, expr in expressions(resources):
        assert all(expr.count(left) == expr.count(right) for left, right in ("()", "[]", "{}")), where


def test_series_queries_ask_for_exemplars(resources: Mapping[str, Any]) -> None:
    """From a point on a latency panel there is a way to a trace."""
    asked = [query for panel in panels(resources["json/models.json"]) for query in queries(panel) if query["spec"].get("exemplar")]
    assert len(asked) > 5


def test_alerted_panels_draw_their_threshold(all_boards: tuple[Board, ...], numbers: Thresholds) -> None:
    """Where an alert compares with a fixed number, the panel shows it."""
    panel = next(panel for board in all_boards for _, panel in board.panels() if panel.key == "truncated")
    (query,) = panel.queries
    assert numbers.limits["truncated"].threshold == panel.limit
    assert isinstance(query, Metrics)
    assert query.expr.startswith(recorded("truncated", "ratio"))


def test_check_says_what_is_stale(built: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--check`` fails on a folder that differs, and passes on one just written."""
    build.write(built, tmp_path)
    assert 0 == build.main(["--check", "--out", str(tmp_path)])
    (tmp_path / "rules" / "alerts.yml").write_text("groups: []\n")
    assert 1 == build.main(["--check", "--out", str(tmp_path)])
    assert "alerts.yml is out of date" in capsys.readouterr().err
