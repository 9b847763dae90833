"""Economics: planned, read off plain records, and read off runs that were really driven."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from driving import recorded
from hypothesis import given
from hypothesis import strategies as st

import otel_agent
from otel_agent.analysis import economics, prices
from otel_agent.analysis.economics_tables import render
from otel_agent.settings import Settings
from otel_agent.testing import Standin, capture
from otel_agent.testing.standin import Reply, Text, Usage

LIST = prices.parse({"currency": "USD", "models": {"m": {"input": 10, "cached_input": 1, "cache_write": 12, "output": 50}}})


def test_a_plan_answers_the_worked_example() -> None:
    """Before anything runs."""
    report = economics.plan(3_000, 950, 12, 150)
    assert (report.input_tokens, report.output_tokens) == (98_700, 1_800)
    assert (report.stable_tokens, report.grown_tokens) == (36_000, 62_700)
    assert (report.resent_tokens, report.resent_share) == (85_250, 0.8637)
    assert (report.half.turns, report.half.input_tokens, report.half.saved_share) == (6, 32_250, 0.6733)
    assert [turn.added_token_reads for turn in report.per_turn] == list(range(11, -1, -1))


@pytest.mark.parametrize("numbers", [(-1, 1, 1), (1, -1, 1), (1, 1, 0), (1, 1, 1, -1)])
def test_a_plan_of_impossible_numbers_is_refused(numbers: tuple[int, ...]) -> None:
    """Negative tokens, or no turn."""
    with pytest.raises(ValueError, match="negative"):
        economics.plan(*numbers)


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
def test_a_recorded_run_of_those_sizes_says_the_same(sdk: str) -> None:
    """Twelve real requests; the provider counts 98,700, and so does the report, whose line is exact."""
    telemetry, counted = recorded(12, stable=3_000, growth=950, output=150, sdk=sdk)
    assert counted == 98_700
    report = economics.of_run(telemetry.turns, project_to=24)
    assert (report.turns, report.input_tokens, report.output_tokens) == (12, 98_700, 1_800)
    assert (report.prefix, report.growth, report.linear) == (3_000, 950, True)
    assert (report.stable_tokens, report.grown_tokens) == (36_000, 62_700)
    assert (report.resent_tokens, report.resent_share) == (85_250, 0.8637)
    assert report.half == economics.Half(6, 32_250, 0.6733)
    assert report.projection == economics.Projection(24, 24 * 3_000 + 950 * 276)
    assert report.resent_tokens == telemetry.runs[0]["otel_agent.run.resent_tokens"]


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
def test_half_the_turns_really_run_more_than_halve_the_input(sdk: str) -> None:
    """32,250 tokens."""
    telemetry, counted = recorded(6, stable=3_000, growth=950, output=150, sdk=sdk)
    assert economics.of_run(telemetry.turns).input_tokens == counted == 32_250


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
def test_reflections_of_63_tokens_in_a_recorded_run_cost_630(sdk: str) -> None:
    """Four tool steps that write nothing else: both the growth and the model's own output say so."""
    telemetry, _ = recorded(5, stable=400, growth=63, output=63, sdk=sdk)
    report = economics.of_run(telemetry.turns)
    assert report.grown_tokens == 630
    assert report.written_resent_tokens == 630


def turn(number: int, **facts: Any) -> dict[str, Any]:
    """A turn as the local store gives it."""
    return {"turn": number, "operation": "chat", "request_model": "m", **facts}


def test_a_count_that_was_not_sent_stays_absent() -> None:
    """The report says for how many turns; the line goes through the others."""
    report = economics.of_run([turn(1, input_tokens=100, output_tokens=5), turn(2), turn(3, input_tokens=140, output_tokens=5)])
    assert (report.turns, report.usage_missing_turns, report.input_tokens) == (3, 1, 240)
    assert (report.prefix, report.growth, report.linear) == (100, 20, True)
    assert report.per_turn[1].input_tokens is None
    assert report.per_turn[2].resent_tokens == 100
    assert report.cache_read_tokens is None
    assert "turns without usage" in render(report)
    assert "cache_read_tokens" not in economics.as_json(report)


