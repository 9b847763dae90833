"""Tools as they are declared, and why a call of one does not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from otel_agent.instrument.tool_spec import EFFECTS, Governance, check_listed
from otel_agent.loop.turns import Declared
from otel_agent.records.closed import ToolEffect

ANYTHING: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


class UnknownTool(LookupError):
    """The model asked for a tool that does not exist."""


class InvalidArguments(ValueError):
    """The arguments are no JSON object, or do not fit the tool's schema."""


@dataclass(frozen=True, slots=True)
class Tool:
    """``effect``: only a ``read`` may run beside others. ``phases``: where it may be used; everywhere by default.

    A function that writes should be idempotent: a model may ask twice. A coroutine function needs an :class:`AsyncLoop`.

    Raises ``ValueError`` for an ``effect`` outside its closed set.
    """

    name: str
    function: Callable[..., Any]
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: ANYTHING)
    effect: ToolEffect = "unknown"
    phases: frozenset[str] | None = None

    def __post_init__(self) -> None:
        check_listed("effect", self.effect, EFFECTS)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools under the team's rules. A result longer than ``max_chars`` is cut, and says so; ``workers`` calls run at once.

    Raises ``ValueError`` for two tools of one name: the model would be offered both, and only one could run.
    """

    tools: Sequence[Tool]
    governance: Governance = field(default_factory=Governance)
    max_chars: int = 20_000
    workers: int = 8

    def __post_init__(self) -> None:
        counted = Counter(item.name for item in self.tools)
        if twice := [name for name, times in counted.items() if times > 1]:
            raise ValueError(f"a toolbox holds each tool once; several are named {', '.join(twice)}")

    @property
    def declared(self) -> list[Declared]:
        """All tools, the same ones in every phase: a changed list would break the provider's prompt cache."""
        return [Declared(item.name, item.description, item.parameters) for item in self.tools]
