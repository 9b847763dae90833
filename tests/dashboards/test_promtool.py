"""Prometheus' own checker: rules parse, queries parse, and every alert fires and stays silent as its rule tests say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.build import HERE, files, write
from dashboards.thresholds import Thresholds
from tests.dashboards.conftest import expressions
from tests.dashboards.tools import run

pytestmark = pytest.mark.stack
RULES = HERE / "rules"


def promtool(*arguments: str | Path, cwd: Path | None = None) -> str:
    code, output = run("prometheus", "promtool", *arguments, cwd=cwd)
    assert 0 == code, output
    return output


def test_rules_are_valid() -> None:
    """Every lint check of promtool passes."""
    promtool("check", "rules", "--lint=all", "--lint-fatal", RULES / "recording.yml", RULES / "alerts.yml")


def test_hurried_rules_are_valid(numbers: Thresholds, tmp_path: Path) -> None:
    """So are the rules with short windows that tests use."""
    write(files(numbers.hurried("30s", "2m", "5s")), tmp_path)
    promtool("check", "rules", "--lint=all", "--lint-fatal", *sorted((tmp_path / "rules").glob("*.yml")))


def test_panel_queries_parse(resources: Mapping[str, Any], tmp_path: Path) -> None:
    """All queries of all boards, with Grafana's variables filled in, as one rule file."""
    filled = [re.sub(r"\$__\w+", "5m", expr).replace("$", "x") for _, expr in expressions(resources)]
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(filled)]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", "--lint=none", file)


@pytest.mark.parametrize("file", sorted((RULES / "tests").glob("*.yml")), ids=lambda file: file.stem)
def test_alerts_fire_and_stay_silent(file: Path) -> None:
    """The unit tests of the committed rules pass."""
    promtool("test", "rules", file.name, cwd=file.parent)