def test_a_run_that_reports_nothing_has_no_sums() -> None:
    """Not zeros."""
    report = economics.of_run([turn(1), turn(2)])
    assert economics.as_json(report) == {
        "turns": 2, "failed_turns": 0, "usage_missing_turns": 2,
        "per_turn": [{"turn": 1, "added_token_reads": 1}, {"turn": 2, "added_token_reads": 0}],
    }  # fmt: skip
    assert economics.of_run([]).turns == 0


def test_failed_calls_and_embeddings_are_no_turns_of_the_line() -> None:
    """A retry by the application sends the same conversation again."""
    report = economics.of_run(
        [
            turn(1, input_tokens=100), turn(2, error_type="rate_limit_error"), turn(3, input_tokens=150),
            turn(4, operation="embeddings", input_tokens=9),
        ]
    )  # fmt: skip
    assert (report.turns, report.failed_turns, report.usage_missing_turns) == (2, 1, 0)
    assert (report.growth, report.linear) == (50, True)


def test_turns_are_put_in_order_and_a_shrinking_history_is_resent_as_far_as_it_goes() -> None:
    """After a compaction the next turn sends less than the one before."""
    report = economics.of_run([turn(3, input_tokens=300), turn(1, input_tokens=500), turn(2, input_tokens=900)])
    assert [item.resent_tokens for item in report.per_turn] == [None, 500, 300]
    assert report.linear is False
    assert "not a straight line" in render(report)


def test_reasoning_is_counted_apart_and_only_where_it_was_sent_back() -> None:
    """Inside an open tool loop it is; after the next question it is dropped."""
    report = economics.of_run([turn(1, output_tokens=100, reasoning_tokens=80), turn(2, output_tokens=7)])
    assert (report.written_resent_tokens, report.reasoning_resent_tokens) == (20, None)
    assert "own reasoning" not in render(report)
    report = economics.of_run([
        turn(1, output_tokens=100, reasoning_tokens=80),
        turn(2, output_tokens=50, reasoning_tokens=40, replayed_items=1),
        turn(3, output_tokens=30, reasoning_tokens=20, replayed_items=2),
        turn(4, output_tokens=30, reasoning_tokens=20),
        turn(5, output_tokens=5, replayed_items=0, dropped_items=1),
    ])  # fmt: skip
    assert report.written_resent_tokens == 20 * 4 + 10 * 3 + 10 * 2 + 10
    assert report.reasoning_resent_tokens == 80 * 2 + 40
    assert "own reasoning, read again  200" in render(report)


def test_conversations_side_by_side_resend_their_own() -> None:
    """What one sent is not sent again by the other's first turn."""
    history = {"history_digest": "d"}
    report = economics.of_run([
        turn(1, input_tokens=100, message_count=1, **history),
        turn(2, input_tokens=900, message_count=2, **history),
        turn(3, input_tokens=150, message_count=3, stable_prefix=1, **history),
        turn(4, input_tokens=990, message_count=4, stable_prefix=2, **history),
        turn(5, input_tokens=500, message_count=2, stable_prefix=1, first_changed=1, **history),
        turn(6, input_tokens=510, message_count=1, previous_response_id="r", **history),
    ])  # fmt: skip
    assert [item.resent_tokens for item in report.per_turn] == [None, None, 100, 900, 500, 500]


@pytest.mark.parametrize(("digests", "resent"), [(True, 100 + 900 + 150), (False, 100 + 150 + 150 + 200)])
def test_a_run_of_several_conversations_says_the_same_as_its_report(digests: bool, resent: int) -> None:
    """Two of them in turn; an embedding in between resends nothing. Without a history each turn is held against the one before."""
    usages = [Usage(100, 1), Usage(900, 1), Usage(150, 1), Usage(990, 1), Usage(200, 1)]
    with Standin(seed="conversations") as standin, capture(settings=Settings(digests=digests)) as telemetry:
        standin.script("m", [Reply([Text("So.")], usage=usage) for usage in usages])
        one: list[Any] = [{"role": "user", "content": "One?"}]
        two: list[Any] = [{"role": "system", "content": "Two."}, {"role": "user", "content": "Two?"}]
        with openai.OpenAI(base_url=standin.openai_url, api_key="none") as client, otel_agent.agent_run("several"):
            for at, messages in enumerate((one, two, one, two, one)):
                answer = client.chat.completions.create(model="m", messages=messages)
                said = {"role": "assistant", "content": answer.choices[0].message.content}
                messages += [said, {"role": "user", "content": f"And {at}?"}]
                client.embeddings.create(model="e", input="x")
        report = economics.of_run(telemetry.turns)
        assert report.resent_tokens == telemetry.runs[0]["otel_agent.run.resent_tokens"] == resent


