"""Verdicts on arguments: right, or skipped; and never at the cost of the caller's time, or of running the caller's code."""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import Any, NoReturn

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_agent import guard
from otel_agent.instrument.quiet import Array, Object, Text
from otel_agent.instrument.validation import MAX_ERRORS, MAX_SCHEMA, MAX_VALUES, Validator, Verdict

PASSED, SKIPPED = Verdict("passed"), Verdict("skipped")
DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-03/schema#",
)
EXPLODES, LONG_RUN = "(a+)+$", "a" * 60 + "b"


def failed(errors: int = 1) -> Verdict:
    return Verdict("failed", errors)


def verdict(schema: Any, arguments: Any) -> Verdict:
    """Under the loud guard: none of these is a failure of ours."""
    with guard.loud():
        return Validator(schema).check(arguments)


def numbered(cases: list[Any]) -> list[str]:
    """Ids for cases that are too long, or too touchy, to be quoted."""
    return [str(at) for at in range(len(cases))]


@pytest.fixture
def no_engine_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library finds no ``re`` to match with."""
    for module in ("_keywords", "_legacy_keywords", "_utils"):
        monkeypatch.setattr(sys.modules[f"jsonschema.{module}"], "re", None)


ENDLESS = [
    ({"properties": {"a": {"pattern": EXPLODES}}}, {"a": LONG_RUN}, failed()),
    ({"patternProperties": {EXPLODES: False}}, {LONG_RUN: 1}, PASSED),
    ({"patternProperties": {EXPLODES: {}}, "additionalProperties": False}, {LONG_RUN: 1}, failed()),
    ({"propertyNames": {"pattern": EXPLODES}}, {LONG_RUN: 1}, failed()),
    ({"items": {"not": {"anyOf": [{"pattern": EXPLODES}]}}}, [LONG_RUN], PASSED),
    ({"patternProperties": {EXPLODES: {}}, "unevaluatedProperties": False}, {LONG_RUN: 1}, SKIPPED),
    ({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"pattern": EXPLODES}}}, LONG_RUN, failed()),
]


@pytest.mark.parametrize(("schema", "arguments", "expected"), ENDLESS)
@pytest.mark.parametrize("draft", [None, *DRAFTS[:2]])
def test_a_pattern_that_explodes(schema: dict[str, Any], arguments: Any, expected: Verdict, draft: str | None) -> None:
    """Python's engine would need years for each of these texts of 61 characters."""
    assert verdict(schema if draft is None else {"$schema": draft, **schema}, arguments) == expected


@pytest.mark.parametrize("draft", DRAFTS)
def test_no_dialect_matches_with_python(draft: str, no_engine_of_python: None) -> None:
    inner = {"$schema": draft, "patternProperties": {"^a": {"pattern": "b"}}, "additionalProperties": False}
    schema = {"$schema": DRAFTS[0], "properties": {"x": inner, "y": {"$schema": DRAFTS[2], "items": inner}}}
    assert verdict(inner, {"a": "b"}) == PASSED
    assert verdict(inner, {"a": "c", "c": 1}) == failed(2)
    assert verdict(schema, {"x": {"a": "c"}, "y": [{"a": "c"}, {"a": "b"}]}) == failed(2)


def test_a_format_is_a_note(no_engine_of_python: None) -> None:
    """``format`` checks nothing, ``regex`` least of all."""
    assert verdict({"properties": {"a": {"format": "regex"}, "b": {"format": "date"}}}, {"a": "(", "b": "x"}) == PASSED


REFUSED = {"properties": {"a": {"pattern": "^(?=x)"}, "b": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        (REFUSED, {"a": "x"}, SKIPPED),
        (REFUSED, {"a": "y", "b": 1}, SKIPPED),
        (REFUSED, {"b": 1, "a": "y"}, SKIPPED),
        (REFUSED, {"b": "y"}, PASSED),
        (REFUSED, {"a": 1}, PASSED),
        ({"patternProperties": {"^(?=x)": {}}}, {"a": 1}, SKIPPED),
        ({"patternProperties": {"^(?=x)": {}}, "additionalProperties": False}, {"a": 1}, SKIPPED),
        ({"pattern": "^.$"}, "\ud800", SKIPPED),
    ],
)
def test_a_pattern_that_is_refused(schema: Any, arguments: Any, expected: Verdict) -> None:
    """Where it would have to be matched there is no verdict: neither passed by omission nor failed."""
    assert verdict(schema, arguments) == expected


