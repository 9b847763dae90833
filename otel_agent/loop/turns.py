"""What a loop and a model adapter say to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool as the model is shown it. ``parameters`` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model asks for. ``arguments`` is ``None`` when they could not be read."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Result:
    """What goes back for one call."""

    call_id: str
    text: str = field(repr=False)
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the model. ``items`` go into the transcript exactly as they are, reasoning included.

    ``cut_off``: a limit ended it, so its calls may be incomplete. ``failed``: the provider gave it up. ``paused``: the
    provider wants the transcript back as it is. The ``repr`` of these classes shows nothing that a model or a tool said.
    """

    items: Sequence[Any] = field(repr=False)
    text: str = field(repr=False)
    calls: Sequence[Call]
    input_tokens: int = 0
    output_tokens: int = 0
    cut_off: bool = False
    failed: bool = False
    paused: bool = False


class ModelAdapter(Protocol):
    """One interface of one provider. The transcript is a list of its own items, and only ever appended to.

    ``send`` is all that does anything; the rest is pure, and so the same for synchronous and asynchronous clients.
    """

    def opening(self, task: str) -> list[Any]:
        """The items that put ``task`` to the model."""

    def send(self, transcript: list[Any], tools: Sequence[Declared]) -> Any:
        """Make one request with all of it. What the client gives: the reply, or with an asynchronous client an awaitable of it."""

    def read(self, reply: Any) -> Turn:
        """The turn in a reply."""

    def answers(self, results: Sequence[Result]) -> list[Any]:
        """The items that answer the calls of one turn."""
