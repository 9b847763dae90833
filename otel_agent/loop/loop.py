"""The two drivers: ask, run the tools asked for, append, ask again. When and why is :mod:`otel_agent.loop.decisions`' business."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

from otel_agent.budget import Budget
from otel_agent.instrument.runs import ActiveRun, agent_run
from otel_agent.loop.decisions import BUDGET, Ask, Course, Outcome
from otel_agent.loop.dispatch import dispatches
from otel_agent.loop.executors import AsyncExecutor, Executor
from otel_agent.loop.toolbox import Toolbox
from otel_agent.loop.turns import ModelAdapter


class Agent:
    """What both loops are: a model, its tools, its limits.

    ``budget`` is counted in turns, tokens and seconds; parallel calls in one turn are good, so turns matter more than
    calls. It is looked at before each request, never in the middle of a write. ``phase``: the phase of the task now, by
    which tools are allowed; by default the toolbox's.
    """

    def __init__(
        self,
        model: ModelAdapter,
        tools: Toolbox,
        *,
        agent: str = "loop",
        budget: Budget = BUDGET,
        phase: Callable[[], str | None] | None = None,
    ) -> None:
        self._model = model
        self._tools = tools
        self._agent = agent
        self._budget = budget
        self._dispatches = dispatches(tools, phase)

    def _run(self) -> agent_run:
        return agent_run(self._agent, budget=self._budget)

    def _course(self, task: str, history: list[Any] | None) -> Course:
        transcript = [] if history is None else history
        transcript += self._model.opening(task)
        return Course(self._model, self._tools, self._budget, transcript, time.monotonic())

    def _send(self, course: Course, *, waits: bool) -> Any:
        reply = self._model.send(course.outcome.transcript, self._tools.declared)
        if inspect.isawaitable(reply) is not waits:
            if inspect.iscoroutine(reply):
                reply.close()
            raise TypeError("Loop takes a synchronous client, AsyncLoop an asynchronous one")
        return reply


class Loop(Agent):
    """One agent on a synchronous client. Tools run in threads.

    Raises ``TypeError`` for a tool that is a coroutine function.
    """

    def __init__(self, model: ModelAdapter, tools: Toolbox, **options: Any) -> None:
        """``options``: as in :class:`Agent`."""
        super().__init__(model, tools, **options)
        if any(dispatch.waits for dispatch in self._dispatches.values()):
            raise TypeError("a tool that is a coroutine function needs an AsyncLoop")

    def run(self, task: str, history: list[Any] | None = None) -> Outcome:
        """Work on ``task``. Raises what the model's client raises; what tools raise are observations.

        ``history``: the transcript to go on from. It is appended to in place, so that it is there, and every call in it answered, also
        when the run is interrupted or the client raises.
        """
        with self._run() as run, Executor(self._dispatches, self._tools.workers) as executor, self._course(task, history) as course:
            while (step := course.next(time.monotonic())) is not None:
                if isinstance(step, Ask):
                    course.take(self._model.read(self._send(course, waits=False)))
                else:
                    executor.execute(step.seats)
            return _told(run, course.outcome)


class AsyncLoop(Agent):
    """One agent on an asynchronous client. Tools that are coroutine functions run as tasks, others in threads.

    The team's policy, approval and phase functions are called where the tool runs: those of a coroutine function hold up the event loop.
    """

    async def run(self, task: str, history: list[Any] | None = None) -> Outcome:
        """As :meth:`Loop.run`. A cancellation ends the run as ``cancelled``, and ``history`` can be gone on with.

        A call it interrupts is answered with a sentence that says so; a plain function's thread goes on to its end all the same.
        """
        with self._run() as run, AsyncExecutor(self._dispatches, self._tools.workers) as executor, self._course(task, history) as course:
            while (step := course.next(time.monotonic())) is not None:
                if isinstance(step, Ask):
                    course.take(self._model.read(await self._send(course, waits=True)))
                else:
                    await executor.execute(step.seats)
            return _told(run, course.outcome)


def _told(run: ActiveRun, outcome: Outcome) -> Outcome:
    """Tell the record why the run ended: the loop knows it better than the last turn does."""
    run.end(outcome.reason, partial_answer=outcome.partial or None)
    return outcome
