"""One generated case, played through a real SDK client in one of the ways a caller may choose."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pydantic

from otel_agent.testing import generators, specimens
from otel_agent.testing.canaries import Canaries

from .wires import Answer, Wire, body_of, stream_of

PLANT = Canaries("fuzz")

SDK_OF = {"anthropic": "anthropic", "openai.chat": "openai", "openai.responses": "openai"}
RESOURCE = {"anthropic": ("messages",), "openai.chat": ("chat", "completions"), "openai.responses": ("responses",)}
RUN_LENGTH = 5
"""How many calls in a row make one agent run, where runs are played."""


@dataclass(frozen=True)
class Play:
    """One call to make: ``kwargs`` for the SDK, ``answer`` from the provider, ``way`` to make it. ``stop``: items to read, then leave."""

    seed: int
    dialect: str
    way: str
    kwargs: dict[str, Any]
    answer: Answer
    stop: int | None = None
    in_run: bool = False


WAYS = (
    *("plain",) * 6, *("stream",) * 6, *("failure",) * 2,
    "raw", "raw_stream", "streaming", "streaming_stream", "helper", "left_early", "dropped",
)  # fmt: skip
STREAMED = frozenset({"stream", "raw_stream", "streaming_stream", "helper", "left_early", "dropped"})


def play_of(seed: int, dialect: str, random: Random | None = None) -> Play:
    """The play of a seed, the same each time; with ``random``, of its choices."""
    random = random or Random(f"{dialect}/{seed}")
    way = random.choice(WAYS)
    rate = random.choice((0.0, 0.03, 0.15))
    kwargs = _odd(random, generators.grow_request(random, PLANT, dialect))
    if random.random() < 0.2:
        kwargs |= specimens.caller_extras(PLANT)
    if way in STREAMED - {"helper"}:
        kwargs["stream"] = True
    if way == "helper":
        kwargs.pop("response_format", None)
    return Play(seed, dialect, way, kwargs, _answer(random, way, dialect, rate), _stop(random, way), in_run=seed // RUN_LENGTH % 2 == 1)


def _odd(random: Random, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The request; in a third of them what is sent back or offered is damaged, as a careless host might."""
    if random.random() < 0.67:
        return kwargs
    return {name: generators.damage(random, value, PLANT, 0.03) if name in DAMAGED else value for name, value in kwargs.items()}


DAMAGED = frozenset({"messages", "input", "tools", "system", "metadata", "thinking", "reasoning", "text"})


def _stop(random: Random, way: str) -> int | None:
    return random.choice((0, 1, 3)) if way in {"left_early", "dropped"} else None


def _answer(random: Random, way: str, dialect: str, rate: float) -> Answer:
    if way == "failure":
        return body_of(*generators.grow_error(random, PLANT))
    if way in STREAMED:
        events = generators.grow_events(random, PLANT, dialect, rate)
        chunks = [*generators.wire(dialect, events, malformed=random.random() < 0.1)]
        return stream_of(chunks, random.choice((None, None, 7, 100, 4096)))
    return body_of(generators.grow_response(random, PLANT, dialect, rate))


async def run(play: Play, client: Any, wire: Wire) -> list[Any]:
    """Everything the caller saw, in order, ending with the exception if there was one."""
    wire.answer = play.answer
    seen: list[Any] = []
    resource = client
    for name in RESOURCE[play.dialect]:
        resource = getattr(resource, name)
    try:
        await DOERS[play.way](play, resource, seen)
    except Exception as error:  # whatever the SDK raises must be the same with and without us
        seen.append(said(error))
    return seen


def said(error: BaseException) -> tuple[Any, ...]:
    """An exception as the caller sees it."""
    shown = (str(error), repr(getattr(error, "body", None)), getattr(error, "status_code", None))
    return type(error), shown, None if error.__cause__ is None else type(error.__cause__)


def content(value: Any) -> tuple[type, str]:
    """A returned object, comparable whatever is in it (not-a-number too)."""
    if isinstance(value, pydantic.BaseModel):
        try:
            return type(value), repr(value.model_dump(warnings=False))
        except Exception:
            return type(value), repr(value)
    return type(value), repr({name: content(inner) for name, inner in vars(value).items()}) if hasattr(value, "__dict__") else repr(value)


async def done(value: Any) -> Any:
    """The value, awaited where it has to be."""
    return await value if inspect.isawaitable(value) else value


async def read(stream: Any, seen: list[Any], stop: int | None = None) -> None:
    """Read a stream, or its first ``stop`` items."""
    if stop == 0:
        return
    left = -1 if stop is None else stop
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            seen.append(content(item))
            left -= 1
            if left == 0:
                return
        return
    for item in stream:
        seen.append(content(item))
        left -= 1
        if left == 0:
            return


@asynccontextmanager
async def within(manager: Any) -> Any:
    """What a sync or async context manager enters."""
    if hasattr(manager, "__aenter__"):
        async with manager as entered:
            yield entered
    else:
        with manager as entered:
            yield entered


async def _plain(play: Play, resource: Any, seen: list[Any]) -> None:
    result = await done(resource.create(**play.kwargs))
    seen += [content(result), getattr(result, "_request_id", None)]


async def _stream(play: Play, resource: Any, seen: list[Any]) -> None:
    stream = await done(resource.create(**play.kwargs))
    seen.append(type(stream))
    await read(stream, seen)


async def _left_early(play: Play, resource: Any, seen: list[Any]) -> None:
    async with within(await done(resource.create(**play.kwargs))) as stream:
        await read(stream, seen, play.stop)


async def _dropped(play: Play, resource: Any, seen: list[Any]) -> None:
    stream = await done(resource.create(**play.kwargs))
    await read(stream, seen, play.stop)


async def _raw(play: Play, resource: Any, seen: list[Any]) -> None:
    response = await done(resource.with_raw_response.create(**play.kwargs))
    seen += [type(response), response.status_code, dict(response.headers)]
    result = await done(response.parse())
    if play.way == "raw":
        seen.append(content(result))
    else:
        await read(result, seen)


async def _streaming(play: Play, resource: Any, seen: list[Any]) -> None:
    async with within(resource.with_streaming_response.create(**play.kwargs)) as response:
        seen += [type(response), response.status_code]
        result = await done(response.parse())
        if play.way == "streaming":
            seen.append(content(result))
        else:
            await read(result, seen)


async def _helper(play: Play, resource: Any, seen: list[Any]) -> None:
    async with within(resource.stream(**play.kwargs)) as stream:
        seen.append(type(stream))
        await read(stream, seen)


DOERS: dict[str, Callable[[Play, Any, list[Any]], Any]] = {
    "plain": _plain, "failure": _plain, "stream": _stream, "left_early": _left_early, "dropped": _dropped,
    "raw": _raw, "raw_stream": _raw, "streaming": _streaming, "streaming_stream": _streaming, "helper": _helper,
}  # fmt: skip


def differences(plays: Sequence[Play], bare: Sequence[Any], observed: Sequence[Any]) -> list[str]:
    """What the caller could tell apart, by seed and place; contents are not repeated."""
    found = []
    for play, before, after in zip(plays, bare, observed, strict=True):
        if before != after:
            at = next((n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), "length")
            found.append(f"{play.dialect} seed {play.seed} ({play.way}) differs at {at}: {_brief(before, at)} / {_brief(after, at)}")
    return found


def _brief(seen: Sequence[Any], at: Any) -> str:
    return str(len(seen) if at == "length" else seen[at])[:300]
