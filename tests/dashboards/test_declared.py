"""Every metric, label and closed value in queries and rules is declared by the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards import names, promql
from dashboards import queries as q
from dashboards.build import HERE
from dashboards.meaning import Where
from otel_agent import semconv as s
from otel_agent.records import RECORDS, facts
from tests.dashboards.conftest import expressions, panels, queries
from tests.dashboards.vocabulary import LABELS, undeclared

STORE_FIELDS = {"_time", "event_name", "trace_id", "span_id", "service.name", "first", "began", "ended"}


def test_panels_name_only_what_is_declared(resources: Mapping[str, Any]) -> None:
    """No query of a board asks for a name that nothing emits."""
    assert [] == [(where, odd) for where, expr in expressions(resources) if (odd := undeclared(expr))]


def test_rules_name_only_what_is_declared(rules: list[Mapping[str, Any]]) -> None:
    """No rule either."""
    assert [] == [(rule.get("record", rule.get("alert")), odd) for rule in rules if (odd := undeclared(rule["expr"]))]


def series(file: Path) -> Iterator[str]:
    for test in yaml.safe_load(file.read_text())["tests"]:
        yield from (entry["series"] for entry in test["input_series"])


@pytest.mark.parametrize("file", sorted((HERE / "rules" / "tests").glob("*.yml")), ids=lambda file: file.stem)
def test_rule_tests_feed_only_what_is_declared(file: Path) -> None:
    """A rule test that feeds a name nothing emits would prove nothing."""
    odd = [(entry, found) for entry in series(file) if (found := _undeclared_series(entry))]
    assert [] == odd


def _undeclared_series(entry: str) -> list[str]:
    stem = entry.partition("{")[0]
    if stem.startswith("otelcol"):
        known = [name for name in names.PIPELINE if stem in (name, f"{name}_total", f"{name}_seconds_total")]
        return [] if known else [stem]
    return undeclared(entry)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("otel_agent_turns_total", "otel_agent_turn_total"),
        ("otel_agent_turns_total", "otel_agent_turns"),
        ("otel_agent_response_truncated", "otel_agent_truncated"),
        ('"true"', '"yes"'),
        ("gen_ai_agent_name", "agent"),
        ("otel_agent:truncated:whole", "otel_agent:truncation:whole"),
    ],
)
def test_a_wrong_name_is_caught(rules: list[Mapping[str, Any]], good: str, bad: str) -> None:
    """Each kind of slip in a rule that is right today is found."""
    expr = next(rule["expr"] for rule in rules if rule.get("record") == "otel_agent:truncated:part")
    assert [] == undeclared(expr)
    assert good in expr
    assert undeclared(expr.replace(good, bad))


@pytest.mark.parametrize(
    "slip",
    [
        lambda: names.series("otel_agent.turn"),
        lambda: names.series(s.METRIC_OTEL_AGENT_TURNS, "count"),
        lambda: promql.selector(s.METRIC_OTEL_AGENT_TURNS, (Where(s.GEN_AI_TOOL_NAME, any_of=("x",)),)),
        lambda: promql.selector(s.METRIC_OTEL_AGENT_RUNS, (Where(s.OTEL_AGENT_RUN_END_REASON, any_of=("finished",)),)),
        lambda: q.per_minute(s.METRIC_OTEL_AGENT_RUNS, (s.GEN_AI_REQUEST_MODEL,)),
    ],
)
def test_the_builders_refuse_what_is_not_declared(slip: Any) -> None:
    """A slip in the code never reaches a file."""
    with pytest.raises(ValueError):
        slip()


def test_log_queries_name_only_facts_of_the_records(resources: Mapping[str, Any]) -> None:
    """Fields of the Run board are attribute names of the records, or the log store's own."""
    known = {fact.name for record in RECORDS for fact in facts(record).values()} | STORE_FIELDS
    events = {record.event_name for record in RECORDS}
    for panel in panels(resources["json/run.json"]):
        for query in queries(panel):
            expr = query["spec"].get("expr")
            if expr:
                fields = expr.rpartition("| fields ")[2].split(", ")
                assert set(fields) <= known, panel["title"]
                assert {part for part in expr.split('"')[1::2] if part.startswith("otel_agent.")} <= events, panel["title"]


def test_every_metric_is_shown_or_watched(resources: Mapping[str, Any], rules: list[Mapping[str, Any]]) -> None:
    """Metric points are dear: one that no board and no rule reads should not be emitted. Retrievals are read in traces."""
    text = "\n".join([expr for _, expr in expressions(resources)] + [rule["expr"] for rule in rules])
    unread = {metric for metric in LABELS if metric not in names.PIPELINE and metric.rpartition("_")[0] not in text}
    assert {name for name in unread if not name.startswith("gen_ai_retrieval_duration")} == set()
