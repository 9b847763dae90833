"""What the tests of dashboards and rules look at: the generated files, as built now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from dashboards import build, thresholds
from dashboards.boards import boards
from dashboards.panels import Board
from dashboards.thresholds import Thresholds


@pytest.fixture(scope="session")
def numbers() -> Thresholds:
    """The shipped numbers."""
    return thresholds.load()


@pytest.fixture(scope="session")
def built(numbers: Thresholds) -> Mapping[str, str]:
    """Every generated file's text."""
    return build.files(numbers)


@pytest.fixture(scope="session")
def all_boards(numbers: Thresholds) -> tuple[Board, ...]:
    """The boards as data."""
    return boards(numbers)


@pytest.fixture(scope="session")
def resources(built: Mapping[str, str]) -> Mapping[str, Any]:
    """The boards as Grafana reads them."""
    return {name: json.loads(text) for name, text in built.items() if name.startswith("json/")}


@pytest.fixture(scope="session")
def rules(built: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """All recording and alerting rules."""
    files = (yaml.safe_load(built[name]) for name in ("rules/recording.yml", "rules/alerts.yml"))
    return [rule for file in files for group in file["groups"] for rule in group["rules"]]


def panels(resource: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The panel specs of a resource."""
    return (element["spec"] for element in resource["spec"]["elements"].values())


def queries(panel: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The queries of a panel."""
    return (target["spec"]["query"] for target in panel["data"]["spec"]["queries"])


def expressions(resources: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every PromQL query of every board, with where it stands."""
    return [
        (f"{name} {panel['title']}", query["spec"]["expr"])
        for name, resource in resources.items()
        for panel in panels(resource)
        for query in queries(panel)
        if query["group"] == "prometheus"
    ]
