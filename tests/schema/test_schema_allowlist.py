"""The allow-list holds together, and what it lets through is no prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from otel_agent.records import RECORDS, facts
from otel_agent.records.metrics import METRICS, OLDER
from schema import allowlist
from schema.shapes import SPAN_RECORDS

LIST = allowlist.document()
TYPES = {"string", "string[]", "int", "double", "bool"}
NOT_IN_RE2 = re.compile(r"\(\?[=!<P#]|\\[1-9ZA]|\\b|[*+?}]\+")
"""Look-around, named groups, comments, back references, other anchors, possessive repeats."""
CONTENT = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result", "gen_ai.tool.definitions", "gen_ai.tool.description", "gen_ai.agent.description",
    "gen_ai.retrieval.documents", "gen_ai.retrieval.query.text", "gen_ai.request.stop_sequences",
    "gen_ai.evaluation.explanation", "gen_ai.prompt", "gen_ai.completion", "gen_ai.memory.records",
    "anthropic.tool_result.content", "exception.message", "exception.stacktrace", "mcp.resource.uri", "url.full",
    "url.path", "url.query", "db.query.text", "db.statement", "user_agent.original", "input.value", "output.value",
    "traceloop.entity.input", "traceloop.entity.output", "llm.input_messages", "process.command",
    "process.command_line", "process.command_args", "process.executable.path", "process.owner", "client.address",
    "user.id", "enduser.id",
)  # fmt: skip


def sections() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every table of attributes, with its place."""
    yield "resource", LIST["resource"]["attributes"]
    for whose in ("own", "foreign"):
        for signal in ("span", "log", "metric"):
            yield f"{whose}.{signal}", LIST[whose][signal]["attributes"]


SPECS = [(f"{place}:{key}", spec) for place, table in sections() for key, spec in table.items()]
PATTERNS = sorted({
    spec["pattern"] for _, spec in SPECS if "pattern" in spec
} | {LIST["scopes"]["foreign_pattern"], LIST["foreign"]["metric"]["name"], LIST["own"]["span"]["name"]})  # fmt: skip


@pytest.mark.parametrize(("place", "spec"), SPECS, ids=[place for place, _ in SPECS])
def test_every_spec_bounds_its_strings(place: str, spec: dict[str, Any]) -> None:
    """A string has a closed set or a pattern, a list has a length, and nothing else has either."""
    assert spec["type"] in TYPES
    text = spec["type"].startswith("string")
    assert ("pattern" in spec) + ("enum" in spec) == text, place
    assert ("max_items" in spec) == (spec["type"] == "string[]")
    assert len(set(spec.get("enum", ()))) == len(spec.get("enum", ()))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_is_anchored_and_common_to_both_engines(pattern: str) -> None:
    """One list serves a Python and a Go guard: what only one of them understands has no place in it."""
    re.compile(pattern)
    assert pattern.startswith("^")
    assert pattern.endswith("$")
    assert not NOT_IN_RE2.search(pattern)
    repeats = [int(high) for high in re.findall(r"\{\d+,(\d+)\}", pattern)]
    assert max(repeats, default=0) <= 1000


@pytest.mark.parametrize("key", CONTENT)
def test_keys_that_carry_content_are_listed_nowhere(key: str) -> None:
    """Not for our scope, not for another, not on the resource."""
    assert [place for place, table in sections() if key in table] == []


def test_what_is_listed_for_our_scope_is_what_the_records_say() -> None:
    """No more and no less."""
    spans = {fact.name for record in SPAN_RECORDS for fact in facts(record).values()}
    logs = {fact.name for record in RECORDS for fact in facts(record).values()}
    assert set(LIST["own"]["span"]["attributes"]) == spans
    assert set(LIST["own"]["log"]["attributes"]) == logs
    assert LIST["own"]["log"]["event_names"] == [record.event_name for record in RECORDS]
    assert LIST["own"]["metric"]["names"] == [metric.name for metric in (*METRICS, *OLDER)] == list(LIST["metric_text"])


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("chat claude-sonnet-4-5", True),
        ("chat", True),
        ("retrieval", True),
        ("execute_tool issue_refund", True),
        ("invoke_agent support", True),
        ("embeddings text-embedding-3-small", True),
        ("retrieval of the customer", False),
        ("chat the customer is angry", False),
        ("think about it", False),
        ("chat ", False),
        ("", False),
    ],
)
def test_span_names_are_an_operation_and_one_name(name: str, fits: bool) -> None:
    """The one string with a space in it has exactly one, after a word of a closed set."""
    assert bool(re.fullmatch(LIST["own"]["span"]["name"], name)) is fits


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        ("opentelemetry.instrumentation.httpx", True),
        ("io.opentelemetry.okhttp-3.0", True),
        ("com.anthropic.sdk.python", True),
        ("mcp-python-sdk", True),
        ("openinference.instrumentation.langchain", True),
        ("@opentelemetry/instrumentation-http", True),
        ("my_app.orders", False),
        ("opentelemetry the user wants a refund", False),
        ("opentelemetrythinking", False),
        ("", False),
    ],
)
def test_only_known_families_of_instrumentations_keep_their_scope_name(scope: str, kept: bool) -> None:
    """A scope's name is set by anybody's code."""
    assert bool(re.fullmatch(LIST["scopes"]["foreign_pattern"], scope)) is kept
