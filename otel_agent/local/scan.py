"""Searches a store for text that must not be in it: in the bytes of every file of it, and in every value.

Both are needed. The database compresses columns, so bytes alone could hide what a query would show; the log and the pages that were
freed are in no query. Only for a store that no process holds.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path

from otel_agent.local.store import open_read_only


def _forms(needle: str) -> tuple[bytes, ...]:
    """The needle as it is, and as OTLP's JSON would carry it in bytes."""
    raw = needle.encode("utf-8")
    return raw, b64encode(raw).rstrip(b"="), raw.hex().encode("ascii")


def _files(database: Path) -> Iterator[Path]:
    """The database and all that is named after it: its log, its state file, the folder it spills into."""
    for path in sorted(database.parent.glob(database.name + "*")):
        yield from (file for file in ([path] if path.is_file() else sorted(path.rglob("*"))) if file.is_file())


def _in_bytes(database: Path, needles: tuple[str, ...]) -> Iterator[str]:
    for file in _files(database):
        content = file.read_bytes()
        if any(form in content for needle in needles for form in _forms(needle)):
            yield f"bytes of {file.name}"


def _in_values(database: Path, needles: tuple[str, ...]) -> Iterator[str]:
    with open_read_only(database) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE table_name IN (SELECT table_name FROM duckdb_tables())"
        ).fetchall()
        for table, column in columns:
            found = connection.execute(
                f'SELECT 1 FROM {table} WHERE list_bool_or([contains(CAST("{column}" AS VARCHAR), n) FOR n IN ?]) LIMIT 1',  # noqa: S608
                [list(needles)],
            )
            if found.fetchone():
                yield f"column {table}.{column}"


def places_of(database: Path, needles: Iterable[str]) -> list[str]:
    """Where any of the needles is: files and columns by name, never the text around it. Empty when nowhere."""
    wanted = tuple(needles)
    return [*_in_bytes(database, wanted), *_in_values(database, wanted)]
