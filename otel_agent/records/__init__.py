"""The vocabulary: every fact this project can state, and nothing else.

From these models are generated the log record schemas, the registry, the attribute reference, the allow-lists of all guards and the
name constants (``make generate``). To add a fact, add a field here.
"""

from __future__ import annotations

from typing import Final

from otel_agent.records.events import Feedback, Retrieval, TextStep
from otel_agent.records.fact import Fact, Record
from otel_agent.records.run import AgentRun, InRun, RunStarted
from otel_agent.records.tool import ToolExecution
from otel_agent.records.turn import ModelTurn

RECORDS: Final[tuple[type[Record], ...]] = (ModelTurn, ToolExecution, AgentRun, RunStarted, Retrieval, Feedback, TextStep)


def facts(record: type[Record]) -> dict[str, Fact]:
    """Field name to :class:`Fact`, in order of declaration. Raises ``TypeError`` for a field that has none."""
    found: dict[str, Fact] = {}
    for name, field in record.model_fields.items():
        fact = next((item for item in field.metadata if isinstance(item, Fact)), None)
        if fact is None:
            raise TypeError(f"{record.__name__}.{name} has no Fact")
        found[name] = fact
    return found


__all__ = [
    "RECORDS", "AgentRun", "Fact", "Feedback", "InRun", "ModelTurn", "Record", "Retrieval", "RunStarted", "TextStep",
    "ToolExecution", "facts",
]  # fmt: skip
