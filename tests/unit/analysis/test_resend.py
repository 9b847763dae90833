"""The arithmetic against the worked examples, and against adding up by hand."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from otel_agent.analysis import resend

SIZES = st.integers(0, 10_000)
TURNS = st.integers(1, 60)


def test_twelve_turns_of_the_worked_example_read_98_700_tokens() -> None:
    """36,000 for the prefix and 950 times 66 for what was added."""
    assert resend.run_input(3_000, 950, 12) == 98_700
    assert resend.run_input(3_000, 950, 12) - 12 * 3_000 == 950 * 66


def test_half_the_turns_more_than_halve_the_input() -> None:
    """32,250 against 98,700."""
    assert resend.run_input(3_000, 950, 6) == 32_250
    assert 2 * 32_250 < 98_700


def test_reflections_of_63_tokens_over_four_tool_steps_cost_630() -> None:
    """Four tool steps are five requests; the reflection of step i is read 5 - i times."""
    assert resend.text_resent([(step, 63) for step in range(1, 5)], 5) == 630


@given(prefix=SIZES, growth=SIZES, turns=TURNS)
def test_the_closed_form_is_the_sum_over_the_turns(prefix: int, growth: int, turns: int) -> None:
    """And so is what was re-sent: every turn but the last is sent once more by the next."""
    inputs = [resend.turn_input(prefix, growth, turn) for turn in range(1, turns + 1)]
    assert resend.run_input(prefix, growth, turns) == sum(inputs)
    assert resend.run_resent(prefix, growth, turns) == sum(inputs[:-1])


@given(prefix=SIZES, growth=SIZES, turns=TURNS)
def test_growth_is_the_price_of_each_token_added_by_its_turn(prefix: int, growth: int, turns: int) -> None:
    """The marginal cost per turn adds up to what the growth costs."""
    grown = sum(growth * resend.reads(turn, turns) for turn in range(1, turns + 1))
    assert grown == resend.run_input(prefix, growth, turns) - prefix * turns


@given(prefix=SIZES, growth=SIZES, turns=st.sets(TURNS, min_size=2))
def test_the_fit_is_exact_on_a_line_also_with_turns_missing(prefix: int, growth: int, turns: set[int]) -> None:
    """No rounding: the fractions come out whole."""
    line = resend.fit([(turn, prefix + growth * (turn - 1)) for turn in turns])
    assert line == resend.Fit(Fraction(prefix), Fraction(growth), exact=True, largest_error=0.0)


def test_a_bent_line_is_said_to_be_one() -> None:
    """Least squares, with the distance of the farthest turn."""
    line = resend.fit([(1, 100), (2, 200), (3, 600)])
    assert line is not None
    assert (line.prefix, line.growth, line.exact, line.largest_error) == (50, 250, False, 100.0)
    assert line.input_of(3) == 900


def test_one_turn_makes_no_line() -> None:
    """Nor does none."""
    assert resend.fit([(1, 100)]) is None
    assert resend.fit([]) is None
