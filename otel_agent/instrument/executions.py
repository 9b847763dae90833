"""One tool execution, from its arguments to its record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN

from otel_agent import collected, guard
from otel_agent.budget import BudgetExceeded
from otel_agent.emit import Started
from otel_agent.fields import MAX_ITEMS, OTHER, error_type, identifier, present, tool_name, word
from otel_agent.instrument import runtime
from otel_agent.instrument.policy import enforce, judge
from otel_agent.instrument.state import Run, current_run, run_waiting_for
from otel_agent.instrument.stepping import attached
from otel_agent.instrument.tool_spec import ToolCallView, ToolDenied, ToolSpec, returned_failure
from otel_agent.instrument.validation import Validator
from otel_agent.records import ToolExecution
from otel_agent.records.closed import ToolOutcome

call_id_in_force: ContextVar[str | None] = ContextVar("otel_agent_tool_call_id", default=None)
"""The provider's id of the call being executed, set by whoever knows it."""

Key: TypeAlias = tuple[str, str | None]

_open: ContextVar[Mapping[Key, Execution]] = ContextVar("otel_agent_open_tools", default=MappingProxyType({}))
"""Tools being executed around this point, by name and run: a tool watched twice (by a runner and by a decorator) is recorded once, and
the same tool in a run inside it is another execution."""

NOTHING: Final = object()


class Execution:
    """A tool at work. Use as a context manager around the tool itself, and hand it the result."""

    def __init__(self, spec: ToolSpec, validator: Validator, arguments: Mapping[str, Any] | None, call_id: str | None) -> None:
        """Begin. Raises :class:`BudgetExceeded` when the run around it enforces its budget."""
        self._runtime = runtime.current()
        self._spec = spec
        self._arguments = arguments
        self._result: Any = NOTHING
        self._done = [True]
        name = tool_name(spec.name) or OTHER
        given = call_id or call_id_in_force.get()
        here = otel_context.get_current()
        run = current_run(here)
        parent = here
        if run is None and (run := run_waiting_for(name, given)) is not None and run.context is not None:
            parent = run.context
        self._run: Run | None = run
        self._write = spec.effect == "write"
        overlap = run.begin_tool(self._write) if run is not None else None
        self._values: dict[str, Any] = {
            "tool": name, "call_id": identifier(given) or self._expected_id(name), "kind": spec.kind, "effect": spec.effect,
            "tool_type": "extension" if spec.kind == "server" else "function", "operation": "execute_tool", "overlap": overlap or None,
        }  # fmt: skip
        self._values.update(guard.run("tool.identity", self._identity) or {})
        self._values.update(guard.run("tool.arguments", self._argument_values, validator) or {})
        self._started = guard.run("tool.span", self._runtime.emitter.begin, ToolExecution, name, present(self._values), parent) or Started(
            ToolExecution, INVALID_SPAN, parent, {}
        )
        self._begun = self._runtime.clock()
        self._attached: attached | None = None

    def _expected_id(self, name: str) -> str | None:
        if self._run is None:
            return None
        expected = self._run.call_id_for(name)
        if expected is not None:
            self._run.settle(name, expected)
        return expected

    def _identity(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self._run is not None:
            values.update(
                run_id=self._run.run_id, agent_name=self._run.agent_name, conversation_id=self._run.conversation_id,
                turn=self._run.totals.turns or None,
            )  # fmt: skip
        governance = self._spec.governance
        if governance.phase is not None:
            values["phase"] = word(guard.run("tool.phase", governance.phase))
        if governance.principal is not None and self._runtime.digester is not None:
            principal = guard.run("tool.principal", governance.principal)
            if principal is not None:
                values.update(principal=self._runtime.digester.digest(principal.id), principal_kind=principal.kind)
        return values

    def _argument_values(self, validator: Validator) -> dict[str, Any]:
        verdict = validator.check(self._arguments)
        values: dict[str, Any] = {"validation": verdict.validation, "validation_errors": verdict.errors}
        digester = self._runtime.digester
        if digester is None or self._arguments is None:
            return values
        digest, band = digester.digest_with_band(self._arguments)
        values.update(arguments_digest=digest, arguments_size_band=band)
        if self._spec.declared is not None:
            named = digester.arguments(self._arguments, self._spec.declared)
            values.update(
                argument_names=named.names[:MAX_ITEMS] or None, argument_digests=named.digests[:MAX_ITEMS] or None,
                undeclared_arguments=named.undeclared,
            )  # fmt: skip
        if self._run is not None:
            seen = self._run.repeats.observe(self._values["tool"], digest)
            values.update(repeat=seen.repeat, consecutive=seen.consecutive, cycle=seen.cycle)
        return values

    def decide(self, spec: ToolSpec, arguments: Mapping[str, Any] | None) -> None:
        """Ask the policy of ``spec``: of this tool, or of the same tool as a decorator inside it declares it.

        Raises :class:`ToolDenied` when it, or a person, refuses; the execution is then recorded as denied.
        """
        judgement = judge(spec.governance, view_of(spec, arguments, self._values))
        if judgement is None:
            return
        self._values.update(judgement.values)
        if not judgement.allowed:
            guard.run("tool.finish", self.finish, "denied")
            raise ToolDenied(self._values["tool"], judgement.rule_id)

    def __enter__(self) -> Self:
        self._attached = attached(self._started.context)
        self._attached.__enter__()
        self._names = _open.get()
        _open.set({**self._names, (self._spec.name, None if self._run is None else self._run.run_id): self})
        return self

    def result(self, value: Any) -> None:
        """Hand over what the tool returned: read for success, digested, and let go."""
        self._result = value

    def detach(self) -> None:
        """Leave the context without ending: the tool goes on in an awaitable."""
        if self._attached is not None:
            self._attached.__exit__(None, None, None)
            _open.set(self._names)
            self._attached = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.detach()
        guard.run("tool.finish", self.close, error)

    def close(self, error: BaseException | None) -> None:
        """End with the result handed over, or with an exception."""
        if error is not None:
            self.finish(outcome_of(error), error_type(type(error).__name__))
        elif self._result is not NOTHING and guard.run("tool.failed", self._failed, self._result):
            self.finish("error", "tool_error")
        else:
            self.finish("ok")
        self._result = NOTHING

    def _failed(self, result: Any) -> bool:
        if returned_failure(result):
            return True
        predicate = self._spec.failed
        return predicate is not None and bool(predicate(result))

    def finish(self, outcome: ToolOutcome, error: str | None = None) -> None:
        """Emit the record, once."""
        try:
            self._done.pop()
        except IndexError:
            return
        collected.run("tool.finish", self._finish, outcome, error, self._result)

    def _finish(self, outcome: ToolOutcome, error: str | None, result: Any) -> None:
        read = guard.run("tool.result", self._result_values, result) or {}
        values = {**self._values, **read, "outcome": self._outcome(outcome), "error_type": error}
        values["duration"] = self._runtime.clock() - self._begun
        guard.run("tool.emit", self._runtime.emitter.finish, self._started, present(values))
        if self._run is not None:
            self._run.end_tool(values["outcome"], self._write, bool(values["overlap"]))
            if values["call_id"] is not None:
                self._run.settle(values["tool"], values["call_id"])

    def _outcome(self, outcome: ToolOutcome) -> ToolOutcome:
        """Why it failed, where more is known: no such tool, or arguments that did not fit the declared schema."""
        if self._spec.name == OTHER:
            return "unknown_tool"
        return "invalid_arguments" if outcome == "error" and self._values.get("validation") == "failed" else outcome

    def _result_values(self, result: Any) -> dict[str, Any]:
        spec, digester = self._spec, self._runtime.digester
        if result is NOTHING:
            return {}
        values: dict[str, Any] = {}
        if spec.truncated is not None:
            values["result_truncated"] = bool(guard.run("tool.truncated", spec.truncated, result)) or None
        if spec.result_ids is not None:
            found = guard.run("tool.result_ids", spec.result_ids, result) or ()
            values["result_ids"] = tuple(known for item in list(found)[:MAX_ITEMS] if (known := identifier(item))) or None
        if digester is None:
            return values
        values["result_digest"], values["result_size_band"] = digester.digest_with_band(result)
        if self._run is not None and (arguments := self._values.get("arguments_digest")) is not None:
            values["same_result"] = self._run.repeats.result(self._values["tool"], arguments, values["result_digest"])
        return values

    @property
    def context(self) -> Context:
        """The context in which the tool runs."""
        return self._started.context


def outcome_of(error: BaseException) -> ToolOutcome:
    """The outcome that an exception stands for."""
    if isinstance(error, ToolDenied):
        return "denied"
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)):
        return "cancelled"
    return "error"


