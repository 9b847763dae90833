"""Random traffic for long runs: right, odd and broken, with canaries in every carrier, always fit to be served.

A case is grown by a plain `random.Random`: a few blocks, items or fields are picked from `specimens`, and the result is
damaged: values of wrong types, nulls, missing and unknown fields, nesting, repeated and reordered events. One drawn
number seeds all of it, so that a hundred thousand cases are a matter of minutes; `shrinkable=True` lets hypothesis
draw every choice instead, which is slow and finds the smallest failing case.

The strategies need hypothesis, which is imported when the first of them is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from otel_agent.testing import specimens
from otel_agent.testing.canaries import Canaries
from otel_agent.testing.standin.rendering import FORMATS
from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import Body, RawBlock, RawStream, Reply
from otel_agent.testing.standin.wire.flavours import FLAVOURS
from otel_agent.testing.standin.wire.frames import DONE, encode, typed, unnamed
from otel_agent.testing.standin.wire.turn import Counted, Ids, Turn

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Json = dict[str, Any]
Grown = TypeVar("Grown")
DIALECTS = tuple(FORMATS)

_STOPS = (
    *("end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn", "failed", "cancelled"),
    *("model_context_window_exceeded", "compaction", "a reason nobody has heard of"),
)
_NUMBERS = (0, 1, 7, 42, 1000, 98_700, 2**31, 2**53, 2**70, -1, 0.5, 1e308)
_STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529)


@dataclass(frozen=True, slots=True)
class Case:
    """One call: what the caller sends and what may come back. `events` are a stream's payloads, in order."""

    dialect: str
    request: Json
    response: Any
    events: tuple[Any, ...]
    error: Any
    status: int

    def body(self) -> Body:
        """The response as a step of the stand-in."""
        return Body(self.response)

    def stream(self, *, malformed: bool = False) -> RawStream:
        """The stream as a step of the stand-in; `malformed` puts lines into it that are no proper events."""
        return RawStream(tuple(wire(self.dialect, self.events, malformed=malformed)))

    def failure(self) -> Body:
        """The error as a step of the stand-in."""
        return Body(self.error, status=self.status)


# Growing


def grow_response(random: Random, plant: Canaries, dialect: str, rate: float = 0.05) -> Any:
    """A response body; about `rate` of its values are damaged."""
    reply, turn = _spoken(random, plant, dialect)
    return damage(random, _weighed(random, FORMATS[dialect].body(reply, turn), plant), plant, rate)


def grow_events(random: Random, plant: Canaries, dialect: str, rate: float = 0.05) -> tuple[Any, ...]:
    """The payloads of a stream; some are damaged, lost, repeated, out of order, unknown, or the last there is."""
    reply, turn = _spoken(random, plant, dialect)
    payloads = (_weighed(random, payload, plant) for payload in FORMATS[dialect].payloads(reply, turn))
    return tuple(_disturb(random, [_perhaps_damaged(random, one, plant, rate) for one in payloads], plant, rate))


def grow_error(random: Random, plant: Canaries) -> tuple[Any, int]:
    """The body of an error answer, and its status."""
    return random.choice(specimens.error_bodies(plant)), random.choice(_STATUSES)


def grow_request(random: Random, plant: Canaries, dialect: str) -> Json:
    """A request that the SDK takes; optional fields may be missing, and the conversation may be longer or shorter."""
    whole = specimens.REQUESTS[dialect](plant)
    listed = "input" if dialect == "openai.responses" else "messages"
    needed = {"model", "max_tokens", listed}
    kept = {name: value for name, value in whole.items() if name in needed or random.random() < 0.8}
    conversation = kept[listed]
    return {**kept, listed: conversation[: random.randint(1, len(conversation))] * random.choice((1, 1, 1, 3))}


def grow_case(random: Random, plant: Canaries, dialect: str) -> Case:
    """A whole case; a third of them are undamaged."""
    rate = random.choice((0.0, 0.03, 0.15))
    error, status = grow_error(random, plant)
    return Case(
        dialect=dialect,
        request=grow_request(random, plant, dialect),
        response=grow_response(random, plant, dialect, rate),
        events=grow_events(random, plant, dialect, rate),
        error=error,
        status=status,
    )


