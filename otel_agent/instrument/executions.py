"""One tool execution, from its arguments to its record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from itertools import islice
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN

from otel_agent import collected, guard
from otel_agent.budget import BudgetExceeded
from otel_agent.digest import Digester
from otel_agent.emit import Started
from otel_agent.fields import MAX_ITEMS, OTHER, error_type, identifier, present, tool_name, word
from otel_agent.instrument import runtime
from otel_agent.instrument.policy import enforce, judge
from otel_agent.instrument.state import Run, current_run, run_waiting_for
from otel_agent.instrument.stepping import attached
from otel_agent.instrument.tool_spec import Principal, ToolCallView, ToolDenied, ToolSpec, returned_failure
from otel_agent.instrument.validation import Validator
from otel_agent.records import ToolExecution
from otel_agent.records.closed import ToolOutcome

call_id_in_force: ContextVar[str | None] = ContextVar("otel_agent_tool_call_id", default=None)
"""The provider's id of the call being executed, set by whoever knows it."""

Key: TypeAlias = tuple[str, str | None]

_open: ContextVar[Mapping[Key, Execution]] = ContextVar("otel_agent_open_tools", default=MappingProxyType({}))
"""Tools being executed around this point, by name and run: a tool watched twice (by a runner and by a decorator) is recorded once, and
the same tool called by itself, or in a run inside it, is another execution."""

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
        self._attached: attached | None = None
        self._watchers: dict[int, tuple[ToolSpec, Mapping[str, Any] | None]] = {}
        given = call_id or call_id_in_force.get()
        name = tool_name(spec.name) or OTHER
        parent = otel_context.get_current()
        run = current_run(parent)
        if run is None and (run := run_waiting_for(name, given)) is not None and run.context is not None:
            parent = run.context
        self._run: Run | None = run
        self._write = spec.effect == "write"
        self._overlap = run is not None and run.begin_tool(self._write)
        # Facts for the end wait apart: a span that has begun is not told again what it knows.
        self._facts: dict[str, Any] = {"overlap": True} if self._overlap else {}
        self._known: dict[str, Any] = {
            "tool": name, "kind": spec.kind, "effect": spec.effect, "tool_type": "extension" if spec.kind == "server" else "function",
            "operation": "execute_tool",
        }  # fmt: skip
        if (known := identifier(given) or self._expected_id(name)) is not None:
            self._known["call_id"] = known
        self._identify()
        guard.run("tool.arguments", self._read_arguments, validator)
        self._started = guard.run("tool.span", self._runtime.emitter.begin, ToolExecution, name, self._known, parent) or Started(
            ToolExecution, INVALID_SPAN, parent, {}
        )
        self._begun = self._runtime.clock()

    def _expected_id(self, name: str) -> str | None:
        if self._run is None:
            return None
        expected = self._run.call_id_for(name)
        if expected is not None:
            self._run.settle(name, expected)
        return expected

    def _identify(self) -> None:
        known, governance = self._known, self._spec.governance
        if self._run is not None:
            known.update(self._run.identity)
            if self._run.totals.turns:
                known["turn"] = self._run.totals.turns
        if governance.phase is not None and (phase := word(guard.run("tool.phase", governance.phase))) is not None:
            known["phase"] = phase
        if governance.principal is not None and self._runtime.digester is not None:
            known.update(guard.run("tool.principal", _principal, governance.principal, self._runtime.digester) or {})

    def _read_arguments(self, validator: Validator) -> None:
        facts = self._facts
        facts["validation"], errors = validator.check(self._arguments)
        if errors is not None:
            facts["validation_errors"] = errors
        digester = self._runtime.digester
        if digester is None or self._arguments is None:
            return
        digest, band, named = digester.call(self._arguments, self._spec.declared)
        facts["arguments_digest"] = digest
        if band is not None:
            facts["arguments_size_band"] = band
        if named.names:
            facts["argument_names"], facts["argument_digests"] = named.names, named.digests
        if named.undeclared is not None:
            facts["undeclared_arguments"] = named.undeclared
        if self._run is not None:
            facts["repeat"], facts["consecutive"], cycle = self._run.repeats.observe(self._known["tool"], digest)
            if cycle is not None:
                facts["cycle"] = cycle

    def decide(self, spec: ToolSpec, arguments: Mapping[str, Any] | None) -> None:
        """Ask the policy of ``spec``: of this tool, or of the same tool as a decorator inside it declares it.

        Raises :class:`ToolDenied` when it, or a person, refuses; the execution is then recorded as denied.
        """
        if spec.governance.policy is None:
            return
        judgement = judge(spec.governance, view_of(spec, arguments, self._known))
        if judgement is None:
            return
        self._facts.update(present(judgement.values))
        if not judgement.allowed:
            guard.run("tool.finish", self.finish, "denied")
            raise ToolDenied(self._known["tool"], judgement.rule_id)

    def covers(self, spec: ToolSpec, arguments: Mapping[str, Any] | None) -> bool:
        """Whether a call watched inside this one is this very call, watched once more (by a decorator inside a runner, say).

        It is another one, a recursion, when it is watched by who watches this one, or by who was inside already with other arguments.
        """
        if spec is self._spec:
            return False
        _, before = self._watchers.setdefault(id(spec), (spec, arguments))
        return before is None or arguments is None or _alike(before, arguments)

    def __enter__(self) -> Self:
        self._attached = attached(self._started.context)
        self._attached.__enter__()
        self._names, self._in_force = _open.get(), call_id_in_force.get()
        if self._in_force is not None:
            call_id_in_force.set(None)  # it is this call's; a tool called by this one has another, or none
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
            if self._in_force is not None:
                call_id_in_force.set(self._in_force)
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
        facts = self._facts
        if result is not NOTHING:
            guard.run("tool.result", self._read_result, result)
        facts["outcome"] = outcome = self._outcome(outcome)
        if error is not None:
            facts["error_type"] = error
        facts["duration"] = self._runtime.clock() - self._begun
        guard.run("tool.emit", self._runtime.emitter.finish, self._started, facts)
        if self._run is not None:
            self._run.end_tool(outcome, self._write, self._overlap)
            if (call_id := self._known.get("call_id")) is not None:
                self._run.settle(self._known["tool"], call_id)

    def _outcome(self, outcome: ToolOutcome) -> ToolOutcome:
        """Why it failed, where more is known: no such tool, or arguments that did not fit the declared schema."""
        if self._spec.name == OTHER:
            return "unknown_tool"
        return "invalid_arguments" if outcome == "error" and self._facts.get("validation") == "failed" else outcome

    def _read_result(self, result: Any) -> None:
        spec, digester, facts = self._spec, self._runtime.digester, self._facts
        if spec.truncated is not None and guard.run("tool.truncated", spec.truncated, result):
            facts["result_truncated"] = True
        if spec.result_ids is not None and (found := guard.run("tool.result_ids", _ids, spec.result_ids, result)):
            facts["result_ids"] = found
        if digester is None:
            return
        facts["result_digest"], band = digester.digest_with_band(result)
        if band is not None:
            facts["result_size_band"] = band
        if self._run is not None and (arguments := facts.get("arguments_digest")) is not None:
            again = self._run.repeats.result(self._known["tool"], arguments, facts["result_digest"])
            if again is not None:
                facts["same_result"] = again

    @property
    def context(self) -> Context:
        """The context in which the tool runs."""
        return self._started.context