def test_arguments_called_as_keywords_are() -> None:
    """A tool that searches has an argument named ``pattern``: a schema, not a pattern."""
    schema = {"properties": {"pattern": {"type": "string"}, "patternProperties": {"type": "integer"}, "$ref": {"type": "string"}}}
    assert verdict(schema, {"pattern": "(?=x)", "patternProperties": 1, "$ref": "x"}) == PASSED
    assert verdict(schema, {"pattern": 1, "patternProperties": "1", "$ref": 1}) == failed(3)


def test_a_pattern_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    keywords = sys.modules["otel_agent.instrument.keywords"]
    real = keywords.matcher
    monkeypatch.setattr(keywords, "matcher", lambda pattern: (made.append(pattern), real(pattern))[1])
    validator = Validator({"items": {"pattern": "^a"}})
    assert [validator.check(["a", "ab"]), validator.check(["b"])] == [PASSED, failed()]
    assert made == ["^a"]


# Bounds

ITSELF: dict[str, Any] = {"properties": {}}
ITSELF["properties"]["a"] = ITSELF
CYCLE: list[Any] = []
CYCLE.append(CYCLE)


def nested(levels: int, inner: Any, name: str = "items") -> Any:
    for _ in range(levels):
        inner = {name: inner}
    return inner


def doubled(levels: int, keyword: str = "anyOf") -> dict[str, Any]:
    """Two references at each level to the one below: two to the power of ``levels`` ways."""
    steps = {f"s{at}": {keyword: [{"$ref": f"#/$defs/s{at + 1}"}] * 2} for at in range(levels)}
    return {"$ref": "#/$defs/s0", "$defs": {**steps, f"s{levels}": {"type": "string"}}}


def depending(levels: int) -> dict[str, Any]:
    steps = {f"s{at}": {"dependentSchemas": {name: {"$ref": f"#/$defs/s{at + 1}"} for name in "ab"}} for at in range(levels)}
    return {"$ref": "#/$defs/s0", "unevaluatedProperties": False, "$defs": {**steps, f"s{levels}": {}}}


COSTLY = [
    ({"$ref": "#"}, {}),
    ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {}),
    ({"$ref": "#", "unevaluatedProperties": False}, {"a": 1}),
    ({"$dynamicRef": "#"}, {}),
    ({"$schema": DRAFTS[1], "$recursiveRef": "#"}, {}),
    ({"$schema": DRAFTS[2], "not": {"$ref": "#"}}, {}),
    (ITSELF, {}),
    (nested(10_000, {}), []),
    (nested(100, {}), nested(100, 1)),
    (doubled(40), 1),
    (doubled(40, "oneOf"), 1),
    (depending(40), {"a": 1, "b": 2}),
    ({"items": {"anyOf": [{"items": {}}] * 1000}}, [[1] * 20] * 100),
    ({"items": {"enum": [*range(10_000)]}}, ["a"] * 1000),
    ({"items": {"not": {"required": [f"a{at}" for at in range(10_000)]}}}, [{}] * 1000),
    ({"items": {"anyOf": [{"dependentRequired": {"a": [f"a{at}" for at in range(10_000)]}}, {}]}}, [{"a": 1}] * 1000),
    ({"items": {"pattern": "(a{1,90}){1,90}x"}}, ["a" * 4000] * 1000),
    ({"unevaluatedItems": False}, [1] * 2000),
    ({"properties": {f"a{at}": {} for at in range(MAX_SCHEMA)}}, {}),
    ({}, {"a": [1] * MAX_VALUES}),
    ({}, {f"a{at}": 1 for at in range(1_000_000)}),
    ({}, {"a": CYCLE}),
    ({}, {"a" * 1_000_000: 1}),
    ({"properties": {"a": {"multipleOf": 3}}}, {"a": 10**1_000_000}),
    ({"properties": {"a": {"multipleOf": 10**1_000_000}}}, {"a": 3}),
    ({"properties": {"a": {"pattern": "a"}}}, {"a": "b" * 50_000_000}),
]


@pytest.mark.parametrize(("schema", "arguments"), COSTLY, ids=numbered(COSTLY))
def test_what_would_cost_too_much_is_skipped(schema: Any, arguments: Any) -> None:
    assert verdict(schema, arguments) == SKIPPED


