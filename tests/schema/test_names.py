"""Names agree with one another: constants, metrics, registries and record schemas."""

from __future__ import annotations

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from otel_agent import semconv
from otel_agent.records import RECORDS, Feedback, Record, facts
from otel_agent.records.metrics import METRIC_ONLY, METRICS, OLDER
from schema import constants, documents, names

CONSTANTS = {key: value for key, value in vars(semconv).items() if key.isupper()}
DOTTED = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


def test_every_fact_has_a_constant() -> None:
    """A name used by an emitter or a dashboard never has to be spelled again."""
    named = {fact.name for record in RECORDS for fact in facts(record).values()}
    assert named <= set(CONSTANTS.values())


def test_every_constant_is_spelled_from_its_name() -> None:
    """Whoever knows the name can guess the constant."""
    own = {"SCOPE_NAME": "otel_agent", "SCHEMA_URL": names.SCHEMA_URL}
    for key, value in CONSTANTS.items():
        bare = key.removeprefix("METRIC_").removeprefix("EVENT_")
        assert own.get(key) == value or constants.constant(value) == bare


def test_names_are_dotted_lower_case() -> None:
    """As the conventions spell them."""
    wrong = [name for name in names.own_attributes() if not DOTTED.fullmatch(name)]
    assert wrong == []


def test_no_attribute_is_the_beginning_of_another() -> None:
    """A name that is both a leaf and a branch cannot be kept by a store that nests attributes."""
    every = {*names.own_attributes(), *names.RESOURCE}
    assert [name for name in every if every.intersection(above(name))] == []


def above(name: str) -> list[str]:
    """The branches that a dotted name hangs on."""
    return [name[: dot.start()] for dot in re.finditer(r"\.", name)]


def test_every_metric_attribute_is_declared() -> None:
    """By a record or by ``METRIC_ONLY``; nothing declared there goes unused."""
    used = {name for metric in (*METRICS, *OLDER) for name in metric.attributes}
    assert set(names.metric_attributes()) == used
    assert set(METRIC_ONLY) <= used


def test_no_metric_attribute_is_unbounded() -> None:
    """Ids and digests belong on spans and log records: on a metric each value is a series for ever."""
    unbounded = re.compile(r"(digest|digests|\.id|_id|ids)$")
    assert [name for name in names.metric_attributes() if unbounded.search(name)] == ["gen_ai.data_source.id"]


def test_metric_names_are_unique_and_histograms_have_rising_edges() -> None:
    """One name, one instrument."""
    every = [metric.name for metric in (*METRICS, *OLDER)]
    assert len(every) == len(set(every))
    for metric in (*METRICS, *OLDER):
        assert (metric.kind == "histogram") == bool(metric.buckets), metric.name
        assert list(metric.buckets) == sorted(set(metric.buckets)), metric.name


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.event_name)
def test_the_record_schemas_are_valid_and_closed(record: type[Record]) -> None:
    """Each is valid JSON Schema 2020-12 and admits no attribute that the record does not have."""
    document = documents.document(record)
    Draft202012Validator.check_schema(document)
    assert document["additionalProperties"] is False
    assert list(document["properties"]) == [fact.name for fact in facts(record).values()]
    assert all(entry["description"] for entry in document["properties"].values())


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"gen_ai.response.id": "resp_1"}, True),
        ({"gen_ai.response.id": "two words"}, False),
        ({"otel_agent.feedback.kind": "pleased"}, False),
        ({"otel_agent.feedback.comment": "x"}, False),
        ({"otel_agent.feedback.rating": "0.5"}, False),
    ],
)
def test_a_record_schema_tells_right_from_wrong(change: dict[str, Any], valid: bool) -> None:
    """The document means what the record means."""
    line = {"otel_agent.feedback.kind": "rated", "otel_agent.feedback.source": "user"} | change
    assert Draft202012Validator(documents.document(Feedback)).is_valid(line) is valid