def _spoken(random: Random, plant: Canaries, dialect: str) -> tuple[Reply, Turn]:
    blocks, fields = _MATERIAL[dialect](random, plant)
    raw = [RawBlock({dialect: block}) for block in blocks]
    usage = None if random.random() < 0.1 else _usage(random)
    reply = Reply(raw, stop=random.choice(_STOPS), extra={dialect: fields}, delta_chars=random.choice((16, 60, 1000)))
    return reply, _turn(random, dialect, usage)


def _turn(random: Random, dialect: str, usage: Counted | None) -> Turn:
    asked = b'{"stream_options":{"include_usage":true}}' if random.random() < 0.7 else b"{}"
    request = Request(1, "POST", "/v1/generated", (), asked, 0.0)
    flavour = FLAVOURS[random.choice(tuple(FLAVOURS))] if dialect == "openai.chat" else FLAVOURS["openai"]
    model = random.choice(("claude-sonnet-4-6", "gpt-6-sol", "gpt-4o-2024-08-06", ""))
    return Turn(request, Ids("generated", dialect, random.randrange(10_000)), model, flavour, usage, 1_790_000_000)


def _usage(random: Random) -> Counted:
    total, output = random.choice((0, 15, 2600, 98_700)), random.choice((0, 1, 45, 130_169))
    read = random.randint(0, total)
    return Counted(total, output, random.randint(0, output), read, random.randint(0, total - read))


def _anthropic(random: Random, plant: Canaries) -> tuple[list[Json], Json]:
    return _some(random, specimens.anthropic_blocks(plant)), _some_of(random, specimens.anthropic_fields(plant))


def _responses(random: Random, plant: Canaries) -> tuple[list[Json], Json]:
    return _some(random, specimens.responses_items(plant)), _some_of(random, specimens.responses_fields(plant))


def _chat(random: Random, plant: Canaries) -> tuple[list[Json], Json]:
    message = specimens.chat_message(plant)
    return [_some_of(random, message)], {}


_MATERIAL: Mapping[str, Callable[[Random, Canaries], tuple[list[Json], Json]]] = {
    "anthropic": _anthropic,
    "openai.chat": _chat,
    "openai.responses": _responses,
}


def _weighed(random: Random, payload: Json, plant: Canaries) -> Json:
    """The payload, sometimes with log probabilities on its choices."""
    for choice in payload.get("choices", ()):
        if random.random() < 0.1:
            choice["logprobs"] = specimens.chat_logprobs(plant)
    return payload


def _some(random: Random, blocks: Sequence[Json]) -> list[Json]:
    return [random.choice(blocks) for _ in range(random.choice((0, 1, 2, 3, 5)))]


def _some_of(random: Random, fields: Json) -> Json:
    share = random.choice((0.2, 0.6, 1.0))
    return {name: value for name, value in fields.items() if random.random() < share}


# Damaging


def damage(random: Random, value: Any, plant: Canaries, rate: float) -> Any:
    """A copy of a JSON value in which about `rate` of the fields and elements are not what they should be."""
    if isinstance(value, dict):
        kept = {name: _hurt(random, inner, plant, rate) for name, inner in value.items() if random.random() >= rate / 3}
        return {**kept, **({"surprise": plant["generated.unknown_field"]} if random.random() < rate else {})}
    if isinstance(value, list):
        return [_hurt(random, inner, plant, rate) for inner in value]
    return value


def _perhaps_damaged(random: Random, payload: Any, plant: Canaries, rate: float) -> Any:
    """Damage in some events of a stream only; most are small, and looking at each value of each would be slow."""
    return damage(random, payload, plant, rate * 2) if random.random() < rate * 3 else payload


def _hurt(random: Random, value: Any, plant: Canaries, rate: float) -> Any:
    if random.random() < rate:
        return random.choice(_WOUNDS)(random, value, plant)
    return damage(random, value, plant, rate)


def _nested(random: Random, value: Any, _plant: Canaries) -> Any:
    for _ in range(random.choice((1, 2, 3, 60))):
        value = random.choice(([value], {"type": value}, {"value": value, "type": "nested"}))
    return value


