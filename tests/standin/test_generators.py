"""Generated traffic is fit to be served, full of canaries, and fast to make."""

from __future__ import annotations

import json
import time
from random import Random
from typing import Any

import anthropic
import openai
import pytest
from voices import Voice

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings, strategies

from otel_agent.testing import generators, specimens
from otel_agent.testing.canaries import CARRIERS, Canaries
from otel_agent.testing.standin import Standin
from otel_agent.testing.standin.wire.frames import encode

PLANT = Canaries("generated")
GROUPS = {
    "anthropic": {"anthropic", "request"},
    "openai.chat": {"chat", "compatible", "request"},
    "openai.responses": {"responses", "request"},
}
"""Which carriers each dialect's traffic has."""


def grown(dialect: str, count: int, first: int = 0) -> list[generators.Case]:
    """Cases of seeds in a row."""
    return [generators.grow_case(Random(seed), PLANT, dialect) for seed in range(first, first + count)]


class TestCases:
    """What is grown."""

    @pytest.mark.parametrize("dialect", generators.DIALECTS)
    def test_every_carrier_of_the_dialect_is_used(self, dialect: str) -> None:
        """Bodies, streams, requests and errors together have a canary in each place."""
        cases = grown(dialect, 300)
        found = set(PLANT.find_in([[case.response, case.events, case.request, case.error] for case in cases]))
        found |= set(PLANT.find_in(specimens.caller_extras(PLANT), *(make(PLANT) for make in specimens.REQUESTS.values())))
        wanted = {carrier.name for carrier in CARRIERS if carrier.name.split(".")[0] in GROUPS[dialect]}
        assert wanted - found == set()

    @pytest.mark.parametrize("dialect", generators.DIALECTS)
    def test_bodies_are_json_and_streams_are_events(self, dialect: str) -> None:
        """Whatever the damage, the body parses and each event's data does."""
        for case in grown(dialect, 200):
            json.loads(encode(case.response))
            for event in generators.wire(dialect, case.events):
                data = [line for line in event.split(b"\n") if line.startswith(b"data: ")]
                assert all(line == b"data: [DONE]" or json.loads(line[6:]) is not ... for line in data)

    @pytest.mark.parametrize("dialect", generators.DIALECTS)
    def test_a_seed_gives_the_same_case(self, dialect: str) -> None:
        """A failing case can be made again from its seed."""
        assert grown(dialect, 20) == grown(dialect, 20)

    @pytest.mark.parametrize("dialect", generators.DIALECTS)
    def test_a_hundred_thousand_take_minutes(self, dialect: str) -> None:
        """A case costs a few milliseconds at the very most, on a busy machine too."""
        began = time.process_time()
        grown(dialect, 200)
        assert (time.process_time() - began) / 200 < 0.01

    @pytest.mark.parametrize("dialect", generators.DIALECTS)
    @pytest.mark.parametrize("shrinkable", [False, True])
    def test_strategies_draw_them(self, dialect: str, *, shrinkable: bool) -> None:
        """Every strategy works with hypothesis, seeded or drawn choice by choice."""
        options = {"shrinkable": shrinkable}
        kinds = [make(dialect, PLANT, **options) for make in STRATEGIES] + [generators.errors(PLANT, **options)]
        drawn: list[Any] = []

        @settings(max_examples=3 if shrinkable else 15, database=None, deadline=None, suppress_health_check=list(HealthCheck))
        @given(strategies.tuples(*kinds))
        def draw(values: Any) -> None:
            drawn.append(values)

        draw()
        assert drawn
        assert isinstance(drawn[0][0], generators.Case)


STRATEGIES = (generators.cases, generators.responses, generators.streams, generators.requests)


def call_of(voice: Voice, dialect: str) -> Any:
    """The SDK's call for a dialect."""
    if dialect == "anthropic":
        return voice.anthropic(max_retries=0).messages.create
    client = voice.openai(max_retries=0)
    return client.chat.completions.create if dialect == "openai.chat" else client.responses.create


class TestServing:
    """Cases on the wire, read by the SDKs."""

    @pytest.mark.parametrize("dialect", generators.DIALECTS)
    def test_the_sdks_take_requests_and_read_answers(self, voice: Voice, standin: Standin, dialect: str) -> None:
        """Requests leave as they were grown; bodies, streams and errors come back as results or as the SDK's errors."""
        call = call_of(voice, dialect)
        ends: set[str] = set()
        for case in grown(dialect, 12, first=1000):
            standin.script("*", [case.body(), case.stream(malformed=True), case.stream(), case.failure()])
            for streaming in ({}, {"stream": True}, {"stream": True}, {}):
                ends.add(_end_of(voice, call, {**case.request, **streaming}))
        assert {"read", "APIStatusError"} <= ends
        assert json.loads(standin.requests[-1].body) == case.request


def _end_of(voice: Voice, call: Any, request: dict[str, Any]) -> str:
    """How a call ended: read, or by an error of the SDK's making or of its parsing."""
    try:
        result = voice.run(call(**request))
        if request.get("stream"):
            voice.items(result)
    except (anthropic.AnthropicError, openai.OpenAIError, AttributeError, TypeError, ValueError) as error:
        return "APIStatusError" if hasattr(error, "status_code") else type(error).__name__
    return "read"
