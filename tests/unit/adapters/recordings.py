"""Recorded bodies and streams of ``tests/data``, each with the facts it must yield, in the forms an adapter meets them in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import anthropic.types as stable
import anthropic.types.beta as beta
import openai.types as openai_types
from anthropic._models import construct_type as anthropic_type
from openai._models import construct_type as openai_type
from openai.types import chat, responses

from otel_agent.protocol import Phase, RequestFacts, ResponseFacts

DATA: Final = Path(__file__).parents[2] / "data"
Build = Callable[[Any], Any]


@dataclass
class Heard:
    """An answer that keeps what it was given."""

    text: str = ""

    def update(self, text: str) -> None:
        """Add a piece."""
        self.text += text


@dataclass
class Recording:
    """One case: a request with a whole response or with the events of a stream."""

    name: str
    api: str
    request: dict[str, Any]
    facts: dict[str, Any]
    answer: str
    response: Any = None
    events: list[Any] | None = None
    phases: list[str] = field(default_factory=list)
    tallies: list[str] = field(default_factory=list)
    types: str = "stable"
    case: str | None = None
    only: str | None = None

    @property
    def id(self) -> str:
        """The case's number, if it has one, and the file's name."""
        return f"{self.case}-{self.name}" if self.case else self.name


def recordings(*apis: str) -> list[Recording]:
    """All cases of these interfaces."""
    found = (Recording(name=str(path.relative_to(DATA).with_suffix("")), **json.loads(path.read_text())) for path in files())
    return [recording for recording in found if recording.api in apis]


def files() -> Iterator[Path]:
    """The files that hold cases of ours."""
    yield from (path for path in sorted(DATA.glob("*/*.json")) if '"api"' in path.read_text())


def _anthropic(kind: Any) -> Build:
    return lambda value: anthropic_type(type_=kind, value=value)


def _openai(kind: Any) -> Build:
    return lambda value: openai_type(type_=kind, value=value)


WHOLE: Final[dict[tuple[str, str], Build]] = {
    ("messages", "stable"): _anthropic(stable.Message),
    ("messages", "beta"): _anthropic(beta.BetaMessage),
    ("chat_completions", "stable"): _openai(chat.ChatCompletion),
    ("responses", "stable"): _openai(responses.Response),
    ("responses", "compacted"): _openai(getattr(responses, "CompactedResponse", responses.Response)),  # newer SDKs only
    ("completions", "stable"): _openai(openai_types.Completion),
    ("embeddings", "stable"): _openai(openai_types.CreateEmbeddingResponse),
}
EVENT: Final[dict[tuple[str, str], Build]] = {
    ("messages", "stable"): _anthropic(stable.RawMessageStreamEvent),
    ("messages", "beta"): _anthropic(beta.BetaRawMessageStreamEvent),
    ("chat_completions", "stable"): _openai(chat.ChatCompletionChunk),
    ("responses", "stable"): _openai(responses.ResponseStreamEvent),
    ("completions", "stable"): _openai(openai_types.Completion),
}


def forms(recording: Recording) -> list[tuple[str, Recording]]:
    """The recording as parsed JSON and as the SDK's objects."""
    if recording.only:
        return [(recording.only, recording)]
    key = (recording.api, recording.types)
    built = Recording(**{member.name: getattr(recording, member.name) for member in fields(Recording)})
    if recording.events is None:
        built.response = WHOLE[key](recording.response)
    else:
        built.events = [EVENT[key](event) for event in recording.events]
    return [("json", recording), ("sdk", built)]


def read(adapter: Any, recording: Recording) -> tuple[ResponseFacts, str, list[Phase]]:
    """What an adapter makes of a recording: the facts, the visible text, the phases."""
    request: RequestFacts = adapter.read_request(recording.request)
    heard = Heard()
    if recording.events is None:
        return adapter.read_response(recording.response, request, heard), heard.text, []
    stream = adapter.accumulator(request, heard)
    phases = [stream.feed(event) for event in recording.events]
    return stream.finish(), heard.text, phases


def flat(facts: ResponseFacts) -> dict[str, Any]:
    """Facts as the data files spell them: what is absent or zero is left out."""
    plain: dict[str, Any] = {}
    for member in fields(facts):
        if member.name == "announced":  # said by streams alone, for the replay check; tested there
            continue
        value = getattr(facts, member.name)
        if member.name == "usage":
            value = {each.name: getattr(value, each.name) for each in fields(value) if getattr(value, each.name) is not None}
        elif member.name == "blocks":
            value = {each.name: getattr(value, each.name) for each in fields(value) if getattr(value, each.name)}
        elif member.name == "tool_calls":
            value = [[call.name, call.call_id] for call in value]
        elif isinstance(value, tuple):
            value = list(value)
        if value not in (None, [], {}):
            plain[member.name] = value
    return plain
