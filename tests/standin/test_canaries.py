"""Canaries are found in every disguise, and nowhere else."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import json
import random
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest

from otel_agent.testing.canaries import BY_NAME, CARRIERS, FRAGMENT, Canaries

PLANT = Canaries("test")

DISGUISES: dict[str, Callable[[str], Any]] = {
    "as it is": str,
    "bytes": str.encode,
    "in upper case": str.upper,
    "JSON": json.dumps,
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps({"a": json.dumps([text])})),
    "every letter escaped": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64, one byte on": lambda text: base64.b64encode(b"x" + text.encode()).decode(),
    "base64, two bytes on": lambda text: base64.b64encode(b"xy" + text.encode()),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(b"\xff\xfe" + text.encode()),
    "base64 of JSON of base64": lambda text: base64.b64encode(json.dumps({"a": base64.b64encode(text.encode()).decode()}).encode()),
    "percent": urllib.parse.quote,
    "every letter percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "hexadecimal": lambda text: text.encode().hex(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "in an exception": ValueError,
    "in a mapping's key": lambda text: {text: 1},
    "deep in lists": lambda text: [[({"a": (text,)},)]],
}


class TestFinding:
    """Searching what came out."""

    @pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
    @pytest.mark.parametrize("name", ["anthropic.thinking", "anthropic.signature"])
    def test_a_canary_is_found_in_every_disguise(self, name: str, disguise: Callable[[str], Any]) -> None:
        """Prose and sealed forms alike, and the carrier is named."""
        assert PLANT.find_in(disguise(PLANT[name])) == [name]

    def test_a_fragment_is_enough(self) -> None:
        """Twelve letters of the token tell the carrier, eleven do not."""
        token = PLANT.token("request.user")
        pieces = [token[start : start + FRAGMENT] for start in range(len(token) - FRAGMENT + 1)]
        assert all(PLANT.find_in(f"a-{piece}-b") == ["request.user"] for piece in pieces)
        assert PLANT.find_in(token[: FRAGMENT - 1]) == []

    def test_what_is_attached_to_an_exception_is_found(self) -> None:
        """Cause, context, notes, members of a group and attributes are all searched."""
        error = RuntimeError("outer")
        error.__cause__ = KeyError(PLANT["error.cause"])
        error.__context__ = OSError(PLANT["error.context"])
        error.add_note(PLANT["error.note"])
        error.body = {"m": PLANT["error.body"]}  # type: ignore[attr-defined]
        group = ExceptionGroup("many", [error])
        assert PLANT.find_in(group) == ["error.body", "error.cause", "error.context", "error.note"]

    def test_objects_are_walked(self) -> None:
        """Dataclasses, models, and objects that only their repr shows."""
        pydantic = pytest.importorskip("pydantic")

        @dataclasses.dataclass
        class Held:
            inner: Any

        class Shown:
            __slots__ = ()

            def __repr__(self) -> str:
                return PLANT["tool.result"]

        model = pydantic.create_model("Model", __config__={"extra": "allow"}, a=(str, ...))
        found = PLANT.find_in(Held(Shown()), model(a="x", extra=PLANT["chat.content"]))
        assert found == ["chat.content", "tool.result"]

    def test_other_text_is_no_canary(self) -> None:
        """Prose, digests, noise and another seed's canaries are not taken for ours."""
        noise = random.Random(7).randbytes(50_000)
        texts = ["the quick brown fox " * 500, hashlib.sha256(b"x").hexdigest() * 50, base64.b64encode(noise), noise]
        assert PLANT.find_in(texts, [Canaries("other")[carrier.name] for carrier in CARRIERS]) == []

    def test_a_cycle_ends(self) -> None:
        """A value that holds itself is walked once."""
        ring: list[Any] = []
        ring.append(ring)
        assert PLANT.find_in(ring) == []


class TestPlanting:
    """The texts themselves."""

    def test_every_carrier_has_its_own(self) -> None:
        """No two carriers share a text, and each is found as itself alone."""
        assert len({PLANT[carrier.name] for carrier in CARRIERS}) == len(CARRIERS) == len(BY_NAME)
        assert all(PLANT.find_in(PLANT[carrier.name]) == [carrier.name] for carrier in CARRIERS)

    def test_prose_has_spaces_and_seals_have_none(self) -> None:
        """A sentence fits no identifier; a signature fits many."""
        assert all((" " in PLANT[carrier.name]) == (carrier.form == "prose") for carrier in CARRIERS)

    def test_the_token_comes_early(self) -> None:
        """A copy cut to 64 characters still tells."""
        assert all(PLANT.find_in(PLANT[carrier.name][:64]) == [carrier.name] for carrier in CARRIERS)

    def test_the_same_seed_gives_the_same_texts(self) -> None:
        """Two processes agree by the seed."""
        assert Canaries(5)["tool.result"] == Canaries("5")["tool.result"] != Canaries(6)["tool.result"]

    def test_names_of_ones_own_work(self) -> None:
        """Any name gives a canary that is found from then on."""
        plant = Canaries()
        assert plant.find_in(plant["my.place"]) == ["my.place"]

    def test_absence_is_asserted_with_names(self) -> None:
        """The assertion says which carriers leaked."""
        with pytest.raises(AssertionError, match=r"request\.user"):
            PLANT.assert_absent({"a": PLANT["request.user"]})
        PLANT.assert_absent({"a": "b"})