_WOUNDS: tuple[Callable[[Random, Any, Canaries], Any], ...] = (
    lambda _random, _value, _plant: None,
    lambda random, _value, _plant: random.choice(_NUMBERS),
    lambda random, _value, _plant: random.choice((True, False, "", [], {}, "\ud83e", "\u0000", "NaN")),
    lambda _random, _value, plant: plant["generated.wrong_type"],
    lambda _random, _value, plant: {"text": plant["generated.wrong_type"], "type": "text"},
    lambda _random, value, _plant: [value, value],
    lambda _random, value, _plant: str(value),
    _nested,
)


def _disturb(random: Random, payloads: list[Any], plant: Canaries, rate: float) -> Iterator[Any]:
    """The payloads with the accidents of a stream."""
    end = random.randint(0, len(payloads)) if random.random() < rate * 4 else len(payloads)
    for payload in payloads[:end]:
        yield from random.choice(_ACCIDENTS)(random, payload, plant) if random.random() < rate else (payload,)


_ACCIDENTS: tuple[Callable[[Random, Any, Canaries], Sequence[Any]], ...] = (
    lambda _random, _payload, _plant: (),
    lambda _random, payload, _plant: (payload, payload),
    lambda _random, payload, plant: (payload, {"type": "pondering", "delta": plant["generated.unknown_event"]}),
    lambda _random, _payload, plant: ({"type": "error", "error": {"message": plant["error.body"], "type": "x"}},),
    lambda random, _payload, plant: (random.choice((None, 7, [], {}, plant["generated.wrong_type"])),),
)


# On the wire


def wire(dialect: str, payloads: Sequence[Any], *, malformed: bool = False) -> Iterator[bytes]:
    """Payloads as server-sent events of that dialect; `malformed` adds comments, odd lines and half events."""
    for number, payload in enumerate(payloads):
        if malformed:
            yield _ODD_LINES[number % len(_ODD_LINES)]
        yield _event(dialect, payload)
    yield DONE if dialect == "openai.chat" else b""


def _event(dialect: str, payload: Any) -> bytes:
    if dialect == "openai.chat":
        return unnamed(payload)
    kind = payload.get("type") if isinstance(payload, dict) else None
    proper = isinstance(kind, str) and kind.isprintable() and kind.isascii()
    return typed(payload) if proper else b"event: odd\ndata: %b\n\n" % encode(payload)


_ODD_LINES = (
    b": a comment\n\n",
    b"\n\n",
    b"retry: soon\nid\n\n",
    b"event: nothing\n\n",
    b"unknown-field: x\r\n\r\n",
)


# Strategies


def responses(dialect: str, plant: Canaries, *, shrinkable: bool = False) -> SearchStrategy[Any]:
    """Response bodies."""
    return _grown(lambda random: grow_response(random, plant, dialect), shrinkable=shrinkable)


def streams(dialect: str, plant: Canaries, *, shrinkable: bool = False) -> SearchStrategy[tuple[Any, ...]]:
    """Payloads of streams."""
    return _grown(lambda random: grow_events(random, plant, dialect), shrinkable=shrinkable)


def requests(dialect: str, plant: Canaries, *, shrinkable: bool = False) -> SearchStrategy[Json]:
    """Requests, as keyword arguments of the SDK's call."""
    return _grown(lambda random: grow_request(random, plant, dialect), shrinkable=shrinkable)


def errors(plant: Canaries, *, shrinkable: bool = False) -> SearchStrategy[tuple[Any, int]]:
    """Bodies of error answers with their statuses."""
    return _grown(lambda random: grow_error(random, plant), shrinkable=shrinkable)


def cases(dialect: str, plant: Canaries, *, shrinkable: bool = False) -> SearchStrategy[Case]:
    """Whole cases."""
    return _grown(lambda random: grow_case(random, plant, dialect), shrinkable=shrinkable)


def _grown(grow: Callable[[Random], Grown], *, shrinkable: bool) -> SearchStrategy[Grown]:
    from hypothesis import strategies

    seeds = strategies.integers(0, 2**63 - 1).map(Random)
    return (strategies.randoms(use_true_random=False) if shrinkable else seeds).map(grow)
