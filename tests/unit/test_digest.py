"""Keyed digests: pinned vectors, arguments by name, and the running digest of an answer."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_agent import digest, guard
from otel_agent.canonical import MAX_BYTES, Marker
from otel_agent.digest import AnswerDigest, ArgumentDigests, Digester
from otel_agent.fields import DIGEST, MAX_ITEMS, size_band

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "digest_vectors.json").read_text())
KEY = bytes.fromhex(VECTORS["key"])
PINNED = Digester.of_key(KEY, VECTORS["key_id"])


class TestVectors:
    @pytest.mark.parametrize("vector", VECTORS["values"], ids=lambda vector: vector["json"][:24])
    def test_a_value_has_its_pinned_digest(self, vector: dict[str, str]) -> None:
        """The same in every version, process and deployment that has the key."""
        assert vector["digest"] == PINNED.digest(json.loads(vector["json"]))

    @pytest.mark.parametrize("vector", [each for each in VECTORS["values"] if "canonical" in each], ids=lambda vector: vector["json"][:24])
    def test_it_is_the_hmac_of_the_canonical_bytes(self, vector: dict[str, str]) -> None:
        """So anybody with the key can recompute it."""
        made = hmac.new(KEY, vector["canonical"].encode(), hashlib.sha256).hexdigest()
        assert vector["digest"] == f"hmac-sha256:{VECTORS['key_id']}:{made}"

    @pytest.mark.parametrize("vector", VECTORS["texts"], ids=lambda vector: vector["text"][:24])
    def test_a_text_has_its_pinned_digest(self, vector: dict[str, str]) -> None:
        """Over its UTF-8 bytes."""
        made = hmac.new(KEY, vector["text"].encode(), hashlib.sha256).hexdigest()
        assert vector["digest"] == PINNED.digest_text(vector["text"]) == f"hmac-sha256:{VECTORS['key_id']}:{made}"


class TestDigester:
    @given(st.binary(min_size=16, max_size=200), st.binary(max_size=300))
    def test_it_is_hmac_sha_256(self, key: bytes, data: bytes) -> None:
        """For keys shorter and longer than a block."""
        assert hmac.digest(key, data, "sha256") == Digester.of_key(key).mac(data)

    def test_another_key_gives_another_digest_and_another_id(self) -> None:
        """Deployments do not match by chance, and it shows which key made a digest."""
        one, other = Digester.of_key(b"a" * 16), Digester.of_key(b"b" * 16)
        assert one.digest({"pin": "1234"}) != other.digest({"pin": "1234"})
        assert one.key_id != other.key_id

    def test_the_key_is_in_no_representation(self) -> None:
        """Not in the id, not in the repr."""
        digester = Digester.of_key(b"secretsecretsecret")
        assert "secret" not in repr(digester)
        assert b"secretsecretsecret".hex()[:8] not in digester.key_id

    def test_the_same_key_gives_the_same_digest_in_another_process(self) -> None:
        """The hash seed of the process does not matter, for sets neither."""
        code = "from otel_agent.digest import Digester; print(Digester.of_key(b'k' * 32).digest({'b': {'x', 'y', 'z'}, 'a': 1}))"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert other.stdout.strip() == Digester.of_key(b"k" * 32).digest({"a": 1, "b": {"z", "y", "x"}})

    def test_without_a_key_it_says_so(self) -> None:
        """An ephemeral digester repeats itself and matches no other."""
        one, other = Digester.ephemeral(), Digester.ephemeral()
        assert re.fullmatch("ephemeral-[0-9a-f]{8}", one.key_id)
        assert one.digest("a") == one.digest("a") != other.digest("a")
        assert one.is_ephemeral
        assert not PINNED.is_ephemeral

    @pytest.mark.parametrize(("key", "key_id"), [(b"", None), (b"short", None), (b"k" * 16, "Not One"), (b"k" * 16, "x" * 33)])
    def test_a_weak_key_or_an_unfit_id_is_refused(self, key: bytes, key_id: str | None) -> None:
        """At construction, where it can be seen."""
        with pytest.raises(ValueError, match="key"):
            Digester.of_key(key, key_id)

    @given(
        st.recursive(
            st.none() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
        )
    )
    def test_what_it_gives_fits_a_record(self, value: Any) -> None:
        """A digest with a band, or a marker without."""
        digest, band = PINNED.digest_with_band(value)
        assert re.fullmatch(DIGEST, digest)
        assert type(digest) is str
        assert (band is None) == digest.startswith("uncanonical:")

    def test_beside_it_stands_a_band_and_no_length(self) -> None:
        """Two payloads of different length may share it."""
        assert PINNED.digest_with_band("a" * 70)[1] == PINNED.digest_with_band("a" * 120)[1] == 128

    def test_a_marker_stays_itself(self) -> None:
        """What parsing refused is not digested as text."""
        assert PINNED.digest(Marker("uncanonical:size")) == "uncanonical:size"


class TestCalls:
    @given(
        st.dictionaries(
            st.sampled_from(["a", "b", "c d", "é", "_OTHER"]), st.text(max_size=3) | st.floats() | st.lists(st.integers()), max_size=4
        ),
        st.none() | st.sets(st.sampled_from(["a", "b", "c d", "é", "_OTHER"])),
    )
    def test_one_walk_gives_what_two_give(self, arguments: dict[str, Any], declared: set[str] | None) -> None:
        """The digest of the whole and those by name."""
        assert PINNED.call(arguments, declared) == (*PINNED.digest_with_band(arguments), PINNED.arguments(arguments, declared))

    @pytest.mark.parametrize("arguments", [{1: 2, "a": 3}, {"a": object()}, ["a"], None, {"a": "x" * (1 << 20)}])
    def test_so_it_does_for_what_has_no_form(self, arguments: Any) -> None:
        """Markers."""
        assert PINNED.call(arguments, {"a"}) == (*PINNED.digest_with_band(arguments), PINNED.arguments(arguments, {"a"}))


class TestArguments:
    def test_only_declared_names_are_kept_and_sorted(self) -> None:
        """A name the model made up is text, so it is counted and not kept."""
        found = PINNED.arguments({"b": 1, "a": 2, "she said no": 3}, {"a", "b", "c"})
        assert found == ArgumentDigests(("a", "b"), (PINNED.digest(2), PINNED.digest(1)), 1)

    def test_without_a_schema_nothing_is_known(self) -> None:
        """Absent is not zero."""
        assert PINNED.arguments({"a": 1}, None) == ArgumentDigests((), (), None)

    @pytest.mark.parametrize("arguments", [None, "text", ["a"], Marker("uncanonical:size")])
    def test_what_is_no_object_has_no_names(self, arguments: Any) -> None:
        """Nor an undeclared count."""
        assert PINNED.arguments(arguments, ("a",)) == ArgumentDigests((), (), None)

    def test_a_declared_name_that_fits_no_record_is_left_out(self) -> None:
        """It is declared all the same."""
        assert PINNED.arguments({"with space": 1}, ("with space",)) == ArgumentDigests((), (), 0)

    def test_a_long_list_is_cut(self) -> None:
        """At what an array fact may hold."""
        many = {f"n{at:03}": at for at in range(100)}
        assert len(PINNED.arguments(many, many.keys()).names) == MAX_ITEMS


class TestAnswerDigest:
    @given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]))))
    def test_it_does_not_matter_how_the_text_was_cut(self, pieces: list[str]) -> None:
        """The result is that of the whole."""
        answer, whole = AnswerDigest(PINNED), "".join(pieces)
        for piece in pieces:
            answer.update(piece)
        expected = (PINNED.digest_text(whole), size_band(len(whole.encode()))) if whole else None
        assert expected == answer.result() == answer.result()

    def test_it_may_go_on_after_a_result(self) -> None:
        """A stream's facts can be asked for at any time."""
        answer = AnswerDigest(PINNED)
        answer.update("a")
        assert answer.result() == (PINNED.digest_text("a"), 64)
        answer.update("b")
        assert answer.result() == (PINNED.digest_text("ab"), 64)

    @pytest.mark.parametrize("pieces", [["a\ud83d", "\ude00b"], ["\ud800"]])
    def test_a_torn_surrogate_is_a_marker(self, pieces: list[str]) -> None:
        """As it is for the whole string."""
        answer = AnswerDigest(PINNED)
        for piece in pieces:
            answer.update(piece)
        assert answer.result() == ("uncanonical:surrogate", None)
        assert PINNED.digest_text("".join(pieces)) == "uncanonical:surrogate"

    def test_it_keeps_no_text(self) -> None:
        """Nothing in it is or holds a piece."""
        answer = AnswerDigest(PINNED)
        answer.update("visible words")
        assert "visible words" not in [getattr(answer, name) for name in AnswerDigest.__slots__]


