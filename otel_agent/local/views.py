"""Views over the log records, one per kind of record, generated from the record models.

A column is a field of the model, typed as there; before them stand ``time_unix_nano``, ``trace_id``, ``span_id`` and
``service_name``. A record that was sent without a time has that of its arrival. One that arrived twice (its sender repeated a request
whose answer was lost) appears once.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from otel_agent.records import AgentRun, Feedback, ModelTurn, Record, Retrieval, RunStarted, TextStep, ToolExecution, facts

RECORD_VIEWS: Final[Mapping[str, type[Record]]] = {
    "runs_started": RunStarted,
    "runs": AgentRun,
    "turns": ModelTurn,
    "tools": ToolExecution,
    "retrievals": Retrieval,
    "feedback": Feedback,
    "steps": TextStep,
}

HEAD: Final = (
    "coalesce(time_unix_nano, epoch_ns(received_at)) AS time_unix_nano", "trace_id", "span_id", "service_name",
)  # fmt: skip

_SCALARS: Final[Mapping[type, str]] = {str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}


def column_type(annotation: Any) -> str:
    """The DuckDB type of a record field. Raises ``TypeError`` for what no column holds."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return column_type(get_args(annotation)[0])
    if origin is Literal:
        return "VARCHAR"
    if origin is tuple:
        return column_type(get_args(annotation)[0]) + "[]"
    if origin in (types.UnionType, Union):
        return column_type(next(part for part in get_args(annotation) if part is not type(None)))
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    raise TypeError(f"no column type for {annotation!r}")


def _column(field: str, attribute: str, kind: str) -> str:
    arrow = "->" if kind.endswith("[]") else "->>"
    return f'CAST(attributes{arrow}\'$."{attribute}"\' AS {kind}) AS "{field}"'


def columns(record: type[Record]) -> dict[str, str]:
    """Field name to DuckDB type."""
    return {field: column_type(record.model_fields[field].annotation) for field in facts(record)}


def every(name: str) -> str:
    """Name of the view that holds a record as often as it was sent."""
    return f"{name}_sent"


def view(name: str, record: type[Record]) -> str:
    """The statement that creates the view of a record as often as it was sent: cheap, since nothing is held to compare."""
    kinds = columns(record)
    selected = ", ".join((*HEAD, *(_column(field, fact.name, kinds[field]) for field, fact in facts(record).items())))
    source = f"SELECT {selected} FROM logs WHERE event_name = '{record.event_name}'"  # noqa: S608 - all parts are our own names
    return f"CREATE OR REPLACE VIEW {every(name)} AS {source}"


def folded(name: str) -> str:
    """The statement that creates the view in which what was sent again counts once; a filter on it is applied before the folding."""
    return f"CREATE OR REPLACE VIEW {name} AS SELECT DISTINCT * FROM {every(name)}"  # noqa: S608 - all parts are our own names


VIEWS: Final[Mapping[str, str]] = {every(name): view(name, record) for name, record in RECORD_VIEWS.items()} | {
    name: folded(name) for name in RECORD_VIEWS
}
