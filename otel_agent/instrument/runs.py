"""``agent_run``: one agent run as a context manager or a decorator, for sync and async code and generators."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import ContextVar
from functools import wraps
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar, cast, get_args

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN

from otel_agent import collected, guard
from otel_agent.budget import REASONS, Budget, BudgetExceeded, OnExceed
from otel_agent.emit import Started
from otel_agent.fields import error_type, identifier, present, tool_name
from otel_agent.instrument import runtime
from otel_agent.instrument.given_names import look_at
from otel_agent.instrument.runtime import Runtime
from otel_agent.instrument.state import RUN_KEY, Run, new_history
from otel_agent.instrument.stepping import Stepped, SteppedAsync, attached
from otel_agent.records import AgentRun, RunStarted
from otel_agent.records.closed import EndReason
from otel_agent.replay import Replay

P = ParamSpec("P")
R = TypeVar("R")

SUMS: Final = (
    "turns", "tool_calls", "tool_failures", "truncated_turns", "usage_missing_turns", "prefix_breaks", "denied", "conflicting_writes",
    "input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens", "resent_tokens",
)  # fmt: skip
END_REASONS: Final[tuple[str, ...]] = get_args(EndReason)
LIMITS: Final = ("turns", "input_tokens", "output_tokens", "seconds", "tool_calls")


class ActiveRun:
    """What ``agent_run`` hands to its block."""

    def __init__(self, made: Runtime, run: Run, started: Started, version: str | None = None) -> None:
        self._runtime = made
        self._started = started
        self._run = run
        self._version = version
        self._reason: EndReason | None = None
        self._partial: bool | None = None
        self._open = [True]

    @property
    def run_id(self) -> str:
        """The run's id, as on every record of it."""
        return self._run.run_id

    @property
    def context(self) -> Context:
        """The OpenTelemetry context of the run, for code that carries contexts by hand."""
        return self._started.context

    def end(self, reason: EndReason, *, partial_answer: bool | None = None) -> None:
        """Say why the run ended, where only the application knows (``handed_off``, ``waiting``, its own ``turn_limit``).

        Raises ``ValueError`` for a reason outside the closed set.
        """
        if reason not in END_REASONS:
            raise ValueError(f"a run's end reason is one of {', '.join(END_REASONS)}")
        self._reason, self._partial = reason, None if partial_answer is None else bool(partial_answer)

    def bind(self, function: Callable[P, R]) -> Callable[P, R]:
        """``function``, to be called in this run from a thread that has no context of its own (a bare thread pool)."""

        @wraps(function)
        def bound(*args: P.args, **kwargs: P.kwargs) -> R:
            with attached(self._started.context):
                return function(*args, **kwargs)

        return bound

    def finish(self, error: BaseException | None) -> None:
        """End the run, once."""
        try:
            self._open.pop()
        except IndexError:
            return
        collected.run("run.finish", self._finish, error)

    def _finish(self, error: BaseException | None) -> None:
        run = self._run
        reason = self._reason or reason_of(error) or run.end_reason()
        turn = run.last_turn
        partial = self._partial
        if partial is None and (reason != "answered" or (turn is not None and turn["truncated"])):
            partial = turn is not None and bool(turn.get("visible_blocks"))
        values: dict[str, Any] = {
            **run.identity, **budget_values(run.budget), **run.left(), **{name: getattr(run.totals, name) for name in SUMS},
            "agent_version": self._version, "end_reason": reason, "partial_answer": partial, "budget_exceeded": run.exceeded,
            "error_type": None if error is None or reason == "cancelled" else error_type(type(error).__name__),
            "request_model": next(iter(run.models)) if len(run.models) == 1 else None,
            "max_repeat": run.repeats.max_repeat, "repeats": run.repeats.repeats, "cycles": run.repeats.cycles,
            "duration": self._runtime.clock() - run.started,
        }  # fmt: skip
        self._runtime.emitter.finish(self._started, present(values))
        run.forget()


def reason_of(error: BaseException | None) -> EndReason | None:
    """The end reason that an exception stands for."""
    if error is None:
        return None
    if issubclass(type(error), BudgetExceeded):
        return REASONS[cast("BudgetExceeded", error).budget]
    return "cancelled" if issubclass(type(error), (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)) else "error"


def budget_values(budget: Budget) -> dict[str, Any]:
    """The limits of a run, by record field."""
    values = {f"budget_{name}": getattr(budget, name) for name in LIMITS}
    if budget.seconds is not None:
        values["budget_seconds"] = float(budget.seconds)
    return values


_entered: ContextVar[tuple[tuple[agent_run, ActiveRun, attached], ...]] = ContextVar("otel_agent_entered", default=())
"""Runs entered here and now, innermost last. Per context, since threads and tasks may share one ``agent_run``."""


