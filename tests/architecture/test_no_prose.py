"""The first wall: no field of any record can hold prose, so no thinking text can be stored in one."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import pytest
from prose import MAX_LENGTH, SENTENCES, pattern_faults, schema_faults
from pydantic import ConfigDict, StringConstraints, ValidationError

from otel_agent.fields import Identifiers, ToolName
from otel_agent.records import RECORDS, Fact, Record, facts
from schema import allowlist, documents, names

FACT = Fact("otel_agent.mutant", "A field that must not pass.")


def patterned(pattern: str) -> Any:
    """A string field with this pattern and no other bound."""
    return Annotated[str, StringConstraints(pattern=pattern)]


def mutant(annotation: Any) -> type[Record]:
    """A record with one more field of this type."""
    members = {
        "__annotations__": {"note": Annotated[annotation, FACT]},
        "__module__": __name__,
        "event_name": "otel_agent.mutant",
    }
    return type("Mutant", (Record,), members)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.event_name)
def test_no_field_of_a_record_can_hold_prose(record: type[Record]) -> None:
    """Each string is a closed set, an identifier that fits a bounded pattern without white space, or a digest."""
    assert schema_faults(record.model_json_schema()) == []
    assert schema_faults(record.model_json_schema(mode="serialization")) == []
    assert schema_faults(documents.document(record)) == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.event_name)
def test_every_field_refuses_every_sentence(record: type[Record]) -> None:
    """The types do at run time what their schema promises: given alone or in a list, no sentence is taken."""
    for sentence in SENTENCES:
        for value in (sentence, (sentence,), [sentence], {"text": sentence}):
            assert refused(record, value) == set(record.model_fields), sentence


def refused(record: type[Record], value: Any) -> set[str]:
    """Fields that do not accept this value."""
    with pytest.raises(ValidationError) as caught:
        record.model_validate(dict.fromkeys(record.model_fields, value))
    return {str(error["loc"][0]) for error in caught.value.errors(include_url=False)}


def test_a_record_takes_no_undeclared_field_and_cannot_be_changed() -> None:
    """There is no door beside the fields."""
    for record in RECORDS:
        assert record.model_config["extra"] == "forbid"
        assert record.model_config["frozen"] is True
        assert set(facts(record)) == set(record.model_fields)


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (str, "free text"),
        (str | None, "free text"),
        (Any, "holds anything"),
        (object, "holds anything"),
        (dict[str, Any], "holds object"),
        (dict[str, str] | None, "holds object"),
        (dict[str, int], "holds object"),
        (bytes, "free text"),
        (ToolName | str, "free text"),
        (tuple[str, ...], "free text"),
        (list[Any], "holds anything"),
        (tuple[ToolName, ...], "array of any length"),
        (tuple[ToolName, str], "free text"),
        (list[Identifiers], "array of any length"),
        (Literal["short", "a whole sentence"], "closed set holds 'a whole sentence'"),
        (Literal["short", ""], "closed set holds ''"),
        (patterned(r".*"), "construct"),
        (patterned(r"^.*$"), "construct"),
        (patterned(r"^.{0,64}$"), "construct"),
        (patterned(r"^[^x]{0,64}$"), "construct"),
        (patterned(r"^[a-z ]{1,64}$"), "admits ' '"),
        (patterned(r"^[a-z]+ [a-z]+$"), "admits ' '"),
        (patterned(r"^[ -~]{1,64}$"), "admits ' '"),
        (patterned(r"^[a-z\s]{1,64}$"), "construct"),
        (patterned(r"^[a-z\n]{1,64}$"), r"admits '\n'"),
        (patterned(r"^\S{1,64}$"), "construct"),
        (patterned(r"^\w{1,64}$"), "construct"),
        (patterned(r"^[a-zà-ÿ]{1,64}$"), "admits 'à'"),
        (patterned(r"^[a-z]+$"), "unbounded"),
        (patterned(r"^[a-z]*$"), "unbounded"),
        (patterned(r"^([a-z]{1,64}){1,64}$"), "unbounded, or longer than 256"),
        (patterned(r"^[a-z]{1,257}$"), "longer than 256"),
        (patterned(r"[a-z]{1,64}"), "not anchored"),
        (patterned(r"^[a-z]{1,64}"), "not anchored"),
        (patterned(r"^[a-z]{1,64}$|.*"), "not anchored"),
        (patterned(r"^(a|.)$"), "construct"),
    ],
)
def test_a_field_that_could_hold_prose_is_caught(annotation: Any, reason: str) -> None:
    """The test above can fail: each way to let prose in is put into a record, and found."""
    faults = schema_faults(mutant(annotation).model_json_schema())
    assert faults
    assert any(reason in fault for fault in faults), faults


def test_a_record_that_takes_undeclared_fields_is_caught() -> None:
    """A model with an open door fails before any of its fields is looked at."""

    class Open(Record):
        event_name: ClassVar[str] = "otel_agent.open"
        model_config = ConfigDict(extra="allow")

    assert schema_faults(Open.model_json_schema()) == [": takes undeclared properties"]


def test_a_field_that_could_hold_prose_cannot_be_generated_either() -> None:
    """The generator refuses what the walls would have to hold back."""
    for annotation in (str, Any, dict[str, Any]):
        with pytest.raises(TypeError):
            documents.document(mutant(annotation))


def patterns(node: Any) -> set[str]:
    """Every pattern of the allow-list but that of our span names."""
    if isinstance(node, list):
        return set().union(*map(patterns, node))
    if not isinstance(node, dict):
        return set()
    here = {node["pattern"]} if isinstance(node.get("pattern"), str) else set()
    return here.union(*map(patterns, node.values()))


@pytest.mark.parametrize("pattern", sorted(patterns(allowlist.document())))
def test_no_pattern_of_the_allow_list_matches_prose(pattern: str) -> None:
    """What the guards let through from other scopes is held to the same rule."""
    assert pattern_faults(pattern) == []


def test_names_that_other_scopes_choose_match_no_prose() -> None:
    """Scopes and metrics of others."""
    document = allowlist.document()
    assert pattern_faults(document["scopes"]["foreign_pattern"]) == []
    assert pattern_faults(document["foreign"]["metric"]["name"]) == []


def test_our_span_names_have_one_space_after_a_word_of_a_closed_set() -> None:
    """The conventions put a space there; without it the pattern is like the others."""
    pattern = allowlist.span_name()
    assert pattern.count(" ") == pattern.count("( [")
    assert pattern_faults(pattern.replace("( [", "(:[")) == []


def test_the_resource_says_no_prose() -> None:
    """Its attributes are closed sets or patterns as well."""
    for name, (_, shape) in names.RESOURCE.items():
        assert shape.values or shape.pattern, name
    assert MAX_LENGTH == 256
