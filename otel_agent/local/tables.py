"""The store's tables, once: column names with their DuckDB types, from which come the DDL and the Arrow schemas.

Times named ``*_unix_nano`` are as sent; ``received_at`` is the store's own clock in UTC. ``attributes`` and ``resource`` are JSON
objects of guarded values. Rows are as received: a sender that repeats a request after a lost answer leaves duplicates, which
the views of :mod:`otel_agent.local.views` fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

VERSION: Final = 1
"""Version of the file's layout. A file with a higher one is refused, never guessed at."""

SPANS: Final = "spans"
LOGS: Final = "logs"
POINTS: Final = "points"
EXEMPLARS: Final = "exemplars"

_SENDER: Final = {"service_name": "VARCHAR", "scope": "VARCHAR", "resource": "JSON", "received_at": "TIMESTAMP"}

TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    SPANS: {
        "trace_id": "VARCHAR", "span_id": "VARCHAR", "parent_span_id": "VARCHAR", "name": "VARCHAR", "kind": "VARCHAR",
        "start_unix_nano": "BIGINT", "end_unix_nano": "BIGINT", "status_code": "VARCHAR", "attributes": "JSON",
        "events": "JSON", "links": "JSON", **_SENDER,
    },
    LOGS: {
        "event_name": "VARCHAR", "time_unix_nano": "BIGINT", "trace_id": "VARCHAR", "span_id": "VARCHAR",
        "severity_number": "INTEGER", "severity_text": "VARCHAR", "attributes": "JSON", **_SENDER,
    },
    POINTS: {
        "metric": "VARCHAR", "type": "VARCHAR", "unit": "VARCHAR", "temporality": "VARCHAR", "monotonic": "BOOLEAN",
        "start_unix_nano": "BIGINT", "time_unix_nano": "BIGINT", "value": "DOUBLE", "count": "UBIGINT", "sum": "DOUBLE",
        "min": "DOUBLE", "max": "DOUBLE", "bucket_counts": "UBIGINT[]", "explicit_bounds": "DOUBLE[]", "scale": "INTEGER",
        "zero_count": "UBIGINT", "positive_offset": "INTEGER", "positive_counts": "UBIGINT[]", "negative_offset": "INTEGER",
        "negative_counts": "UBIGINT[]", "attributes": "JSON", **_SENDER,
    },
    EXEMPLARS: {
        "metric": "VARCHAR", "value": "DOUBLE", "time_unix_nano": "BIGINT", "trace_id": "VARCHAR", "span_id": "VARCHAR",
        "attributes": "JSON", **_SENDER,
    },
}  # fmt: skip

_ARROW: Final[Mapping[str, pa.DataType]] = {
    "VARCHAR": pa.string(),
    "JSON": pa.string(),
    "BIGINT": pa.int64(),
    "UBIGINT": pa.uint64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
    "UBIGINT[]": pa.list_(pa.uint64()),
    "DOUBLE[]": pa.list_(pa.float64()),
}

ARROW: Final[Mapping[str, pa.Schema]] = {
    table: pa.schema([(name, _ARROW[kind]) for name, kind in columns.items()]) for table, columns in TABLES.items()
}


def ddl(table: str) -> str:
    """The statement that creates one table when the file has none."""
    columns = ", ".join(f"{name} {kind}" for name, kind in TABLES[table].items())
    return f"CREATE TABLE IF NOT EXISTS {table} ({columns})"


def arrow(table: str, rows: list[tuple[object, ...]]) -> pa.Table:
    """Rows as an Arrow table in the table's column order."""
    schema = ARROW[table]
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)