class agent_run:  # noqa: N801 - a context manager and decorator, named like one
    """One run of an agent: everything observed inside it is tied together and summed.

    Use as ``with``/``async with``, or as a decorator of a function, coroutine function, generator or async generator.

    ``agent``: name of the agent, at most 128 characters of letters, digits and ``_.:/-``; one that does not fit is recorded as
    ``_OTHER``, and a warning says so once. ``version``: the application's version of it. ``conversation_id``: only where the
    application has one. ``budget``: limits, observed unless ``on_exceed`` is ``"raise"`` (the next call raises
    :class:`otel_agent.BudgetExceeded`) or a function, which is called once with the name of the budget. Calls outside a run still record
    their turns.
    """

    def __init__(
        self,
        agent: str | None = None,
        *,
        version: str | None = None,
        conversation_id: str | None = None,
        budget: Budget | None = None,
        on_exceed: OnExceed = "observe",
    ) -> None:
        self._agent = agent
        self._version = version
        self._conversation_id = conversation_id
        self._budget = budget or Budget()
        self._on_exceed = on_exceed
        if callable(agent):
            raise TypeError('agent_run takes the name of the agent: decorate with @agent_run("name"), or with @agent_run() for none')
        if not callable(on_exceed) and on_exceed not in {"observe", "raise"}:
            raise ValueError('on_exceed is "observe", "raise" or a function')
        if budget is not None and not isinstance(budget, Budget):
            raise TypeError(f"budget is a Budget, not {type(budget).__name__}")
        look_at(agent, "agent_run")

    def begin(self) -> ActiveRun:
        """Begin a run without making it current; for callers that carry contexts by hand. End it with ``finish(None)``."""
        made = runtime.current()
        run = Run(
            run_id=uuid.uuid4().hex,
            agent_name=tool_name(self._agent),
            conversation_id=identifier(self._conversation_id),
            budget=self._budget,
            on_exceed=self._on_exceed,
            clock=made.clock,
            started=made.clock(),
            history=new_history(made.digester),
            replay=Replay(),
        )
        parent = otel_context.get_current()
        values = {**run.identity, **budget_values(run.budget), "operation": "invoke_agent", "agent_version": identifier(self._version)}
        started = guard.run("run.begin", made.emitter.begin, AgentRun, run.agent_name, present(values), parent)
        started = started or Started(AgentRun, INVALID_SPAN, parent, {})
        started.context = otel_context.set_value(RUN_KEY, run, started.context)
        run.context = started.context
        guard.run(
            "run.started",
            made.emitter.event,
            RunStarted,
            present({**run.identity, "agent_version": values["agent_version"]}),
            started.context,
        )
        return ActiveRun(made, run, started, values["agent_version"])

    def __enter__(self) -> ActiveRun:
        active = self.begin()
        held = attached(active.context)
        held.__enter__()
        _entered.set((*_entered.get(), (self, active, held)))
        return active

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        entered = _entered.get()
        mine = next((entry for entry in reversed(entered) if entry[0] is self), None)
        if mine is not None:
            _entered.set(tuple(entry for entry in entered if entry is not mine))
            _, active, held = mine
            held.__exit__(kind, error, trace)
            active.finish(error)

    async def __aenter__(self) -> ActiveRun:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def _fresh(self) -> agent_run:
        """One object serves many calls of a decorated function: each call has its own run."""
        return agent_run(
            self._agent, version=self._version, conversation_id=self._conversation_id, budget=self._budget, on_exceed=self._on_exceed
        )

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate ``function``; its kind (coroutine, generator, ...) stays what it is."""
        if inspect.isasyncgenfunction(function):
            return cast("Callable[P, R]", _async_generator(self._fresh, function))
        if inspect.isgeneratorfunction(function):
            return cast("Callable[P, R]", _generator(self._fresh, function))
        if inspect.iscoroutinefunction(function):
            return cast("Callable[P, R]", _coroutine(self._fresh, function))

        @wraps(function)
        def plain(*args: P.args, **kwargs: P.kwargs) -> R:
            with self._fresh():
                return function(*args, **kwargs)

        return plain


def _coroutine(fresh: Callable[[], agent_run], function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    @wraps(function)
    async def decorated(*args: P.args, **kwargs: P.kwargs) -> R:
        async with fresh():
            return await function(*args, **kwargs)

    return decorated


def _generator(fresh: Callable[[], agent_run], function: Callable[P, Generator[Any, Any, Any]]) -> Callable[P, Generator[Any, Any, Any]]:
    @wraps(function)
    def decorated(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
        active = fresh().begin()
        with _Ending(active):
            return (yield from Stepped(function(*args, **kwargs), active.context))

    return decorated


def _async_generator(
    fresh: Callable[[], agent_run], function: Callable[P, AsyncGenerator[Any, Any]]
) -> Callable[P, AsyncGenerator[Any, Any]]:
    @wraps(function)
    async def decorated(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Any, Any]:
        active = fresh().begin()
        with _Ending(active):
            steps = SteppedAsync(function(*args, **kwargs), active.context)
            try:
                while await steps.advance():
                    with steps:
                        steps.sent = yield steps.item
            finally:
                await steps.aclose()

    return decorated


class _Ending:
    """Finishes a run when its block ends, without making the run current: a generator's body runs in its consumer's context."""

    def __init__(self, active: ActiveRun) -> None:
        self._active = active

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._active.finish(error)