def _ids(pick: Callable[[Any], Iterable[str]], result: Any) -> tuple[str, ...]:
    return tuple([known for item in islice(pick(result) or (), MAX_ITEMS) if (known := identifier(item))])


def _principal(ask: Callable[[], Principal | None], digester: Digester) -> dict[str, str]:
    principal = ask()
    return {} if principal is None else {"principal": digester.digest(principal.id), "principal_kind": principal.kind}


def outcome_of(error: BaseException) -> ToolOutcome:
    """The outcome that an exception stands for."""
    kind = type(error)  # what a class says of itself when asked by ``isinstance`` is code of its own
    return next((outcome for causes, outcome in OUTCOMES if issubclass(kind, causes)), "error")


OUTCOMES: Final[tuple[tuple[type | tuple[type, ...], ToolOutcome], ...]] = (
    (ToolDenied, "denied"),
    (TimeoutError, "timeout"),
    ((asyncio.CancelledError, KeyboardInterrupt, GeneratorExit), "cancelled"),
)
"""Exceptions that are no mere error."""


_WORDS: Final = frozenset({str, int, float, bool})


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the arguments are the same values; of the caller's own objects, whether they are the same objects."""
    return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in _WORDS and bool(one == other))


def begin(spec: ToolSpec, validator: Validator, arguments: Mapping[str, Any] | None, call_id: str | None) -> Execution | None:
    """An execution to watch; ``None`` when this very tool is being watched already, or the caller keeps the stretch unobserved.

    Raises what the caller asked for, and only that: :class:`BudgetExceeded` and :class:`ToolDenied`.
    """
    watching = _watching(spec)
    if watching is not None and guard.run("tool.covers", watching.covers, spec, arguments) is not False:
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
