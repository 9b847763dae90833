"""JSON Schema documents of the log records, one per event."""

from __future__ import annotations

import json
from typing import Any, Final

from otel_agent.records import Record
from schema.shapes import Attribute, attributes

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def _property(attribute: Attribute) -> dict[str, Any]:
    return {"description": attribute.brief} | dict(attribute.fragment)


def document(record: type[Record]) -> dict[str, Any]:
    """What the attributes of a record's log line may be."""
    found = attributes(record)
    return {
        "$schema": DIALECT,
        "$id": "urn:otel-agent:record:" + record.event_name.partition(".")[2],
        "title": record.event_name,
        "description": (record.__doc__ or "").strip().splitlines()[0],
        "type": "object",
        "properties": {attribute.name: _property(attribute) for attribute in found},
        "required": [attribute.name for attribute in found if attribute.required],
        "additionalProperties": False,
    }


def text(record: type[Record]) -> str:
    """The document as its file holds it."""
    return json.dumps(document(record), indent=2) + "\n"
