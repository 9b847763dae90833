"""Repeated calls, same results, cycles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_agent import repeats as module
from otel_agent import tally
from otel_agent.repeats import CallFacts, Repeats


def calls(text: str) -> list[CallFacts]:
    """Facts of the calls named by the letters of ``text``."""
    repeats = Repeats()
    return [repeats.observe("tool", f"hmac-sha256:k:{letter}") for letter in text]


def cycles(text: str) -> list[int | None]:
    """The cycle each of those calls completed."""
    return [facts.cycle for facts in calls(text)]


class TestCounts:
    def test_three_files_attached_are_three_calls(self) -> None:
        """The key is the tool and its arguments, whatever came back."""
        repeats = Repeats()
        for name in "abc":
            assert repeats.observe("attach", name) == CallFacts(1, 1)
            assert repeats.result("attach", name, "true") == 1
        assert (repeats.max_repeat, repeats.repeats, repeats.cycles) == (1, 0, 0)

    def test_twenty_times_the_same_call_count_up(self) -> None:
        """In all and in a row, with the highest for the run."""
        repeats = Repeats()
        seen = [repeats.observe("poll", "d") for _ in range(20)]
        assert [CallFacts(at, at) for at in range(1, 21)] == seen
        assert (repeats.max_repeat, repeats.repeats, repeats.cycles) == (20, 19, 0)

    def test_another_call_between_ends_the_row(self) -> None:
        """But not the count."""
        assert [(1, 1), (2, 2), (1, 1), (3, 1)] == [(facts.repeat, facts.consecutive) for facts in calls("aaba")]

    def test_another_tool_with_the_same_arguments_is_another_call(self) -> None:
        """Tool and digest together."""
        repeats = Repeats()
        repeats.observe("read", "d")
        assert repeats.observe("write", "d") == CallFacts(1, 1)

    @pytest.mark.parametrize("digest", ["uncanonical:type", None])
    def test_what_has_no_digest_equals_nothing(self, digest: str | None) -> None:
        """Two markers are alike and say nothing of the arguments."""
        repeats = Repeats()
        assert [repeats.observe("f", digest) for _ in range(8)] == [CallFacts(1, 1)] * 8
        assert repeats.result("f", digest, "r") is None


class TestResults:
    def test_the_same_result_in_a_row_is_counted(self) -> None:
        """Another result begins anew."""
        repeats = Repeats()
        assert [1, 2, 1, 2] == [repeats.result("f", "d", result) for result in "rrss"]

    def test_each_call_has_a_row_of_its_own(self) -> None:
        """Other calls between do not end it."""
        repeats = Repeats()
        assert [1, 1, 2] == [repeats.result("f", call, "r") for call in "aba"]

    @pytest.mark.parametrize("result", [None, "uncanonical:size"])
    def test_a_result_without_digest_is_not_known_to_be_the_same(self, result: str | None) -> None:
        """Absent is not zero."""
        assert Repeats().result("f", "d", result) is None

    @pytest.mark.parametrize("unknown", [None, "uncanonical:size"])
    def test_a_result_that_is_not_known_ends_the_row(self, unknown: str | None) -> None:
        """It may have been another one."""
        repeats = Repeats()
        assert [repeats.result("poll", "d", given) for given in ("r", "r", unknown, "r", "r")] == [1, 2, None, 1, 2]


def counted(sequence: list[str]) -> list[CallFacts]:
    """What the module's words say of a sequence, found by looking at all of it at each call; ``?`` has no digest."""
    facts: list[CallFacts] = []
    for at, name in enumerate(sequence):
        before = sequence[: at + 1]
        row = next((back for back in range(at + 1) if sequence[at - back] != name), at + 1)
        round_ = next((length for length in (2, 3) if comes_round(before, length)), None)
        inside = any(facts[at - back].cycle == round_ for back in range(1, round_) if at >= back) if round_ else False
        known = name != "?"
        facts.append(CallFacts(before.count(name) if known else 1, row if known else 1, None if inside else round_))
    return facts


def comes_round(sequence: list[str], length: int) -> bool:
    last = sequence[-2 * length :]
    return len(last) == 2 * length and "?" not in last and last[:length] == last[length:] and len(set(last)) > 1


class TestOracle:
    @given(st.lists(st.sampled_from("aabbc?"), max_size=24) | st.text("abc", min_size=2, max_size=3).map(lambda part: [*part * 6]))
    def test_facts_are_those_of_the_whole_sequence(self, sequence: list[str]) -> None:
        """Counts, rows and cycles, of each call and of the run."""
        repeats, wanted = Repeats(), counted(sequence)
        assert wanted == [repeats.observe("tool", None if name == "?" else f"hmac-sha256:k:{name}") for name in sequence]
        assert repeats.max_repeat == max((each.consecutive for each in wanted), default=0)
        assert repeats.repeats == sum(each.repeat > 1 for each in wanted)
        assert repeats.cycles == sum(each.cycle is not None for each in wanted)


class TestCycles:
    @pytest.mark.parametrize(
        ("text", "rounds"),
        [
            ("abab", {3: 2}),
            ("ababab", {3: 2, 5: 2}),
            ("abcabc", {5: 3}),
            ("abcabcabc", {5: 3, 8: 3}),
            ("aabaab", {5: 3}),
            ("aaaaaa", {}),
            ("abcab", {}),
            ("abba", {}),
            ("abcdabcd", {}),
            ("ababcabab", {3: 2, 8: 2}),
        ],
    )
    def test_a_cycle_is_reported_when_it_has_come_round(self, text: str, rounds: dict[int, int]) -> None:
        """And once for each further round."""
        assert [rounds.get(at) for at in range(len(text))] == cycles(text)

    @given(st.text("ab", max_size=40))
    def test_one_call_over_and_over_is_no_cycle(self, text: str) -> None:
        """That is a repeat; and each round of a cycle is reported once."""
        found = cycles(text)
        assert not any(once == each for at, each in enumerate(found) if each for once in found[max(0, at - each + 1) : at])
        assert not any(cycles("a" * len(text)))


class TestBounds:
    def test_memory_is_bounded_and_the_loss_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The call not made for the longest time is forgotten."""
        monkeypatch.setattr(module, "MAX_CALLS", 3)
        before = tally.tallies().get(("dropped", "repeats"), 0)
        repeats = Repeats()
        for name in "abcad":
            repeats.observe("f", name)
        assert tally.tallies()["dropped", "repeats"] == before + 1
        assert repeats.observe("f", "a").repeat == 3
        assert repeats.observe("f", "b").repeat == 1

    def test_threads_lose_no_call(self) -> None:
        """Every call gets a count of its own."""
        repeats = Repeats()

        def many(_: Any) -> list[int]:
            return [repeats.observe("f", "d").repeat for _ in range(500)]

        with ThreadPoolExecutor(8) as pool:
            seen = sorted(count for counts in pool.map(many, range(8)) for count in counts)
        assert list(range(1, 4001)) == seen
