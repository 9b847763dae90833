"""Records with every fact filled in, made from their schema: what a fact may be is what the specimen is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from otel_agent.fields import DIGEST, ERROR, HOST, IDENTIFIER, MODEL, TOOL, WORD
from otel_agent.records import Record, facts
from schema.names import RESOURCE
from schema.shapes import Attribute, Shape, attributes

EXAMPLES: Final = {
    DIGEST: "hmac-sha256:test:" + "0123456789abcdef" * 4,
    ERROR: "RateLimitError",
    HOST: "api.anthropic.com",
    IDENTIFIER: "resp_0a1b2c",
    MODEL: "claude-sonnet-4-5-20250929",
    TOOL: "issue_refund",
    WORD: "high",
}
"""A string for each pattern that a record may use."""


def _one(shape: Shape, turn: int) -> Any:
    if shape.values:
        return shape.values[turn % len(shape.values)]
    return {"int": 3, "double": 0.5, "bool": turn % 2 == 0}.get(shape.type) if not shape.pattern else EXAMPLES[shape.pattern]


def value(attribute: Attribute, turn: int) -> Any:
    """A value of this attribute; closed sets are gone through by ``turn``."""
    one = _one(attribute.shape, turn)
    return (one, one) if attribute.shape.type == "string[]" else one


def specimen(record: type[Record], turn: int = 0) -> Record:
    """A record that has every fact."""
    filled = {field: value(attribute, turn) for field, attribute in zip(facts(record), attributes(record), strict=True)}
    return record.model_validate(filled)


def specimens(record: type[Record]) -> Iterator[Record]:
    """As many records as it takes to show each value of each closed set."""
    for turn in range(max(len(attribute.shape.values) for attribute in attributes(record))):
        yield specimen(record, turn)


def resource() -> dict[str, str]:
    """Every attribute that a resource may have."""
    return {
        name: shape.values[0] if shape.values else "1.0.0" if "version" in name else "checkout" for name, (_, shape) in RESOURCE.items()
    }
