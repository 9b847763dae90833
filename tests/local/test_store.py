"""The file: its layout version, its views, and what is refused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from otel_agent.local.server import LocalServer
from otel_agent.local.store import ForeignStore, NewerStore, Store, StoreError, StoreHeld, open_read_only
from otel_agent.local.tables import VERSION
from otel_agent.local.views import RECORD_VIEWS, column_type, columns
from otel_agent.records import RECORDS, facts

from . import payloads
from .senders import rows, send_http


def read(path: Path) -> None:
    """Open for reading."""
    with open_read_only(path):
        pass


def test_a_newer_file_is_refused(database: Path) -> None:
    """Neither written nor read, with the remedy in the message, and unchanged."""
    Store(database).close()
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"UPDATE schema_version SET version = {VERSION + 1}")
    for opened in (Store, read):
        with pytest.raises(NewerStore, match="newer otel_agent"):
            opened(database)
    assert rows(database, "SELECT version FROM schema_version") == [(VERSION + 1,)]


def test_another_program_s_database_is_refused(database: Path) -> None:
    """A database with other tables is not laid out over."""
    database.parent.mkdir()
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE invoices (n INTEGER)")
    with pytest.raises(ForeignStore):
        Store(database)
    assert rows(database, "SELECT table_name FROM duckdb_tables()") == [("invoices",)]


def test_a_file_that_is_no_database_is_refused(database: Path) -> None:
    """Its bytes are not quoted."""
    database.parent.mkdir()
    database.write_bytes(b"secret" * 2000)
    for opened in (Store, read):
        with pytest.raises(StoreHeld) as caught:
            opened(database)
        assert "secret" not in str(caught.value)


def test_reading_what_is_not_there_says_so(database: Path) -> None:
    """No file is created by reading."""
    with pytest.raises(StoreError, match="nothing has been recorded"):
        read(database)
    assert not database.exists()


def test_reopening_keeps_what_is_there(database: Path) -> None:
    """A second opening finds the version and the rows of the first."""
    for number in (1, 2):
        store = Store(database)
        store.append([{"exemplars": [("m", 1.0, number, None, None, None, None, None, None, None)]}])
        store.close()
    assert rows(database, "SELECT count(*) FROM exemplars") == [(2,)]
    assert rows(database, "SELECT version FROM schema_version") == [(VERSION,)]


def test_an_append_is_all_or_nothing(database: Path) -> None:
    """Rows that fit do not stay when their neighbours do not fit, and the store goes on."""
    good = {"exemplars": [("m", 1.0, 1, None, None, None, None, None, None, None)]}
    store = Store(database)
    with pytest.raises((duckdb.Error, ValueError, TypeError)):
        store.append([good, {"spans": [("too", "few")]}])
    with pytest.raises((duckdb.Error, ValueError, TypeError)):
        store.append([{"points": [tuple(["x"] * 25)]}, good])
    store.append([good])
    store.close()
    assert rows(database, "SELECT count(*) FROM exemplars") == [(1,)]


def test_every_record_has_a_view_with_its_fields(database: Path) -> None:
    """Column names are the model's field names, for every record the vocabulary has."""
    assert set(RECORD_VIEWS.values()) == set(RECORDS)
    Store(database).close()
    for view, record in RECORD_VIEWS.items():
        found = rows(database, f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{view}'")
        assert {name: kind for name, kind in found if name in facts(record)} == columns(record)


def test_a_view_gives_back_the_record(database: Path) -> None:
    """Every field of every type comes back from the view as it was in the model."""
    record = payloads.turn(
        "r1", 2, finish_reasons=("stop", "length"), temperature=0.25, stream=True, tool_names=("a.b", "c"), stable_prefix=0
    )
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_http(server, payloads.logs(record))
    names = list(facts(type(record)))
    [row] = rows(database, "SELECT " + ", ".join(f'"{name}"' for name in names) + " FROM turns")
    found = {name: tuple(value) if isinstance(value, list) else value for name, value in zip(names, row, strict=True)}
    assert found == record.model_dump()


def test_a_repeated_request_counts_once(database: Path) -> None:
    """A sender whose answer was lost sends again: the tables keep both, the views show one."""
    request = payloads.logs(payloads.turn("r1", 1), payloads.turn("r1", 2))
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        for _ in range(3):
            send_http(server, request)
    assert rows(database, "SELECT count(*) FROM logs") == [(6,)]
    assert rows(database, "SELECT count(*) FROM turns") == [(2,)]


def test_a_field_without_a_column_type_is_an_error() -> None:
    """A new kind of field must be given a column, not left out."""
    with pytest.raises(TypeError):
        column_type(dict[str, int])
