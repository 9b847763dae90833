"""What a spec accepts, and that an allow-list is read whole or not at all."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from otel_agent import allowlist
from otel_agent.records import RECORDS, facts
from otel_agent.records.metrics import METRICS

SAMPLE = json.loads((Path(__file__).parent / "data" / "allowlist.json").read_text())

ACCEPTED = {
    "sample.word": ["yes", "no"],
    "sample.name": ["a", "z" * 256],
    "sample.count": [0, -5, 2**63 - 1],
    "sample.share": [0.5, 3, -1e300],
    "sample.flag": [True, False],
    "sample.names": [[], ["a"], ("a", "b", "c")],
}
REFUSED: dict[str, list[Any]] = {
    "sample.word": ["maybe", "", "YES", 1, None, ["yes"]],
    "sample.name": ["", "A", "a\n", "a b", "z" * 257, "é", b"a", 5],
    "sample.count": [True, 1.0, "1", 2**63, None],
    "sample.share": [math.nan, math.inf, True, "0.5", 2**70],
    "sample.flag": [0, 1, "true"],
    "sample.names": [["a", "b", "c", "d"], ["A"], "abc", [1], ["a", None], {"a": 1}],
}


@pytest.fixture(scope="module")
def checks() -> allowlist.Checks:
    return allowlist.parse(SAMPLE).own.span


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in ACCEPTED.items() for value in values])
def test_a_fitting_value_is_accepted_each_time(checks: allowlist.Checks, key: str, value: Any) -> None:
    """The same answer from the pattern and from memory."""
    assert checks[key](value)
    assert checks[key](value)


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in REFUSED.items() for value in values])
def test_any_other_value_is_refused_each_time(checks: allowlist.Checks, key: str, value: Any) -> None:
    """Also a value that equals an accepted one but is of another type."""
    for accepted in ACCEPTED[key]:
        checks[key](accepted)
    assert not checks[key](value)
    assert not checks[key](value)


def test_memory_of_a_pattern_is_bounded() -> None:
    """Identifiers are new each time: what passed is remembered up to a bound."""
    fits = allowlist.matcher(r"^[0-9]+$")
    assert all(fits(str(number)) for number in range(3 * allowlist.CACHE_SIZE))
    [passed] = [cell.cell_contents for cell in fits.__closure__ or () if isinstance(cell.cell_contents, set)]
    assert len(passed) <= allowlist.CACHE_SIZE


@pytest.mark.parametrize("change", [
    {"version": 2},
    {"own": {**SAMPLE["own"], "span": {"name": "^x$", "attributes": {"a": {"type": "text"}}}}},
    {"own": {**SAMPLE["own"], "span": {"name": "^x$", "attributes": {"a": {"type": "string"}}}}},
    {"own": {**SAMPLE["own"], "span": {"name": "(", "attributes": {}}}},
    {"foreign": {}},
])  # fmt: skip
def test_a_list_of_unknown_shape_is_refused_whole(change: dict[str, Any]) -> None:
    """A rule that cannot be read must not become no rule."""
    with pytest.raises((ValueError, KeyError, re.error)):
        allowlist.parse({**SAMPLE, **change})


def test_the_shipped_list_is_readable() -> None:
    """The generated file compiles, and knows every event and metric of the records."""
    shipped = allowlist.load()
    assert all(shipped.own.event_name(record.event_name) for record in RECORDS)
    assert all(shipped.own.metric_name(metric.name) for metric in METRICS)
    assert all(fact.name in shipped.own.log for record in RECORDS for fact in facts(record).values())