MODEST = [
    ({"properties": {"a": {"$ref": "#"}}, "required": ["b"]}, nested(20, {"b": 1}, "a"), failed(20)),
    ({"$defs": {"tree": {"properties": {"a": {"$ref": "#/$defs/tree"}}}}, "$ref": "#/$defs/tree"}, nested(60, {}, "a"), PASSED),
    ({"items": {"$ref": "#leaf"}, "$defs": {"leaf": {"$anchor": "leaf", "type": "string"}}}, ["a", 1], failed()),
    ({"items": {"enum": [f"value{at}" for at in range(500)]}}, ["value499"] * 90, PASSED),
    ({"uniqueItems": True}, [{"a": at} for at in range(600)], PASSED),
    ({"uniqueItems": True}, [*({"a": [at]} for at in range(600)), {"a": [3.0]}], failed()),
    ({"uniqueItems": True}, [1, True, 0, False, [1], [True], "1", None, {}, []], PASSED),
    ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1}], failed()),
    ({"items": {"type": "integer"}}, ["a"] * 2000, failed(MAX_ERRORS)),
    ({"properties": {"a": {"type": "integer", "maximum": 2**63 - 1}}}, {"a": 2**63}, failed()),
    ({"properties": {"a": {"maxLength": 5000, "const": "a"}}}, {"a": "a" * 5001}, failed(2)),
    ({"const": "a" * 5000}, "a" * 5000, PASSED),
    ({"enum": ["a", "b" * 5000]}, "b" * 5000, PASSED),
    ({"uniqueItems": True}, ["b" * 5000, "b" * 5000], failed()),
    ({"pattern": "^b+$"}, "b" * 50_000, PASSED),
    ({"anyOf": [{"type": "integer"}] * 50}, "b" * 50_000_000, failed()),
]


@pytest.mark.parametrize(("schema", "arguments", "expected"), MODEST, ids=numbered(MODEST))
def test_what_is_modest_is_judged(schema: Any, arguments: Any, expected: Verdict) -> None:
    assert verdict(schema, arguments) == expected


def test_a_stack_that_is_nearly_used_up() -> None:
    """The library's maps are written in Rust and panic there, which no ``except Exception`` holds: the host's call would fail."""
    validator = Validator({"properties": {"a": {"$ref": "#/$defs/a"}}, "unevaluatedProperties": False, "$defs": {"a": {"type": "string"}}})

    def deeper(checks: list[Verdict]) -> None:
        checks.append(validator.check({"a": "b"}))
        try:
            deeper(checks)
        except RecursionError:
            return

    checks: list[Verdict] = []
    deeper(checks)
    assert set(checks) == {PASSED, SKIPPED}
    assert checks == sorted(checks)


# The caller's own objects


class Untouchable:
    """Nothing of it may be asked."""

    def _asked(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise AssertionError("asked")

    __eq__ = __hash__ = __len__ = __iter__ = __getattr__ = __repr__ = __str__ = __bool__ = __contains__ = _asked  # type: ignore[assignment]
    __getitem__ = __lt__ = __int__ = __index__ = keys = items = values = _asked

    @property
    def __class__(self) -> Any:
        raise AssertionError("asked")


class UntouchableText(Untouchable, str):
    __slots__ = ()


class UntouchableObject(Untouchable, dict):  # type: ignore[type-arg]
    pass


class UntouchableList(Untouchable, list):  # type: ignore[type-arg]
    pass


class Colour(StrEnum):
    RED = "red"


@dataclass
class Line:
    sku: str
    day: date


OBJECTS = [
    ({"items": {"enum": ["a"]}, "uniqueItems": True}, [Untouchable()], SKIPPED),
    ({"items": {"type": "string", "minLength": 2}}, [str.__new__(UntouchableText, "a")], failed()),
    ({"items": {"type": "string"}, "uniqueItems": True}, UntouchableList("ab"), PASSED),
    ({"type": "object", "maxProperties": 0}, UntouchableObject(a=1), failed()),
    ({"items": {"type": "string"}}, ("a", "b"), PASSED),
    ({"items": {"type": "string"}}, ("a", 1), failed()),
    ({"type": "object"}, OrderedDict(a=1), PASSED),
    ({"properties": {"colour": {"enum": ["red"]}}}, {"colour": Colour.RED}, PASSED),
    ({"type": "object", "properties": {"day": {"type": "string", "pattern": "^2024-"}}}, Line("x", date(2024, 1, 2)), PASSED),
    ({"type": "object", "properties": {"day": {"type": "integer"}}}, Line("x", date(2024, 1, 2)), failed()),
    ({}, MappingProxyType({"a": 1}), SKIPPED),
    ({}, {1: 2}, SKIPPED),
    ({}, {"a": float("nan")}, SKIPPED),
    ({}, {"a": float("inf")}, SKIPPED),
    ({}, iter([1]), SKIPPED),
    ({}, None, PASSED),
]


@pytest.mark.parametrize(("schema", "arguments", "expected"), OBJECTS, ids=numbered(OBJECTS))
def test_objects_of_the_caller(schema: Any, arguments: Any, expected: Verdict) -> None:
    """What JSON has a form for is judged in that form; the rest is not judged, and none of its methods is called."""
    assert verdict(schema, arguments) == expected


def test_what_a_schema_may_be() -> None:
    """Any mapping, read once; one that holds what is no JSON leaves its tool without a verdict."""
    schema = {"required": ("a",), "properties": {"a": {"type": ("string", "null"), "enum": [Colour.RED, None]}}}
    validator = Validator(MappingProxyType(schema))
    schema["required"] = ("b",)
    assert [validator.check({"a": "red"}), validator.check({"a": None}), validator.check({"a": 1})] == [PASSED, PASSED, failed(2)]
    assert verdict({"properties": {"a": object()}}, {}) == SKIPPED
    with pytest.raises(TypeError, match="mapping, not list"):
        Validator(["a"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5}, {"properties": 5}, {"properties": {"a": {"type": "strng"}}}, {"properties": {"a": {"minimum": "x"}}}, {"$ref": 5},
        {"enum": 5}, {"allOf": 5}, {"properties": {"a": 7}}, {"$schema": "http://json-schema.org/draft-07/schema#", "type": 5},
    ],
)  # fmt: skip
def test_a_schema_that_is_none_gives_no_verdict(schema: dict[str, Any]) -> None:
    """A mistake of whoever wrote it, and no failure of ours: those are raised here."""
    assert verdict(schema, {"a": 4}) == SKIPPED


