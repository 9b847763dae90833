"""Budgets: which limits there can be, and when one is overdrawn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_agent.budget import NO_LIMIT, Budget, left, overdrawn
from otel_agent.fields import MAX_COUNT

NAMES = ("turns", "input_tokens", "output_tokens", "seconds", "tool_calls")
WHOLE = tuple(name for name in NAMES if name != "seconds")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [0, -1, True, "3", float("nan"), float("inf"), -0.5, MAX_COUNT + 1, 10**400])
def test_a_limit_that_is_none_is_refused(name: str, limit: Any) -> None:
    """With the name of it; one that no record can hold would end in an error, or in no record of it, when the run begins."""
    with pytest.raises(ValueError, match=f"budget {name} must be a positive .* or None for no limit"):
        Budget(**{name: limit})


@pytest.mark.parametrize("name", WHOLE)
def test_a_part_of_a_count_is_refused(name: str) -> None:
    """There is no half turn."""
    with pytest.raises(ValueError, match="whole number"):
        Budget(**{name: 1.5})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_is_overdrawn_by_one_more_and_not_by_all_of_it(name: str) -> None:
    """Exactly at the limit nothing has been taken beyond it."""
    budget = Budget(**{name: 7})
    spent: dict[str, Any] = dict.fromkeys(NAMES, 0)
    assert overdrawn(budget, **{**spent, name: 7}) is None
    assert overdrawn(budget, **{**spent, name: 8}) == name
    assert overdrawn(NO_LIMIT, **{**spent, name: 10**9}) is None


amounts = st.integers(1, 5)


@given(st.fixed_dictionaries({name: st.none() | amounts for name in NAMES}), st.fixed_dictionaries(dict.fromkeys(NAMES, amounts)))
def test_the_first_in_order_is_named(limits: dict[str, Any], spent: dict[str, Any]) -> None:
    """Whatever else ran out with it."""
    over = [name for name in NAMES if limits[name] is not None and spent[name] > limits[name]]
    assert overdrawn(Budget(**limits), **spent) == (over[0] if over else None)
    assert [left(limits[name], spent[name]) for name in WHOLE] == [limits[name] and limits[name] - spent[name] for name in WHOLE]
