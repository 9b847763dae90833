"""From a tool's name to its function behind schema, record and rules: the place where they hold, whatever a text says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from otel_agent.instrument.tool_spec import Decision, Governance, ToolCallView
from otel_agent.instrument.tools import wrap_dispatcher
from otel_agent.instrument.validation import Validator
from otel_agent.loop.observations import text_of
from otel_agent.loop.toolbox import InvalidArguments, Tool, Toolbox, UnknownTool

Phase = Callable[[], str | None]


class Dispatch(NamedTuple):
    """``call(name, arguments)`` runs the tool; it is a coroutine function when ``waits``."""

    call: Callable[[str, Mapping[str, Any] | None], Any]
    waits: bool = False


def _no_such_tool(_name: str, _arguments: Mapping[str, Any] | None) -> Any:
    raise UnknownTool


UNKNOWN: Final = Dispatch(wrap_dispatcher(_no_such_tool, ()))


def dispatches(box: Toolbox, phase: Phase | None) -> dict[str, Dispatch]:
    """Every tool of ``box`` by its name. ``phase``: the phase of the task now; by default the toolbox's."""
    return {item.name: _dispatch(item, box, phase or box.governance.phase) for item in box.tools}


def waits(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives a coroutine: a coroutine function, a partial of one, an object whose call is one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _dispatch(item: Tool, box: Toolbox, phase: Phase | None) -> Dispatch:
    validator, waiting = Validator(item.parameters), waits(item.function)

    def checked(arguments: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if arguments is None or validator.check(arguments).validation == "failed":
            raise InvalidArguments
        return arguments

    def call(_name: str, arguments: Mapping[str, Any] | None) -> Any:
        return item.function(**checked(arguments))

    async def call_waiting(_name: str, arguments: Mapping[str, Any] | None) -> Any:
        return await item.function(**checked(arguments))

    observed = wrap_dispatcher(
        call_waiting if waiting else call, {item.name: item.parameters}, effect=item.effect, governance=_rules(item, box.governance, phase),
        truncated=lambda result: len(text_of(result)) > box.max_chars,
    )  # fmt: skip
    return Dispatch(observed, waiting)


def _rules(item: Tool, team: Governance, phase: Phase | None) -> Governance:
    """The team's rules, behind the phase's."""

    def policy(view: ToolCallView) -> Decision:
        if item.phases is not None and view.phase not in item.phases:
            return Decision("deny", "phase")
        return Decision("allow") if team.policy is None else team.policy(view)

    ruled = team.policy is not None or item.phases is not None
    return replace(team, policy=policy if ruled else None, phase=phase)
