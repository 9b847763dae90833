"""``Fact``: what a record field is called outside, and what it means. ``Record``: the base of all records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

CONVENTIONS = "https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0"


@dataclass(frozen=True, slots=True)
class Fact:
    """Name and meaning of one field.

    ``name``: the attribute's name on spans and log records. ``brief``: one sentence, with the unit and with what absence means where
    that is not plain. ``start``: known before the call, so set when the span starts, where a sampler can see it.
    """

    name: str
    brief: str
    start: bool = False


class Record(BaseModel):
    """A frozen, typed, prose-free statement of fact. Every subclass names its event; fields carry a :class:`Fact`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())

    event_name: ClassVar[str]
    """Name of the log record that carries it."""
    span_operation: ClassVar[str | None] = None
    """Operation whose span carries it, or ``None`` when the record is an event only."""
