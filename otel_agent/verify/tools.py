"""Tools with a canary in every place where an executor sees text: arguments, results, docstrings, exceptions and what hangs on them."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from otel_agent.instrument.runs import agent_run
from otel_agent.instrument.tools import tool
from otel_agent.testing.canaries import Canaries

FILE: Final = "<verification>"


class Told(RuntimeError):
    """An exception whose representation says more than its message."""

    def __init__(self, message: str, shown: str) -> None:
        super().__init__(message)
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown


def play(plant: Canaries, agent: str) -> None:
    """Run every tool inside of a run, then one run that dies of its tool."""
    returning, failing, refusing, progressing = tools(plant)
    with agent_run(agent):
        returning(note=plant["tool.arguments"])
        refusing(note=plant["tool.arguments"])
        list(progressing(note=plant["tool.arguments"]))
        with suppress(Told):
            failing(note=plant["tool.arguments"])
    with suppress(Told), agent_run(agent):
        failing(note=plant["tool.arguments"])


def tools(plant: Canaries) -> tuple[Callable[..., Any], ...]:
    """Watched tools: one returns, one raises, one returns its failure as data, one yields."""

    def returning(note: str) -> dict[str, str]:
        return {"said": plant["tool.result"]}

    def failing(note: str) -> None:
        raise_in_source(error(plant), plant["error.source_line"])

    def refusing(note: str) -> dict[str, Any]:
        return {"isError": True, "content": [{"type": "text", "text": plant["tool.error_result"]}]}

    def progressing(note: str) -> Iterator[str]:
        yield plant["tool.progress"]

    plain = (returning, failing, refusing, progressing)
    for function in plain:
        function.__doc__ = plant["tool.docstring"]
    return tuple(tool(function) for function in plain)


def error(plant: Canaries) -> Told:
    """An exception with something attached everywhere."""
    made = Told(plant["error.message"], plant["error.repr"])
    made.__context__ = LookupError(plant["error.context"])
    made.__cause__ = KeyError(plant["error.cause"])
    made.add_note(plant["error.note"])
    return made


def raise_in_source(error: BaseException, comment: str) -> None:
    """Raise from a line of source that a traceback would quote, comment and all."""
    source = f"raise error  # {comment}\n"
    linecache.cache[FILE] = (len(source), None, [source], FILE)
    exec(compile(source, FILE, "exec"), {"error": error})  # noqa: S102 - the line above
