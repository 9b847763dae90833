"""Tools, and the executor that runs them: the place where phase, policy and approval hold, whatever a text says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import TracebackType
from typing import Any, Final, Self

from otel_agent.instrument.tool_spec import Decision, Governance, ToolCallView, ToolDenied
from otel_agent.instrument.tools import tool_call, wrap_dispatcher
from otel_agent.instrument.validation import Validator
from otel_agent.loop.turns import Call, Declared, Result
from otel_agent.records.closed import ToolEffect

Dispatch = Callable[[str, Mapping[str, Any] | None], Any]

ANYTHING: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


class UnknownTool(LookupError):
    """The model asked for a tool that does not exist."""


class InvalidArguments(ValueError):
    """The arguments are no JSON object, or do not fit the tool's schema."""


SENTENCES: Final[Mapping[type[BaseException], str]] = {
    ToolDenied: "The call was refused. It did not run.",
    UnknownTool: "There is no tool of that name.",
    InvalidArguments: "The arguments do not fit the tool's schema. It did not run.",
    TimeoutError: "The tool took too long.",
}
"""What the model is told. Never the exception's own words: they are written for somebody else."""


@dataclass(frozen=True, slots=True)
class Tool:
    """``effect``: only a ``read`` may run beside others. ``phases``: where it may be used; everywhere by default.

    A function that writes should be idempotent: a model may ask twice.
    """

    name: str
    function: Callable[..., Any]
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: ANYTHING)
    effect: ToolEffect = "unknown"
    phases: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools under the team's rules. A result longer than ``max_chars`` is cut, and says so."""

    tools: Sequence[Tool]
    governance: Governance = field(default_factory=Governance)
    max_chars: int = 20_000
    workers: int = 8

    @property
    def declared(self) -> list[Declared]:
        """All tools, the same ones in every phase: a changed list would break the provider's prompt cache."""
        return [Declared(item.name, item.description, item.parameters) for item in self.tools]


class Executor:
    """Runs the calls of one turn after another; a context manager, since it holds threads."""

    def __init__(self, box: Toolbox, phase: Callable[[], str | None] | None = None) -> None:
        self._box = box
        self._phase = phase or box.governance.phase
        self._effects = {item.name: item.effect for item in box.tools}
        self._run = {item.name: self._observed(item) for item in box.tools}
        self._unknown: Dispatch = wrap_dispatcher(_no_such_tool, ())
        self._pool = ThreadPoolExecutor(box.workers, "otel-agent-loop")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pool.shutdown(wait=error is None, cancel_futures=True)

    def _observed(self, item: Tool) -> Dispatch:
        """The tool behind its schema, its record, and the rules."""
        validator = Validator(item.parameters)

        def dispatch(_name: str, arguments: Mapping[str, Any] | None) -> Any:
            if arguments is None or validator.check(arguments).validation == "failed":
                raise InvalidArguments
            return item.function(**arguments)

        return wrap_dispatcher(
            dispatch, {item.name: item.parameters}, effect=item.effect, governance=self._rules(item),
            truncated=lambda result: len(text_of(result)) > self._box.max_chars,
        )  # fmt: skip

    def _rules(self, item: Tool) -> Governance:
        """The team's rules, behind the phase's."""
        team = self._box.governance

        def policy(view: ToolCallView) -> Decision:
            if item.phases is not None and view.phase not in item.phases:
                return Decision("deny", "phase")
            return Decision("allow") if team.policy is None else team.policy(view)

        ruled = team.policy is not None or item.phases is not None
        return replace(team, policy=policy if ruled else None, phase=self._phase)

    def execute(self, calls: Sequence[Call]) -> list[Result]:
        """Results in the order of the calls. Reads that stand together run together; anything else runs by itself."""
        results: list[Result] = []
        for reading, group in [(reading, list(group)) for reading, group in groupby(calls, key=self._reads)]:
            results += self._together(group) if reading else map(self._alone, group)
        return results

    def _reads(self, call: Call) -> bool:
        return self._effects.get(call.name) == "read"

    def _together(self, calls: Sequence[Call]) -> list[Result]:
        started = [self._start(call) for call in calls]
        return [self._settle(future, call) for future, call in zip(started, calls, strict=True)]

    def _alone(self, call: Call) -> Result:
        return self._settle(self._start(call), call)

    def _start(self, call: Call) -> Future[Any]:
        """In a thread that carries this context, and with it the run."""
        return self._pool.submit(copy_context().run, self._one, call)

    def _one(self, call: Call) -> Any:
        with tool_call(call.id):
            return self._run.get(call.name, self._unknown)(call.name, call.arguments)

    def _settle(self, future: Future[Any], call: Call) -> Result:
        """A failure is an observation; only an interrupt is raised."""
        error = future.exception()
        if error is None:
            return Result(call.id, shown(text_of(future.result()), self._box.max_chars))
        if not isinstance(error, Exception):
            raise error
        return Result(call.id, sentence(error), failed=True)


def _no_such_tool(_name: str, _arguments: Mapping[str, Any] | None) -> Any:
    raise UnknownTool


def sentence(error: Exception) -> str:
    """What the model is told about a failure: a fixed sentence, or the exception's type."""
    known = (text for kind, text in SENTENCES.items() if isinstance(error, kind))
    return next(known, f"The tool failed with {type(error).__name__}.")


def text_of(result: Any) -> str:
    """A result as text."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def shown(text: str, limit: int) -> str:
    """``text``, cut with a marker when it is too long."""
    return text if len(text) <= limit else f"{text[:limit]}\n[cut here: {limit} of {len(text)} characters shown]"
