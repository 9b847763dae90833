"""What is planted: the mark of one verification, its canaries, and the calls whose requests and answers hold them.

The director and the program that sends make the same calls from the same mark: one files the answers, the other asks.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from otel_agent.testing import specimens
from otel_agent.testing.canaries import Canaries
from otel_agent.testing.generators import wire
from otel_agent.testing.standin import Body, BreakOff, RawBlock, RawStream, Reply, Standin, StreamError

Json = dict[str, Any]

SERVICE: Final = "otel-agent-verify"
SDK_OF: Final = {"anthropic": "anthropic", "openai.chat": "openai", "openai.responses": "openai"}
OWN: Final = "own"
SDK_SPANS: Final = "anthropic-sdk"
FOREIGN: Final = "foreign"


class Planted(Canaries):
    """Canaries that remember which of them were asked for."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True, slots=True)
class Mark:
    """One verification. ``id``: trace id of all that is sent, and the service instance's id, so that it can be found and ignored.

    ``plants``: canaries by who could leak them: our own records, the anthropic SDK's own spans, other instrumentations.
    """

    id: str = field(default_factory=lambda: secrets.token_hex(16))
    plants: Mapping[str, Planted] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plants", {party: Planted(f"{self.id}/{party}") for party in (OWN, SDK_SPANS, FOREIGN)})

    def names_in(self, data: bytes) -> set[str]:
        """Carriers whose canary is in the data, with the party in front unless it is ours."""
        return {title(party, name) for party, plant in self.plants.items() for name in plant.find_in(data)}

    def asked(self) -> dict[str, list[str]]:
        """Names of the canaries asked for so far, by party."""
        return {party: sorted(plant.asked) for party, plant in self.plants.items()}

    def learn(self, asked: Mapping[str, list[str]]) -> None:
        """Know canaries that another process has planted: those that are no carrier of the list are found only once they are known."""
        for party, names in asked.items():
            for name in names:
                self.plants[party][name]

    def planted(self) -> list[str]:
        """All carriers planted so far, as they are reported."""
        return sorted(title(party, name) for party, plant in self.plants.items() for name in plant.asked)


def title(party: str, name: str) -> str:
    """A carrier's name as it is reported."""
    return name if party == OWN or name.startswith(f"{party}.") else f"{party}: {name}"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an SDK, and what the stand-in answers."""

    request: Mapping[str, Any]
    step: Any
    stream: bool = False


def script(party: str, dialect: str) -> str:
    """The key of the stand-in's script."""
    return f"{party}-{dialect}"


def calls(dialect: str, plant: Canaries) -> list[Call]:
    """Calls of one dialect: plain and streamed, refused, broken off; requests replay earlier reasoning and tool calls."""
    asked = {**specimens.REQUESTS[dialect](plant), **specimens.caller_extras(plant)}
    said = _reply(dialect, plant)
    refusals = [Call(asked, Body(body, status=400)) for body in specimens.error_bodies(plant)]
    broken = (StreamError(said, message=plant["error.body"]), BreakOff(said, 4, clean=True))
    streams = [Call(asked, step, stream=True) for step in (said, *broken)]
    return [Call(asked, said), *streams, *_weighed(dialect, asked, plant), *refusals]


def _reply(dialect: str, plant: Canaries) -> Reply:
    blocks, fields = _MATERIAL[dialect](plant)
    return Reply([RawBlock({dialect: block}) for block in blocks], extra={dialect: fields}, delta_chars=1000)


_MATERIAL: Final[Mapping[str, Callable[[Canaries], tuple[list[Json], Json]]]] = {
    "anthropic": lambda plant: (specimens.anthropic_blocks(plant), specimens.anthropic_fields(plant)),
    "openai.chat": lambda plant: ([specimens.chat_message(plant)], {}),
    "openai.responses": lambda plant: (specimens.responses_items(plant), specimens.responses_fields(plant)),
}


def _weighed(dialect: str, asked: Mapping[str, Any], plant: Canaries) -> Iterator[Call]:
    """Chat completions with log probabilities and a function call, which the stand-in's own replies do not have."""
    if dialect != "openai.chat":
        return
    choice = {"index": 0, "finish_reason": "stop", "logprobs": specimens.chat_logprobs(plant)}
    about = {"id": "chatcmpl-1", "created": 1_790_000_000, "model": asked["model"]}
    message = specimens.chat_message(plant)
    yield Call(asked, Body({**about, "object": "chat.completion", "choices": [{**choice, "message": message}]}))
    chunk = {**about, "object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]}
    yield Call(asked, RawStream(tuple(wire(dialect, [chunk]))), stream=True)


def plays(installed: set[str], *, foreign: bool) -> list[tuple[str, str]]:
    """Party and dialect of everything that is played on the SDKs."""
    own = [(OWN, dialect) for dialect, sdk in SDK_OF.items() if sdk in installed]
    return own + ([(SDK_SPANS, "anthropic")] if foreign and "anthropic" in installed else [])


def load(standin: Standin, mark: Mark, chosen: list[tuple[str, str]]) -> int:
    """File all answers. Returns how many calls there are."""
    total = 0
    for party, dialect in chosen:
        steps = [call.step for call in calls(dialect, mark.plants[party])]
        standin.script(script(party, dialect), steps)
        total += len(steps)
    return total
