"""Weaver accepts our registry, and would not accept a wrong one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from weaver_command import SCHEMA, check, needs_weaver

from otel_agent.records import RECORDS
from schema import names

pytestmark = needs_weaver


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of both registries, to be spoilt."""
    for folder in ("registry", "gen_ai"):
        shutil.copytree(SCHEMA / folder, tmp_path / folder)
    return tmp_path


def test_weaver_accepts_the_registry() -> None:
    """No error, and no warning but the one that the file format is young."""
    outcome = check("registry")
    assert outcome.returncode == 0, outcome.stderr
    complaints = [line for line in outcome.stderr.splitlines() if "⚠" in line or "\N{MULTIPLICATION SIGN}" in line]
    assert [line for line in complaints if "not yet stable" not in line] == []


def test_weaver_refuses_a_reference_to_an_unknown_name(copy: Path) -> None:
    """An empty registry passes every check: this one would not, so it was read."""
    path = copy / "registry/events.yaml"
    document = yaml.safe_load(path.read_text())
    document["events"][0]["attributes"].append({"ref": "otel_agent.no_such_name", "requirement_level": "recommended"})
    path.write_text(yaml.safe_dump(document))
    outcome = check("registry", copy)
    assert outcome.returncode == 1
    assert "otel_agent.no_such_name" in outcome.stdout + outcome.stderr


def test_weaver_needs_the_dependency(copy: Path) -> None:
    """The names of the conventions come from the second folder and from nowhere else."""
    path = copy / "gen_ai/attributes.yaml"
    document = yaml.safe_load(path.read_text())
    document["attributes"] = [entry for entry in document["attributes"] if entry["key"] != "gen_ai.request.model"]
    path.write_text(yaml.safe_dump(document))
    assert check("registry", copy).returncode == 1


def test_the_registry_holds_every_signal() -> None:
    """Each record is an event, each metric a metric, each of our attributes declared once."""
    read = {path.stem: yaml.safe_load(path.read_text()) for path in (SCHEMA / "registry").glob("*.yaml")}
    assert [event["name"] for event in read["events"]["events"]] == [record.event_name for record in RECORDS]
    assert [metric["name"] for metric in read["metrics"]["metrics"]] == [metric.name for metric in names.all_metrics()]
    theirs = yaml.safe_load((SCHEMA / "gen_ai/attributes.yaml").read_text())["attributes"]
    declared = [entry["key"] for entry in (*read["attributes"]["attributes"], *theirs)]
    assert sorted(declared) == sorted({*names.own_attributes(), *names.RESOURCE})
