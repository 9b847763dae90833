"""The proof at the end of the demo: none of the deliberation that was sent is in the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from otel_agent.testing.canaries import Canaries


@dataclass(frozen=True, slots=True)
class Proof:
    """``planted``: pieces of deliberation sent. ``found``: names of those found. ``read_bytes``, ``read_cells``: how much was searched."""

    planted: int
    found: tuple[str, ...]
    read_bytes: int
    read_cells: int


def search(path: Path, canaries: Canaries, planted: int) -> Proof:
    """Search the store's files byte by byte, and, since a database compresses, every cell of every table as text too."""
    files = [found for found in sorted(path.parent.glob(f"{path.name}*")) if found.is_file()]
    data = [file.read_bytes() for file in files]
    cells = _cells(path)
    return Proof(planted, tuple(canaries.find_in(data, cells)), sum(map(len, data)), len(cells))


def _cells(path: Path) -> list[str]:
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = [row[0] for row in connection.execute("select table_name from information_schema.tables").fetchall()]
        rows = [row for table in tables for row in connection.execute(f'select * from "{table}"').fetchall()]  # noqa: S608 - our own names
    return [str(cell) for row in rows for cell in row if cell is not None]