def test_the_end_of_another_runs_turn_is_held_against_none() -> None:
    """Nor is it what a turn of this run sends again."""
    report = economics.of_run([
        {"run_id": "r", "response_id": "a", "fetched": True, "input_tokens": 50},
        turn(1, run_id="r", input_tokens=100), turn(2, run_id="r", input_tokens=150),
    ])  # fmt: skip
    assert [item.resent_tokens for item in report.per_turn] == [None, None, 100]


@pytest.mark.parametrize(("prefix", "growth", "turns"), [(-1, 0, 1), (0, -1, 1), (0, 0, 0), (1, 1, 10**15)])
def test_a_plan_of_no_possible_run_is_refused(prefix: int, growth: int, turns: int) -> None:
    """Before it takes the memory that it would need."""
    with pytest.raises(ValueError, match=r"cannot be negative|at most 100,000 turns"):
        economics.plan(prefix, growth, turns)


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.integers(1, 60))
def test_a_plan_adds_up_turn_by_turn(prefix: int, growth: int, turns: int) -> None:
    """Against a conversation sent step by step."""
    sent = [prefix + growth * before for before in range(turns)]
    made = economics.plan(prefix, growth, turns)
    assert [one.input_tokens for one in made.per_turn] == sent
    assert (made.input_tokens, made.resent_tokens) == (sum(sent), sum(sent[:-1]))
    assert made.stable_tokens + made.grown_tokens == made.input_tokens
    assert made.half.input_tokens == sum(sent[: (turns + 1) // 2])
    assert sum(growth * one.added_token_reads for one in made.per_turn) == made.grown_tokens


def test_money_comes_from_the_file_alone() -> None:
    """Read from the cache, written to it, and fresh input have prices of their own."""
    turns = [
        turn(1, input_tokens=1_000, output_tokens=100, cache_write_tokens=1_000),
        turn(2, input_tokens=2_000, output_tokens=100, cache_read_tokens=1_000, cache_write_tokens=500),
    ]
    assert economics.of_run(turns).bill is None
    bill = economics.as_json(economics.of_run(turns, prices=LIST))["bill"]
    assert bill == {
        "input": 0.024, "output": 0.01, "total": 0.034, "resent": 0.001, "saved_by_caching": 0.006,
        "turns_priced": 2, "turns_unpriced": 0, "unpriced_models": [], "currency": "USD",
    }  # fmt: skip


def test_models_without_a_price_are_named() -> None:
    """And their turns are left out of the sum, openly."""
    turns = [
        turn(1, input_tokens=1_000, output_tokens=0),
        turn(2, request_model="other", input_tokens=1, output_tokens=1),
    ]
    report = economics.of_run(turns, prices=LIST)
    assert report.bill is not None
    assert (report.bill.turns_priced, report.bill.turns_unpriced, report.bill.unpriced_models) == (1, 1, ("other",))
    assert "1 turn has no price or no usage: other" in render(report)


def test_the_snapshot_that_answered_is_priced_before_the_alias_that_was_asked_for() -> None:
    """Its price is what is billed."""
    two = prices.parse({"models": {"alias": {"input": 1, "output": 1}, "snapshot": {"input": 2, "output": 2}}})
    report = economics.of_run(
        [turn(1, request_model="alias", response_model="snapshot", input_tokens=500_000, output_tokens=0)], prices=two
    )
    assert report.bill is not None
    assert report.bill.total == 1


def test_a_planned_run_is_priced_with_and_without_the_cache() -> None:
    """All that was sent before is read from it; what is new is written to it."""
    price = LIST.models["m"]
    bill = economics.plan(3_000, 950, 12, 150, price=price).bill
    assert bill is not None
    assert float(bill.input) == (85_250 * 1 + 13_450 * 12) / 1e6
    assert float(bill.saved_by_caching) == pytest.approx(98_700 * 10 / 1e6 - float(bill.input))


def test_a_report_is_json() -> None:
    """Fractions, decimals and all."""
    report = economics.of_run([turn(1, input_tokens=1, output_tokens=1), turn(2, input_tokens=3), turn(3, input_tokens=4)], prices=LIST)
    assert json.loads(json.dumps(economics.as_json(report)))["growth"] == 1.5
