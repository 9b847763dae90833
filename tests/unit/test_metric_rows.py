"""The table from records to metric points."""

from __future__ import annotations

import pytest

from otel_agent.emit.metrics import OLDER_ROWS, ROWS, Row
from otel_agent.records import RECORDS, ModelTurn, Record
from otel_agent.records.metrics import METRICS, OLDER


@pytest.mark.parametrize("record", RECORDS)
def test_every_record_has_points_and_they_are_of_its_own_facts(record: type[Record]) -> None:
    """A row that names a field the record does not have would fail at the first record of its kind."""
    assert ROWS[record]
    assert {row.field for row in ROWS[record]} <= set(record.model_fields)


@pytest.mark.parametrize("row", OLDER_ROWS, ids=str)
def test_the_older_names_are_of_facts_of_a_turn(row: Row) -> None:
    """The same for the older names."""
    assert row.field in ModelTurn.model_fields
    assert row.metric in {metric.name for metric in OLDER}


def test_every_metric_has_a_row() -> None:
    """Only the counter of our own events is read by a callback instead."""
    named = {row.metric for rows in ROWS.values() for row in rows}
    assert {metric.name for metric in METRICS} - named == {"otel_agent.self.events"}