def test_nothing_is_quoted() -> None:
    """What the library writes into its messages costs nothing: no text of the caller's is in it."""
    assert [repr(Object(a=1)), repr(Array("ab")), repr(Text("a")), str(Text("a"))] == ["{}", "[]", "''", ""]


# The library itself says the same

NAMES = st.sampled_from(["a", "b", "ab", "x1"])
SCALARS = st.sampled_from([0, 1, 1.0, 2, -1, 1.5, True, False, None, "", "a", "ab", "b1", 2**70])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)
PATTERNS = st.sampled_from(["^a", "b$", "[0-9]", "^[a-c]+$", "x|y"])
FLAT = {
    "type": st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", ["string", "null"]]),
    "const": VALUES, "enum": st.lists(VALUES, min_size=1, max_size=3), "pattern": PATTERNS, "minimum": st.just(1),
    "maxLength": st.just(1), "minItems": st.just(2), "maxProperties": st.just(1), "multipleOf": st.sampled_from([2, 0.5]),
    "uniqueItems": st.booleans(), "required": st.lists(NAMES, max_size=2), "$ref": st.sampled_from(["#/$defs/d", "#/$defs/e"]),
    "dependentRequired": st.just({"a": ["b"]}),
}  # fmt: skip


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists, named = st.lists(inner, min_size=1, max_size=2), st.dictionaries(NAMES, inner, max_size=2)
    more = {
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), lists),
        **dict.fromkeys(("properties", "dependentSchemas"), named),
        **dict.fromkeys(("items", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames"), inner),
        **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), inner),
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
    }
    return st.fixed_dictionaries({}, optional={**FLAT, **more})


SCHEMAS = st.recursive(st.booleans() | st.fixed_dictionaries({}, optional=FLAT), _keywords, max_leaves=6).filter(
    lambda made: type(made) is dict
)


@settings(max_examples=100, deadline=None)
@given(schema=SCHEMAS, draft=st.sampled_from([None, *DRAFTS[:3]]), value=VALUES)
def test_verdicts_are_those_of_the_library(schema: dict[str, Any], draft: str | None, value: Any) -> None:
    """Our limits and our keywords change none of its counts."""
    whole = {**schema, "$defs": {"d": {"type": "string", "pattern": "^a"}, "e": {"properties": {"a": {"minimum": 1}}}}}
    if draft is not None:
        whole["$schema"] = draft
    found = verdict(whole, value)
    if "patternProperties" in repr(schema) and re.search("unevaluated(Items|Properties)", repr(schema)):
        return
    expected = sum(1 for _ in islice(jsonschema.validators.validator_for(whole)(whole).iter_errors(value), MAX_ERRORS))
    assert found == (failed(expected) if expected else PASSED)
