"""Token counts and the prompt cache.

A request is a row of segments: each tool definition, the system prompt, each message. A `TokenRule` says how many
tokens each has. The cache is the rule that providers state: what counts as read is the longest leading row of
segments, byte for byte, that an earlier request to the same model had.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

from otel_agent.testing.standin.request import Request, as_list, is_from_model
from otel_agent.testing.standin.script import Redacted, Refusal, Reply, Text, Thinking, ToolUse, Usage
from otel_agent.testing.standin.wire.turn import Counted, arguments_text


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a request that is cached whole or not at all."""

    text: str
    from_model: bool = False
    marked: bool = False
    """Whether it carries Anthropic's `cache_control`."""


TokenRule: TypeAlias = Callable[[Sequence[Segment]], Sequence[int]]


def by_characters(segments: Sequence[Segment]) -> Sequence[int]:
    """A quarter of the characters of the segment's JSON, rounded up."""
    return [tokens_in(segment.text) for segment in segments]


def tokens_in(text: str) -> int:
    """A quarter of the characters, rounded up."""
    return -(-len(text) // 4)


@dataclass(frozen=True, slots=True)
class PerTurn:
    """`stable` tokens for all that precedes the first model turn, `growth` for each model turn with what answers it."""

    stable: int
    growth: int

    def __call__(self, segments: Sequence[Segment]) -> Sequence[int]:
        """The head's tokens sit on its last segment, a turn's on the first that the model wrote."""
        begins = [_begins_turn(segments, place) for place in range(len(segments))]
        head = begins.index(True) if True in begins else len(segments)
        return [self.growth * begun + self.stable * (place == head - 1) for place, begun in enumerate(begins)]


def _begins_turn(segments: Sequence[Segment], place: int) -> bool:
    return segments[place].from_model and not (place and segments[place - 1].from_model)


def segments_of(request: Request) -> list[Segment]:
    """Tools, system prompt and messages, in the order in which they are cached."""
    given = [*as_list(request.setting("tools")), request.setting("system"), request.setting("instructions")]
    head = [_segment(value) for value in given if value is not None]
    return head + [_segment(message, from_model=is_from_model(message)) for message in request.conversation]


def _segment(value: Any, *, from_model: bool = False) -> Segment:
    text = json.dumps(value, ensure_ascii=False)
    marked = '"cache_control"' in text
    return Segment(json.dumps(_unmarked(value), ensure_ascii=False) if marked else text, from_model, marked)


def _unmarked(value: Any) -> Any:
    """The value without `cache_control`, which moves from turn to turn and is no part of the prompt."""
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in value.items() if name != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


class PromptCache:
    """Prefixes seen, by model; the oldest are forgotten beyond `limit`."""

    def __init__(self, limit: int = 50_000) -> None:
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._limit = limit

    def read(self, model: str, segments: Sequence[Segment], tokens: Sequence[int]) -> int:
        """Tokens of the longest prefix seen before; remembers this request's prefixes."""
        found = 0
        total = 0
        for digest, count in zip(_chain(model, segments), tokens, strict=True):
            total += count
            found = total if digest in self._seen else found
            self._seen[digest] = None
            self._seen.move_to_end(digest)
        while len(self._seen) > self._limit:
            self._seen.popitem(last=False)
        return found


def _chain(model: str, segments: Sequence[Segment]) -> Iterator[bytes]:
    link = blake2b(model.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    for segment in segments:
        link = blake2b(link + segment.text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        yield link


def written_to_cache(segments: Sequence[Segment], tokens: Sequence[int], read: int) -> int:
    """Tokens up to the last marked segment that were not read: what Anthropic bills as a cache write."""
    marks = [place for place, segment in enumerate(segments) if segment.marked]
    return max(0, sum(tokens[: marks[-1] + 1]) - read) if marks else 0


def settle(reply: Reply, segments: Sequence[Segment], tokens: Sequence[int], read: int) -> Counted | None:
    """The reply's usage with every number settled, or None when it sends none."""
    asked = reply.usage
    if asked is None:
        return None
    reasoning = _given(asked.reasoning, _reasoning_tokens(reply))
    return Counted(
        input=_given(asked.input, sum(tokens)),
        output=_given(asked.output, reasoning + _visible_tokens(reply)),
        reasoning=reasoning,
        cache_read=_given(asked.cache_read, _fitting(read, asked)),
        cache_write=_given(asked.cache_write, _fitting(written_to_cache(segments, tokens, read), asked)),
        cache_write_1h=asked.cache_write_1h,
        extra=asked.extra,
    )


def _given(explicit: int | None, counted: int) -> int:
    return counted if explicit is None else explicit


def _fitting(counted: int, asked: Usage) -> int:
    """A script that fixes the input says nothing about the cache, so none is made up for it."""
    return counted if asked.input is None else 0


def _reasoning_tokens(reply: Reply) -> int:
    open_text = sum(tokens_in(block.text) for block in reply.blocks if isinstance(block, Thinking))
    return open_text + sum(tokens_in(block.data) for block in reply.blocks if isinstance(block, Redacted))


def _visible_tokens(reply: Reply) -> int:
    texts = [block.text for block in reply.blocks if isinstance(block, Text | Refusal)]
    calls = [block.name + arguments_text(block) for block in reply.blocks if isinstance(block, ToolUse)]
    return max(1, sum(tokens_in(text) for text in texts + calls))
