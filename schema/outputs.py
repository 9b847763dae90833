"""Every generated file: what it should hold, whether it does, and writing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from otel_agent.records import RECORDS
from schema import allowlist, constants, documents, reference, registry

TOP: Final = Path(__file__).resolve().parent.parent
SWEPT: Final = (("schema/json", "*.json"), ("schema/registry", "*.yaml"), ("schema/gen_ai", "*.yaml"))
"""Folders that hold generated files only: what is there and not generated is out of date."""


def files() -> dict[str, str]:
    """Path below the top to content, of every generated file."""
    listed = allowlist.text()
    return {
        "otel_agent/semconv.py": constants.text(),
        "otel_agent/schema_data/allowlist.json": listed,
        "schema/allowlist.json": listed,
        "collector/guardprocessor/allowlist.json": listed,
        "schema/attributes.md": reference.text(),
        **{f"schema/json/{record.event_name}.schema.json": documents.text(record) for record in RECORDS},
        **registry.files(),
    }


def _leftover(wanted: Mapping[str, str], top: Path) -> Iterator[str]:
    for folder, pattern in SWEPT:
        for path in sorted((top / folder).glob(pattern)):
            if (name := path.relative_to(top).as_posix()) not in wanted:
                yield name


def _differs(path: Path, content: str) -> bool:
    return not path.is_file() or path.read_text(encoding="utf-8") != content


def stale(top: Path = TOP) -> list[str]:
    """Files below ``top`` that are missing, differ, or are no longer generated."""
    wanted = files()
    return [name for name, content in wanted.items() if _differs(top / name, content)] + list(_leftover(wanted, top))


def write(top: Path = TOP) -> list[str]:
    """Bring every file up to date; the names of those that changed."""
    wanted, changed = files(), stale(top)
    for name in changed:
        path = top / name
        if name not in wanted:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[name], encoding="utf-8")
    return changed
