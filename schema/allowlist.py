"""The allow-list: one file read by the export guard, the local receiver and the collector's guard."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from otel_agent.fields import MODEL, TOOL
from otel_agent.records import RECORDS, Record
from otel_agent.records.metrics import OPERATION
from schema import foreign, names
from schema.shapes import SPAN_RECORDS, Shape, attributes, merged

VERSION: Final = 1


def _specs(shapes: Iterable[tuple[str, Shape]]) -> dict[str, dict[str, Any]]:
    return {name: shape.spec() for name, shape in shapes}


def _inner(pattern: str) -> str:
    return pattern.removeprefix("^").removesuffix("$")


def _operations(record: type[Record]) -> str:
    """The values of a record's operation, as alternatives."""
    operation = next(attribute for attribute in attributes(record) if attribute.name == OPERATION)
    return "|".join(operation.shape.values)


_SUBJECT: Final[Mapping[str, str]] = {"chat": MODEL, "execute_tool": TOOL, "invoke_agent": TOOL}
"""What follows the operation in a span's name, by the record's usual operation; nothing does where none is listed."""


def span_name() -> str:
    """The pattern of our span names: an operation, and after one space the model, tool or agent."""
    return "^(" + "|".join(_named(record) for record in SPAN_RECORDS) + ")$"


def _named(record: type[Record]) -> str:
    subject = _SUBJECT.get(record.span_operation or "")
    return f"({_operations(record)})" + (f"( {_inner(subject)})?" if subject else "")


def _own() -> dict[str, Any]:
    metric = ((name, shape) for name, (_, shape) in names.metric_attributes().items())
    return {
        "span": {
            "name": span_name(),
            "attributes": _specs((name, item.shape) for name, item in merged(SPAN_RECORDS).items()),
        },
        "log": {
            "event_names": [record.event_name for record in RECORDS],
            "attributes": _specs((name, item.shape) for name, item in merged(RECORDS).items()),
        },
        "metric": {"names": [metric.name for metric in names.all_metrics()], "attributes": _specs(metric)},
    }


def document() -> dict[str, Any]:
    """The whole list."""
    return {
        "version": VERSION,
        "scopes": {"own": [names.SCOPE_NAME], "foreign_pattern": foreign.SCOPE_PATTERN},
        "resource": {"attributes": _specs((name, shape) for name, (_, shape) in names.RESOURCE.items())},
        "own": _own(),
        "metric_text": {metric.name: {"unit": metric.unit, "description": metric.brief} for metric in names.all_metrics()},
        "foreign": foreign.section(),
    }


def text() -> str:
    """The list as the file holds it."""
    return json.dumps(document(), indent=1, sort_keys=True) + "\n"
