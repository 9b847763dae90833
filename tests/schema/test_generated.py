"""What is committed is what the records generate."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from schema import generate


def test_everything_generated_is_up_to_date() -> None:
    """A record that changed without ``python -m schema.generate`` fails here, by file."""
    assert generate.stale() == [], "run: python -m schema.generate"


def test_a_changed_a_missing_and_a_leftover_file_are_each_found(tmp_path: Path) -> None:
    """The drift check sees all three kinds of drift, and writing once mends them all."""
    generate.write(tmp_path)
    assert generate.stale(tmp_path) == []
    (tmp_path / "otel_agent/semconv.py").write_text("edited\n")
    (tmp_path / "schema/allowlist.json").unlink()
    shutil.copy(tmp_path / "schema/registry/spans.yaml", tmp_path / "schema/registry/old.yaml")
    drifted = ["otel_agent/semconv.py", "schema/allowlist.json", "schema/registry/old.yaml"]
    assert generate.stale(tmp_path) == drifted
    assert generate.write(tmp_path) == drifted
    assert generate.stale(tmp_path) == []


def test_the_check_fails_with_the_files_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says which file is out of date and what to run."""
    monkeypatch.setattr(generate, "stale", lambda: ["schema/allowlist.json"])
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "out of date: schema/allowlist.json", "run: python -m schema.generate",
    ]  # fmt: skip


def test_generating_twice_gives_the_same_bytes() -> None:
    """Nothing generated depends on time, place or the order of a set."""
    assert generate.files() == generate.files()
