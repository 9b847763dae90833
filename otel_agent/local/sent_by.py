"""Everything that one sender's instance has in the store, every column of every table: what ``otel-agent verify`` searches."""

from __future__ import annotations

from typing import Any, Final

import duckdb

from otel_agent import semconv
from otel_agent.local.tables import TABLES

_SENT_BY: Final = "SELECT * REPLACE (CAST(received_at AS VARCHAR) AS received_at) FROM {table} WHERE json_extract_string(resource, ?) = ?"
_INSTANCE: Final = f'$."{semconv.SERVICE_INSTANCE_ID}"'


def sent_by(connection: duckdb.DuckDBPyConnection, instance: str) -> dict[str, list[dict[str, Any]]]:
    """Rows by table."""
    return {table: _rows(connection, table, instance) for table in TABLES}


def _rows(connection: duckdb.DuckDBPyConnection, table: str, instance: str) -> list[dict[str, Any]]:
    cursor = connection.execute(_SENT_BY.format(table=table), [_INSTANCE, instance])
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