def test_never_raising_holds_without_the_loud_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What we did not foresee is a marker of type and one counted failure."""

    def broken(_value: Any) -> bytes:
        raise RuntimeError("dictionary changed size during iteration")

    monkeypatch.setattr("otel_agent.digest.canonical", broken)
    assert PINNED.digest({}) == "uncanonical:type"
    with guard.loud(), pytest.raises(RuntimeError):
        PINNED.digest({})


def test_many_large_arguments_are_not_all_walked_through() -> None:
    """One by one they would take as many times the bound as there are names; by name the first have digests, the others a marker."""
    large = ("x",) * (MAX_BYTES // 20)
    _, _, named = PINNED.call({"a": large, "b": large, "c": "x", "d": 1}, {"a", "b", "c", "d"})
    assert named.names == ("a", "b", "c", "d")
    assert named.digests == (PINNED.digest(large), PINNED.digest(large), "uncanonical:size", "uncanonical:size")


def test_an_argument_that_fails_costs_its_own_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    real = digest.weighed

    def broken(value: Any) -> Any:
        if value == "bad":
            raise RuntimeError("dictionary changed size during iteration")
        return real(value)

    monkeypatch.setattr("otel_agent.digest.weighed", broken)
    assert PINNED.arguments({"a": 1, "b": "bad"}, {"a", "b"}).digests == (PINNED.digest(1), "uncanonical:type")
