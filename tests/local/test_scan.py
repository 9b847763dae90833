"""The search for forbidden text finds what is there, in the log and in the closed file, compressed or not."""

from __future__ import annotations

from pathlib import Path

import duckdb

from otel_agent.local.scan import places_of
from otel_agent.local.server import LocalServer

from . import payloads
from .senders import send_http


def test_text_in_a_column_is_found_though_compressed(database: Path) -> None:
    """Thousands of equal and similar values are stored compressed; the search goes through the values too."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        for number in range(5):
            turns = [payloads.turn(f"needle-{number}-{index}", 1) for index in range(500)]
            send_http(server, payloads.logs(*turns))
    assert "column logs.attributes" in places_of(database, ["needle-4-499"])
    assert places_of(database, ["needle-5-0", "hay"]) == []


def test_text_beside_the_database_is_found(database: Path) -> None:
    """Its log and its state file are searched as bytes, in the forms bytes travel in."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_http(server, payloads.logs(payloads.turn("marker-1", 1)))
    for name, content in (("wal.old", b"marker-2"), ("note", b"marker-3".hex().encode())):
        database.with_name(f"{database.name}.{name}").write_bytes(content)
    spilled = database.with_name(f"{database.name}.tmp")
    spilled.mkdir()
    (spilled / "block").write_bytes(b"marker-4")
    assert places_of(database, ["marker-4"]) == ["bytes of block"]
    assert places_of(database, ["marker-2"]) == [f"bytes of {database.name}.wal.old"]
    assert places_of(database, ["marker-3"]) == [f"bytes of {database.name}.note"]


def test_every_table_is_searched(database: Path) -> None:
    """Whatever tables and columns there are, of any type."""
    with LocalServer(database, grpc_port=0, http_port=0):
        pass
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE later (words VARCHAR[])")
        connection.execute("INSERT INTO later VALUES (['a', 'needle'])")
    assert "column later.words" in places_of(database, ["needle"])
