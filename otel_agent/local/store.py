"""The DuckDB file: opening, its layout version, and one append that is durable when it returns.

One thread appends (:mod:`otel_agent.local.writer`); readers take a :meth:`Store.cursor` each. The file is private to its owner.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

import duckdb

from otel_agent.local.rows import Row, Rows
from otel_agent.local.state import real
from otel_agent.local.tables import TABLES, VERSION, arrow, ddl
from otel_agent.local.views import VIEWS

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
MAGIC: Final = b"DUCK"
READ_ONLY: Final = {"enable_external_access": "false"}

_VERSION_TABLE: Final = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"
_HAS_VERSION: Final = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'schema_version'"
_HAS_TABLES: Final = "SELECT count(*) FROM duckdb_tables()"


class StoreError(Exception):
    """The store cannot be used; the message says why in words meant for a person."""


class NewerStore(StoreError):
    """The file was written by a later version of this program."""


class ForeignStore(StoreError):
    """The file is a database, but not one of this program."""


class StoreHeld(StoreError):
    """Another process holds the file, or it cannot be opened."""


@contextmanager
def private_umask() -> Iterator[None]:
    """Files made while open are their owner's alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def wal(path: Path) -> Path:
    """The log beside a database."""
    path = real(path)
    return path.with_name(path.name + ".wal")


def _make_private(path: Path) -> None:
    """DuckDB creates files by the process's umask, also anew after each checkpoint."""
    for file in (path, wal(path)):
        try:
            if stat.S_IMODE(file.stat().st_mode) != FILE_MODE:
                file.chmod(FILE_MODE)
        except FileNotFoundError:
            continue


def _connect(path: Path, *, read_only: bool, config: dict[str, str | bool | int | float | list[str]]) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(utf8(real(path)), read_only=read_only, config=config)
    except duckdb.Error as error:
        raise StoreHeld(_why_not(path, error)) from None


def utf8(path: Path) -> str:
    """The path for DuckDB, which knows UTF-8 alone, whatever the locale. Raises :class:`StoreError` for other bytes."""
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeError:
        raise StoreError(f"{path} is no UTF-8, which is all that DuckDB takes for a path; name another file with --store") from None


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(12)[8:] == MAGIC


_LOCKED: Final = ("lock on file", "used by another process")
"""What DuckDB says of a file that somebody holds, on Unix and on Windows."""


def _why_not(path: Path, error: duckdb.Error) -> str:
    if any(words in str(error) for words in _LOCKED):
        return f"{path} is held by another process that does not answer as otel-agent local"
    if isinstance(error, duckdb.IOException) and path.is_file() and _is_database(path):
        return f"{path} is a DuckDB database that cannot be opened: it is damaged, or of a newer DuckDB"
    return f"{path} cannot be opened as a DuckDB database ({type(error).__name__})"


def _count(connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, Any] | None = None) -> int:
    row = connection.execute(statement, parameters).fetchone()
    return int(row[0]) if row else 0


def _found_version(connection: duckdb.DuckDBPyConnection) -> int | None:
    if not _count(connection, _HAS_VERSION):
        return None
    return _count(connection, "SELECT max(version) FROM schema_version")


def _check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> int | None:
    """The file's layout version; ``None`` for an empty file. Raises for newer files and for those of others."""
    version = _found_version(connection)
    if version is None and _count(connection, _HAS_TABLES):
        raise ForeignStore(f"{path} holds tables of another program")
    if version is not None and version > VERSION:
        raise NewerStore(f"{path} has layout {version}, this program knows {VERSION}: use the newer otel_agent, or another file")
    return version


def _lay_out(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    version = _check_version(connection, path)
    connection.begin()
    connection.execute(_VERSION_TABLE)
    if version is None:
        connection.execute("INSERT INTO schema_version VALUES (?)", [VERSION])
    for table in TABLES:
        connection.execute(ddl(table))
    for statement in VIEWS.values():
        connection.execute(statement)
    connection.commit()


def _check_laid_out(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    if _check_version(connection, path) is None:
        raise StoreError(f"{path} is empty: nothing has been recorded yet")


def absent(path: Path) -> str:
    """What to say where there is no store, with the way to one."""
    return f"{path} does not exist: nothing has been recorded yet; start otel-agent local, or name another file with --store"


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What the file system or DuckDB says of the file while open becomes a :class:`StoreError`, without their messages."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be used ({type(error).__name__}); name another file with --store") from None
    except duckdb.Error as error:
        raise StoreError(f"{path} cannot be read ({type(error).__name__}): it is damaged, or of a newer DuckDB") from None


def exists(path: Path) -> bool:
    """Whether there is such a file. Raises :class:`StoreError` where that cannot be told."""
    with told(path):
        return path.exists()


@contextmanager
def open_read_only(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for reading while no process holds the file. Raises :class:`StoreError`, also for what goes wrong while it is open."""
    if not exists(path):
        raise StoreError(absent(path))
    with told(path), closing(_connect(path, read_only=True, config=dict(READ_ONLY))) as connection:
        _check_laid_out(connection, path)
        yield connection


class Store:
    """The file opened for writing; shuts every other process out until closed."""

    def __init__(self, path: Path, *, memory: str = "256MB", threads: int = 2) -> None:
        self.path = path
        with told(path), ExitStack() as opened:
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            with private_umask():
                config: dict[str, str | bool | int | float | list[str]] = {**READ_ONLY, "memory_limit": memory, "threads": threads}
                self._connection = opened.enter_context(closing(_connect(path, read_only=False, config=config)))
                _lay_out(self._connection, path)
            _make_private(path)
            opened.pop_all()

    def append(self, batches: Iterable[Rows]) -> None:
        """Insert all rows of all batches in one transaction: all on disk on return, or none and an exception."""
        with self._transaction():
            for table, rows in _merged(batches):
                self._insert(table, rows)
        _make_private(self.path)

    def delete(self, conditions: Mapping[str, str], parameters: Mapping[str, Any]) -> dict[str, int]:
        """Delete the rows of each table for which its condition holds, all in one transaction; how many went, by table."""
        with self._transaction():
            removed = {
                table: _count(self._connection, f"DELETE FROM {table} WHERE {condition}", parameters)  # noqa: S608 - our own statements
                for table, condition in conditions.items()
            }
        with suppress(duckdb.Error):  # a reader is at it: what was deleted is swept up by a later checkpoint
            self._connection.execute("CHECKPOINT")
        _make_private(self.path)
        return removed

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.begin()
        try:
            yield
            self._connection.commit()
        except BaseException:
            with suppress(duckdb.Error):  # a failed commit has ended the transaction already
                self._connection.rollback()
            raise

    def _insert(self, table: str, rows: list[Row]) -> None:
        self._connection.register("batch", arrow(table, rows))
        try:
            self._connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 - table is one of ours
        finally:
            self._connection.unregister("batch")

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own for one reader; sees what is committed."""
        return self._connection.cursor()

    def close(self) -> None:
        """Write everything into the main file and let go of it."""
        self._connection.close()


def _merged(batches: Iterable[Rows]) -> Iterator[tuple[str, list[Row]]]:
    kept = list(batches)
    for table in TABLES:
        rows = list(chain.from_iterable(batch.get(table, ()) for batch in kept))
        if rows:
            yield table, rows
