"""The compose files, read as text: what they promise can be checked without Docker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stack import configs, docker
from tests.stack.build import COLLECTOR, ROOT
from tests.stack.native import FEATURES

MAIN = ROOT / "docker-compose.yml"
OVERRIDES = [COLLECTOR / "compose" / name for name in ("loki.yml", "own-collector.yml")]
FILES = [MAIN, *OVERRIDES]
ONE_SHOT = "volumes-owner"
WATCHED = {"collector": "collector-health", "jaeger": "jaeger-health"}  # images without a program that can ask
SECRETS = {str(docker.PASSWORD.relative_to(ROOT))}  # made by `make stack`


class ComposeLoader(yaml.SafeLoader):
    """Knows compose's own tags."""


def _plain(loader: ComposeLoader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return None


ComposeLoader.add_constructor("!reset", _plain)
ComposeLoader.add_constructor("!override", _plain)


def services(path: Path) -> dict[str, dict[str, Any]]:
    content = yaml.load(path.read_text(), ComposeLoader)  # noqa: S506 (a safe loader with two tags more)
    return {name: service for name, service in content["services"].items() if service}


ALL = [(path.name, name, service) for path in FILES for name, service in services(path).items()]
MAIN_SERVICES = [(name, service) for name, service in services(MAIN).items()]


@pytest.mark.parametrize(("file", "name", "service"), ALL, ids=lambda value: value if isinstance(value, str) else "")
def test_images_are_pinned(file: str, name: str, service: dict[str, Any]) -> None:
    """A tag with three numbers, never a moving one."""
    if "image" in service:
        assert re.fullmatch(r"[a-z0-9./-]+:v?\d+\.\d+\.\d+", service["image"]), (file, name)


@pytest.mark.parametrize(("name", "service"), MAIN_SERVICES, ids=lambda value: value if isinstance(value, str) else "")
def test_services_are_fenced(name: str, service: dict[str, Any]) -> None:
    """Read-only, no capabilities, no new privileges, and no root but the one that hands volumes over and ends."""
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert (service["user"].split(":")[0] == "0") == (name == ONE_SHOT)


@pytest.mark.parametrize(("name", "service"), MAIN_SERVICES, ids=lambda value: value if isinstance(value, str) else "")
def test_services_have_a_health_check(name: str, service: dict[str, Any]) -> None:
    """Of their own, or asked from next door."""
    if name == ONE_SHOT:
        assert "restart" not in service
        return
    asked = services(MAIN)[WATCHED.get(name, name)]
    assert asked["healthcheck"]["test"][0] == "CMD"
    assert name not in WATCHED or f"http://{name}:" in asked["healthcheck"]["test"][-1]


@pytest.mark.parametrize(("file", "name", "service"), ALL, ids=lambda value: value if isinstance(value, str) else "")
def test_ports_are_published_on_loopback_alone(file: str, name: str, service: dict[str, Any]) -> None:
    for port in service.get("ports", ()):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), (file, name)
    assert service.get("network_mode") != "host"


def mounts() -> list[tuple[str, str]]:
    found = [(name, volume.split(":")[0]) for _, name, service in ALL for volume in service.get("volumes", ())]
    return [(name, source) for name, source in found if source.startswith(".")]


@pytest.mark.parametrize(("name", "source"), mounts())
def test_mounted_files_exist(name: str, source: str) -> None:
    assert (ROOT / source).exists() or source in SECRETS, name


def test_mounts_are_read_only() -> None:
    for _, name, service in ALL:
        for volume in service.get("volumes", ()):
            assert not volume.startswith(".") or volume.endswith(":ro"), name


def test_named_volumes_are_declared() -> None:
    declared = yaml.load(MAIN.read_text(), ComposeLoader)["volumes"]  # noqa: S506
    used = {volume.split(":")[0] for _, service in MAIN_SERVICES for volume in service.get("volumes", ())}
    assert {volume for volume in used if not volume.startswith(".")} == set(declared)


def test_no_password_stands_in_the_files() -> None:
    """Grafana reads its own from a file that is not in the repository; nobody else has one."""
    for path in FILES:
        for line in path.read_text().splitlines():
            if re.search(r"(?i)(password|token|secret)\S*:\s*\S", line):
                assert re.search(r"__FILE: |file: |secrets: \[|grafana_password:$", line), line
    grafana = services(MAIN)["grafana"]["environment"]
    assert grafana["GF_SECURITY_ADMIN_PASSWORD__FILE"].startswith("/run/secrets/")
    assert grafana["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert (docker.PASSWORD.parent.parent / ".gitignore").read_text() == "secrets/\n"


def test_every_variable_is_one_that_the_collector_reads() -> None:
    """A renamed variable in the configuration would silently fall back to its default."""
    read = configs.variables(COLLECTOR / "contrib" / "gateway.yaml")
    given = {name for name in services(MAIN)["collector"]["environment"] if name.startswith("COLLECTOR_")}
    assert given <= read
    assert set(services(OVERRIDES[0])["collector"]["environment"]) <= read


def test_grafana_finds_its_boards() -> None:
    """The folder in the provisioning file is the one that the boards are mounted at."""
    provider = yaml.safe_load((configs.DASHBOARDS / "provisioning" / "dashboards" / "dashboards.yml").read_text())
    path = provider["providers"][0]["options"]["path"]
    assert any(volume == f"./dashboards/json:{path}:ro" for volume in services(MAIN)["grafana"]["volumes"])


def test_prometheus_runs_with_the_features_of_the_native_stack() -> None:
    """What the tests have seen is what the compose file starts."""
    assert set(FEATURES) <= set(services(MAIN)["prometheus"]["command"])


def test_loki_changes_nothing_but_the_log_store() -> None:
    """The datasources mounted by the override are the shipped ones, apart from the logs and the link to them."""
    shipped = yaml.safe_load((configs.DASHBOARDS / "provisioning" / "datasources" / "datasources.yml").read_text())
    ours = yaml.safe_load((COLLECTOR / "compose" / "loki-datasources.yml").read_text())
    for each in (shipped, ours):
        each["datasources"] = [source for source in each["datasources"] if source["uid"] != "otel-agent-logs"]
        for source in each["datasources"]:
            source["jsonData"].pop("tracesToLogsV2", None)
    assert ours == shipped
