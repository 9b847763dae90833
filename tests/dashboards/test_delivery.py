"""From a fired alert to a person, and from Grafana to the data: Alertmanager's routes and Grafana's provisioning."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dashboards.alerts import ALERTS
from dashboards.build import HERE
from dashboards.grafana import LOGS_PLUGIN
from dashboards.names import label
from tests.dashboards.tools import run

ALERTMANAGER = HERE / "alertmanager" / "alertmanager.yml"
PROVISIONING = HERE / "provisioning"


@pytest.fixture(scope="module")
def routes() -> Any:
    return yaml.safe_load(ALERTMANAGER.read_text())


@pytest.fixture(scope="module")
def sources() -> dict[str, Any]:
    content = yaml.safe_load((PROVISIONING / "datasources" / "datasources.yml").read_text())
    return {source["type"]: source for source in content["datasources"]}


def test_inhibitions_name_alerts_and_labels_that_exist(routes: Any) -> None:
    """A renamed alert would silently end an inhibition."""
    known = {alert.name: {label(attribute) for attribute in alert.by} for alert in ALERTS}
    for rule in routes["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            for name in matcher.partition('"')[2].strip('"').split("|"):
                assert set(rule.get("equal", ())) <= known[name]


def test_lost_telemetry_holds_back_what_it_imitates(routes: Any) -> None:
    """Records lost on the way must not page somebody for missing usage."""
    rule = next(rule for rule in routes["inhibit_rules"] if "TelemetryExportLost" in rule["source_matchers"][0])
    assert "AgentUsageMissing" in rule["target_matchers"][0]


def test_no_address_or_secret_stands_in_the_routes(routes: Any) -> None:
    """Receivers read their address from a file."""
    for receiver in routes["receivers"]:
        for webhook in receiver["webhook_configs"]:
            assert "url" not in webhook
            name = webhook["url_file"].rpartition("/")[2]
            assert (ALERTMANAGER.parent / "webhooks" / name).exists()


@pytest.mark.stack
def test_amtool_accepts_the_routes() -> None:
    """Alertmanager's own checker."""
    code, output = run("alertmanager", "amtool", "check-config", ALERTMANAGER)
    assert 0 == code, output


@pytest.mark.stack
@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (("alertname=TelemetryWatchdog", "severity=none"), "heartbeat"),
        (("alertname=TelemetryExportLost", "severity=critical"), "page"),
        (("alertname=TelemetryQueueFilling", "severity=warning"), "team"),
        (("alertname=AgentRunsUnanswered", "severity=critical"), "page"),
        (("alertname=AgentToolFails", "severity=warning"), "team"),
        (("alertname=AgentCallsDenied", "severity=info"), "team"),
    ],
)
def test_alerts_reach_their_receiver(labels: tuple[str, ...], receiver: str) -> None:
    """Critical pages, the watchdog goes to the heartbeat, the rest to the team."""
    code, output = run(
        "alertmanager",
        "amtool",
        "config",
        "routes",
        "test",
        f"--config.file={ALERTMANAGER}",
        f"--verify.receivers={receiver}",
        *labels,
    )
    assert 0 == code, output


def test_exemplars_lead_to_traces_and_logs_to_traces(sources: dict[str, Any]) -> None:
    """The three stores are linked by trace id."""
    traces = sources["jaeger"]["uid"]
    assert [traces] == [entry["datasourceUid"] for entry in sources["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]]
    assert traces == sources[LOGS_PLUGIN]["jsonData"]["derivedFields"][0]["datasourceUid"]
    assert sources[LOGS_PLUGIN]["uid"] == sources["jaeger"]["jsonData"]["tracesToLogsV2"]["datasourceUid"]


def test_every_kind_of_datasource_that_boards_need_is_provisioned(sources: dict[str, Any], resources: dict[str, Any]) -> None:
    """A board's datasource variable finds at least one datasource."""
    for resource in resources.values():
        for variable in resource["spec"]["variables"]:
            if variable["kind"] == "DatasourceVariable":
                assert variable["spec"]["pluginId"] in sources


def test_the_provider_serves_boards_that_cannot_be_edited() -> None:
    """File provisioning with no way back from the UI."""
    provider = yaml.safe_load((PROVISIONING / "dashboards" / "dashboards.yml").read_text())["providers"][0]
    assert ("file", False) == (provider["type"], provider["allowUiUpdates"])
