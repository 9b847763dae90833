"""``StepParser``: reads the steps of agents that write Thought/Action/Observation as text, and records each."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from opentelemetry import context as otel_context

from otel_agent import guard
from otel_agent.fields import OTHER, present, size_band, tool_name, word
from otel_agent.instrument import runtime
from otel_agent.instrument.state import Run, current_run
from otel_agent.instrument.validation import Validator, Verdict
from otel_agent.react.reading import Action, Reading, read
from otel_agent.records import TextStep
from otel_agent.records.closed import StepOutcome, Validation

Schema = Mapping[str, Any]

SKIPPED: Final = Verdict("skipped")


@dataclass(frozen=True, slots=True)
class Step:
    """What the application does next. Its ``repr`` shows no text of the model; the thought is in none of its fields.

    ``tool``: the declared tool to run with ``arguments`` (an object of the input's JSON, or its plain text); ``None``
    when there is nothing to run. ``written``: the name as the model wrote it, when no tool of that name is declared.
    ``final``: the final answer, when there is one and no action: the action comes first, so that an observation
    corrects the guess. ``validation`` and ``errors``: the arguments against the tool's declared schema. ``end``: how
    much of the text belongs into the history, ``text[:end]``; what comes behind it (an invented observation, a second
    action) does not.
    """

    outcome: StepOutcome
    tool: str | None = None
    arguments: Any = field(default=None, repr=False)
    written: str | None = field(default=None, repr=False)
    final: str | None = field(default=None, repr=False)
    validation: Validation = "skipped"
    errors: int | None = None
    end: int = 0


class StepParser:
    """Parses the text of one model turn after another. One parser may serve many runs and threads.

    ``tools``: name → JSON Schema of the input (``None`` for none), or just names. ``migration``: a word for where the
    application is on its way to typed tool calls, such as ``parsing``, ``transport``, ``cleaned``; recorded with each
    step, so that a report can say what each change brought. Raises ``ValueError`` for a word that is none.
    """

    def __init__(self, tools: Mapping[str, Schema | None] | Collection[str], migration: str | None = None) -> None:
        if migration is not None and word(migration) in {None, OTHER}:
            raise ValueError("migration is one word of letters, digits, _ . and -, at most 48")
        self._migration = migration
        self._schemas: dict[str, Schema | None] = dict(tools) if isinstance(tools, Mapping) else dict.fromkeys(tools)
        self._validators = {name: Validator(_whole(schema)) for name, schema in self._schemas.items()}
        self._spellings = _spellings(self._schemas)
        self._numbers: WeakKeyDictionary[Run, int] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def parse(self, text: str) -> Step:
        """The step in ``text``. Never raises for what a model wrote; anything that is no text is an empty one."""
        reading = read(text if isinstance(text, str) else "", self._resolve)
        step = self._step(reading)
        guard.run("react.step", self._record, reading, step)
        return step

    def _resolve(self, written: str) -> str | None:
        return written if written in self._schemas else self._spellings.get(_spelling(written))

    def _step(self, reading: Reading) -> Step:
        action = reading.action
        if action is None:
            return Step(reading.outcome, final=reading.final, end=reading.end)
        tool = self._resolve(action.written)
        arguments, readable = self._arguments(action, tool)
        if not readable or reading.outcome == "malformed":
            outcome: StepOutcome = "invented_observation" if reading.outcome == "invented_observation" else "malformed"
            return Step(outcome, end=reading.end)
        verdict = SKIPPED if tool is None else self._verdict(tool, arguments)
        written = action.written if tool is None else None
        return Step(reading.outcome, tool, arguments, written, None, verdict.validation, verdict.errors, reading.end)

    def _arguments(self, action: Action, tool: str | None) -> tuple[Any, bool]:
        """The arguments, and whether it can run with them: a tool that requires none may be called without an input."""
        if action.state != "missing":
            return action.value, action.state == "read"
        schema = self._schemas.get(tool) if tool is not None else None
        return {}, schema is not None and not schema.get("required")

    def _verdict(self, tool: str, arguments: Any) -> Verdict:
        return guard.run("react.validation", self._validators[tool].check, arguments) or SKIPPED

    def _record(self, reading: Reading, step: Step) -> None:
        made, run = runtime.current(), current_run()
        values: dict[str, Any] = {
            "outcome": step.outcome, "validation": step.validation, "validation_errors": step.errors,
            "migration": self._migration, "tool": self._tool(reading),
            "dead_text_band": size_band(reading.dead) if reading.dead else 0,
        }  # fmt: skip
        if made.digester is not None and (step.tool is not None or step.written is not None):
            values["arguments_digest"] = made.digester.digest(step.arguments)
        if run is not None:
            values.update(run.identity, turn=run.totals.turns or None, step=self._number(run))
        made.emitter.event(TextStep, present(values), otel_context.get_current())

    def _tool(self, reading: Reading) -> str | None:
        """The tool as records name it: a name that the model made up is text."""
        if reading.action is None:
            return None
        declared = self._resolve(reading.action.written)
        return OTHER if declared is None else tool_name(declared)

    def _number(self, run: Run) -> int:
        with self._lock:
            self._numbers[run] = self._numbers.get(run, 0) + 1
            return self._numbers[run]


def _whole(schema: Schema | None) -> Schema | None:
    """A schema that lists properties means an object, whether or not it says so."""
    return {"type": "object", **schema} if schema is not None and "properties" in schema else schema


def _spelling(name: str) -> str:
    """A name without the differences that models add: case, and blanks or hyphens for underscores."""
    return "_".join(name.casefold().replace("-", " ").replace("_", " ").split())


def _spellings(names: Collection[str]) -> dict[str, str]:
    """Spelling → declared name, for the spellings that mean one name only."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(_spelling(name), []).append(name)
    return {spelling: same[0] for spelling, same in found.items() if len(same) == 1}
