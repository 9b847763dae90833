"""What is planted: the same in two processes, found by its name, told apart by who leaked it; and which SDKs it takes."""

from __future__ import annotations

import pytest

from otel_agent.testing.canaries import CARRIERS
from otel_agent.verify import foreign, play, tools
from otel_agent.verify.planting import FOREIGN, OWN, SDK_OF, SDK_SPANS, Mark, calls

from .conftest import Verify


def test_two_processes_plant_the_same() -> None:
    """From the id alone, but for names that are no carrier: those have to be told."""
    sender, director = Mark("ab" * 16), Mark("ab" * 16)
    text = sender.plants[FOREIGN]["foreign.span.name"]
    assert director.names_in(sender.plants[OWN]["anthropic.thinking"].encode()) == {"anthropic.thinking"}
    assert director.names_in(text.encode()) == set()
    director.learn(sender.asked())
    assert director.names_in(text.encode()) == {"foreign.span.name"}
    assert director.planted() == sender.planted()


def test_parties_are_told_apart() -> None:
    """The same carrier, leaked by the SDK's own spans."""
    mark = Mark()
    assert mark.names_in(mark.plants[SDK_SPANS]["anthropic.thinking"].encode()) == {"anthropic-sdk: anthropic.thinking"}
    assert Mark().names_in(mark.plants[OWN]["anthropic.thinking"].encode()) == set(), "another verification's are not ours"


def test_every_carrier_is_planted() -> None:
    """By the calls of all dialects and by the tools."""
    plant = Mark().plants[OWN]
    for dialect in SDK_OF:
        calls(dialect, plant)
    tools.play(plant, "unobserved")
    assert {carrier.name for carrier in CARRIERS} - plant.asked == set()


def test_foreign_telemetry_is_harmless_without_providers() -> None:
    """Emitted into the API's placeholders."""
    plant = Mark().plants[FOREIGN]
    foreign.play(plant)
    assert "foreign.log.body" in plant.asked


def test_without_any_sdk_it_cannot_run(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing could be sent as an application sends it."""
    monkeypatch.setattr(play, "find_spec", lambda name: None)
    ran = verify()
    assert ran.code == 2
    assert "neither anthropic nor openai is installed" in ran.err


def test_a_missing_sdk_is_named(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other is played; what could not be planted is said."""
    monkeypatch.setattr(play, "find_spec", lambda name: name if name == "openai" else None)
    ran = verify("--no-with-foreign", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["missing"] == ["anthropic"]
    assert "anthropic.thinking" in ran.json["left_out"]
    assert "responses.reasoning_text" in ran.json["planted"]
