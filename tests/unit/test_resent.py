"""What a run says its turns sent again, by what is known when each ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_agent.analysis import economics
from otel_agent.instrument.resent import MOST, Resent, Sent, sent_by
from otel_agent.protocol import RequestFacts

TURNS = st.lists(
    st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 4)), st.booleans(), st.one_of(st.none(), st.integers(0, 99))),
    max_size=12,
)


@given(TURNS)
def test_turns_one_after_another_say_what_the_report_says(given: list[tuple[int, int | None, bool, int | None]]) -> None:
    """Any lengths, prefixes, changes and missing usage."""
    resent, rows, found = Resent(), [], []
    for number, (count, stable, changed, tokens) in enumerate(given, 1):
        row: dict[str, Any] = {"message_count": count, "history_digest": "d", "stable_prefix": stable, "input_tokens": tokens}
        row = {name: value for name, value in row.items() if value is not None} | ({"first_changed": 0} if changed else {})
        rows.append({"turn": number, **row})
        sent = sent_by(number, RequestFacts("chat", "messages"), row)
        assert sent is not None
        found.append(None if tokens is None else resent.of(sent, tokens))
    assert [turn.resent_tokens for turn in economics.of_run(rows).per_turn] == found


def test_conversations_side_by_side_end_in_any_order() -> None:
    """Three that begin together and end in another order: the last by number is the one a report would take."""
    resent = Resent()
    for number in (2, 3, 1):
        assert resent.of(Sent(number, 1, None, begins=True), 100 * number) is None
    assert resent.of(Sent(4, 3, 1, begins=False), 900) == 300


@pytest.mark.parametrize("facts", [RequestFacts("embeddings", "embeddings"), RequestFacts("fetch_response", "responses")])
def test_what_reads_no_conversation_sends_none(facts: RequestFacts) -> None:
    """Nor does what is outside a run."""
    assert sent_by(1, facts, {}) is None
    assert sent_by(None, RequestFacts("chat", "messages"), {}) is None


def test_no_more_lengths_are_kept_than_are_needed() -> None:
    """The longest unused goes first; its conversation is then held against the last turn of any."""
    resent = Resent()
    for number in range(1, MOST + 2):
        resent.of(Sent(number, number, None, begins=True), number)
    assert resent.of(Sent(MOST + 2, 0, 2, begins=False), 9999) == 2
    assert resent.of(Sent(MOST + 3, 0, 1, begins=False), 9999) == 9999
