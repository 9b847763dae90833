"""How long records are kept: for ever, unless a number of days is asked for.

Age is by the store's own clock (``received_at``). What belongs to a run that still has younger records stays with it, so that no run
loses its beginning. A file that nobody holds is written anew without what is too old, which gives its space back to the disk; while a
receiver holds it, rows are deleted in place, and their space is used again by what comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import duckdb

from otel_agent import semconv
from otel_agent.local.queries import NANOS, iso
from otel_agent.local.state import real
from otel_agent.local.store import Store, StoreError, StoreHeld, absent, exists, open_read_only, private_umask, utf8, wal
from otel_agent.local.tables import LOGS, SPANS, TABLES
from otel_agent.plural import plural

MEMORY: Final = "512MB"
_RUN: Final = f"json_extract_string(attributes, '$.\"{semconv.OTEL_AGENT_RUN_ID}\"')"
_LIVE: Final = f"SELECT {_RUN} FROM {{source}}{LOGS} WHERE received_at >= $before AND {_RUN} IS NOT NULL"  # noqa: S608 - our own names
_OF_NO_LIVE_RUN: Final = f"coalesce({_RUN}, '') NOT IN ({_LIVE})"


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed: rows by table, records received before ``before``. ``rewritten``: the file is as small as what it holds."""

    before: str
    removed: Mapping[str, int]
    bytes_before: int
    bytes_after: int
    rewritten: bool

    def as_facts(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def cutoff(days: int) -> datetime:
    """The moment ``days`` days ago, as the store writes times."""
    return (datetime.now(UTC) - timedelta(days=days)).replace(tzinfo=None)


def _too_old(table: str, source: str = "") -> str:
    """The condition on the rows of a table that go. ``source``: the database before its name, with a dot."""
    of_run = f" AND {_OF_NO_LIVE_RUN.format(source=source)}" if table in {LOGS, SPANS} else ""
    return f"received_at < $before{of_run}"


def delete(store: Store, before: datetime) -> Pruned:
    """Delete in place, in one transaction. For the thread that writes."""
    large = size(store.path)
    removed = store.delete({table: _too_old(table) for table in _in_order()}, {"before": before})
    return Pruned(_said(before), removed, large, size(store.path), rewritten=False)


def _in_order() -> list[str]:
    """Log records last: they say which runs are alive."""
    return sorted(TABLES, key=lambda table: table == LOGS)


def holds_older(path: Path, before: datetime) -> bool:
    """Whether anything would go; cheap, and changes nothing. Raises :class:`StoreError`."""
    with open_read_only(path) as connection:
        asked = (f"SELECT 1 FROM {table} WHERE {_too_old(table)} LIMIT 1" for table in TABLES)  # noqa: S608 - our own names
        return any(connection.execute(statement, {"before": before}).fetchone() for statement in asked)


def rewrite(path: Path, before: datetime) -> Pruned:
    """Write the file anew without what is too old; the old one stays whole until then. Raises :class:`StoreError`."""
    if not exists(path):
        raise StoreError(absent(path))
    path = real(path)  # what is put in the place of a link would leave the file behind it as it was
    large = size(path)
    Store(path).close()  # looks at its layout, and writes its log into it
    try:
        removed = _copied(path, path.with_name(f"{path.name}.pruned"), before)
    except (duckdb.Error, OSError) as error:
        raise StoreHeld(f"{path} cannot be rewritten ({type(error).__name__}); it is as it was") from None
    return Pruned(_said(before), removed, large, size(path), rewritten=True)


def _copied(path: Path, fresh: Path, before: datetime) -> dict[str, int]:
    """Copy what stays, then put the new file into the place of the old one while that is still held, so that nobody comes between."""
    with private_umask(), duckdb.connect(":memory:", config={"memory_limit": MEMORY, "threads": 2, "temp_directory": ""}) as connection:
        connection.execute(_attach(path, "old"))
        with _temporary(fresh):
            Store(fresh).close()
            connection.execute(_attach(fresh, "fresh"))
            removed = {table: _moved(connection, table, before) for table in TABLES}
            connection.execute("CHECKPOINT fresh")
            connection.execute("DETACH fresh")
            fresh.replace(path)
    return removed


def _attach(file: Path, name: str) -> str:
    quoted = utf8(file).replace("'", "''")
    return f"ATTACH '{quoted}' AS {name}"


@contextmanager
def _temporary(file: Path) -> Iterator[None]:
    """Removes a file and its log before, since one that was killed may have left them, and after."""
    for left in (file, wal(file)):
        left.unlink(missing_ok=True)
    try:
        yield
    finally:
        for left in (file, wal(file)):
            left.unlink(missing_ok=True)


def _moved(connection: duckdb.DuckDBPyConnection, table: str, before: datetime) -> int:
    """Copy the rows of a table that stay; how many do not."""
    condition = _too_old(table, "old.")
    stays = f"INSERT INTO fresh.{table} SELECT * FROM old.{table} WHERE ({condition}) IS NOT TRUE"  # noqa: S608 - our own names
    all_of = _count(connection, f"SELECT count(*) FROM old.{table}")  # noqa: S608 - our own names
    connection.execute(stays, {"before": before})
    return all_of - _count(connection, f"SELECT count(*) FROM fresh.{table}")  # noqa: S608 - our own names


def _count(connection: duckdb.DuckDBPyConnection, statement: str) -> int:
    (number,) = connection.execute(statement).fetchall()[0]
    return int(number)


def size(path: Path) -> int:
    """Bytes of the file and of its log."""
    found = 0
    for file in (path, wal(path)):
        with suppress(FileNotFoundError):
            found += file.stat().st_size
    return found


def _said(moment: datetime) -> str:
    return iso(int(moment.replace(tzinfo=UTC).timestamp() * NANOS))


def _megabytes(number: int) -> str:
    return f"{number / 1_000_000:,.1f} MB"


def summary(found: Mapping[str, Any], days: int) -> str:
    """What :meth:`Pruned.as_facts` says, in a line for a person."""
    total = sum(found["removed"].values())
    tables = ", ".join(f"{table} {number:,}" for table, number in found["removed"].items() if number)
    removed = f"removed {total:,} {plural(total, 'record')} older than {days} {plural(days, 'day')}" + (f" ({tables})" if tables else "")
    if found["rewritten"]:
        return f"{removed}; the store went from {_megabytes(found['bytes_before'])} to {_megabytes(found['bytes_after'])}"
    return f"{removed}; the receiver that runs uses their space again; to shrink the file, end it and prune" if total else removed