def begin(spec: ToolSpec, validator: Validator, arguments: Mapping[str, Any] | None, call_id: str | None) -> Execution | None:
    """An execution to watch; ``None`` when this very tool is being watched already, or the caller keeps the stretch unobserved.

    Raises what the caller asked for, and only that: :class:`BudgetExceeded` and :class:`ToolDenied`.
    """
    watching = _watching(spec)
    if watching is not None:
        watching.decide(spec, arguments)
        return None
    suppressed = otel_context.get_value(runtime.SUPPRESS)
    made = None if suppressed else guard.run("tool.begin", _begin, spec, validator, arguments, call_id)
    if isinstance(made, BudgetExceeded):
        raise made
    if made is None:
        enforce(spec.governance, view_of(spec, arguments, {"call_id": call_id}))
    else:
        made.decide(spec, arguments)
    return made


def _watching(spec: ToolSpec) -> Execution | None:
    """The execution that watches this very tool already."""
    opened = _open.get()
    if not opened:
        return None
    run = current_run()
    return opened.get((spec.name, None if run is None else run.run_id))


def view_of(spec: ToolSpec, arguments: Mapping[str, Any] | None, values: Mapping[str, Any]) -> ToolCallView:
    """What policy and approval are shown."""
    return ToolCallView(tool_name(spec.name) or OTHER, arguments or {}, spec.effect, values.get("phase"), values.get("call_id"))


def _begin(spec: ToolSpec, validator: Validator, arguments: Mapping[str, Any] | None, call_id: str | None) -> Execution | BudgetExceeded:
    """The budget's exception is handed over as a value, since everything raised in here is ours and is held."""
    try:
        return Execution(spec, validator, arguments, call_id)
    except BudgetExceeded as exceeded:
        return exceeded
