"""What is committed is what the records generate."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schema import generate, outputs


def test_everything_generated_is_up_to_date() -> None:
    """A record that changed without ``python -m schema.generate`` fails here, by file."""
    assert outputs.stale() == [], "run: python -m schema.generate"


def test_a_changed_a_missing_and_a_leftover_file_are_each_found(tmp_path: Path) -> None:
    """The drift check sees all three kinds of drift, and writing once mends them all."""
    outputs.write(tmp_path)
    assert outputs.stale(tmp_path) == []
    (tmp_path / "otel_agent/semconv.py").write_text("edited\n")
    (tmp_path / "schema/allowlist.json").unlink()
    shutil.copy(tmp_path / "schema/registry/spans.yaml", tmp_path / "schema/registry/old.yaml")
    drifted = ["otel_agent/semconv.py", "schema/allowlist.json", "schema/registry/old.yaml"]
    assert outputs.stale(tmp_path) == drifted
    assert outputs.write(tmp_path) == drifted
    assert outputs.stale(tmp_path) == []


def test_the_check_fails_with_the_files_and_the_remedy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says which file is out of date and what to run."""
    monkeypatch.setattr(outputs, "stale", lambda: ["schema/allowlist.json"])
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "out of date: schema/allowlist.json", "run: python -m schema.generate",
    ]  # fmt: skip


def test_generating_twice_gives_the_same_bytes() -> None:
    """Nothing generated depends on time, place or the order of a set."""
    assert outputs.files() == outputs.files()


def test_the_generator_runs_when_the_rest_of_the_package_cannot(tmp_path: Path) -> None:
    """It writes the constants that the rest needs, so it must not need the rest."""
    for name in ("schema", "otel_agent/records", "otel_agent/fields.py", "otel_agent/stored.py", "otel_agent/tally.py"):
        copy = shutil.copytree if (outputs.TOP / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy(outputs.TOP / name, tmp_path / name)
    (tmp_path / "otel_agent/__init__.py").write_text("raise ImportError\n")
    command = [sys.executable, "-m", "schema.generate"]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert outputs.stale(tmp_path) == []
