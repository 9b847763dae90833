"""The loop: ask, run the tools asked for, append, ask again, until there is an answer or a budget is used up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from otel_agent.budget import REASONS, Budget, overdrawn
from otel_agent.instrument.runs import ActiveRun, agent_run
from otel_agent.loop.toolbox import Executor, Toolbox
from otel_agent.loop.turns import ModelAdapter, Turn
from otel_agent.records.closed import EndReason

BUDGET: Final = Budget(turns=20)
"""What a loop may spend when nobody says: an endless one is worth an answer to nobody."""


@dataclass(slots=True)
class Outcome:
    """How a run ended. ``answer`` is what the last turn said; ``partial`` when the run did not get to its end."""

    reason: EndReason = "answered"
    answer: str = field(default="", repr=False)
    partial: bool = False
    transcript: list[Any] = field(default_factory=list, repr=False)
    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def take(self, turn: Turn) -> None:
        """Append a turn exactly as returned, reasoning included, and count it."""
        self.transcript += turn.items
        self.answer = turn.text
        self.turns += 1
        self.input_tokens += turn.input_tokens
        self.output_tokens += turn.output_tokens

    def stop(self, reason: EndReason) -> Outcome:
        """End without having got to an answer."""
        self.reason, self.partial = reason, bool(self.answer)
        return self


class Loop:
    """One agent: a model, its tools, its limits.

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
        self._phase = phase

    def run(self, task: str) -> Outcome:
        """Work on ``task``. Raises what the model's client raises; what tools raise are observations."""
        with agent_run(self._agent, budget=self._budget) as run, Executor(self._tools, self._phase) as executor:
            outcome = Outcome(transcript=self._model.opening(task))
            self._work(outcome, executor)
            return _told(run, outcome)

    def _work(self, outcome: Outcome, executor: Executor) -> Outcome:
        begun = time.monotonic()
        while True:
            if (spent := self._spent(outcome, begun)) is not None:
                return outcome.stop(spent)
            turn = self._model.ask(outcome.transcript, self._tools.declared)
            outcome.take(turn)
            if turn.cut_off:
                return outcome.stop("token_limit")
            if turn.calls:
                outcome.tool_calls += len(turn.calls)
                outcome.transcript += self._model.answers(executor.execute(turn.calls))
            elif not turn.paused:
                return outcome

    def _spent(self, outcome: Outcome, begun: float) -> EndReason | None:
        """The end reason, when one more request would go beyond a budget."""
        seconds = time.monotonic() - begun
        name = overdrawn(self._budget, outcome.turns + 1, outcome.input_tokens, outcome.output_tokens, seconds, outcome.tool_calls)
        return None if name is None else REASONS[name]


def _told(run: ActiveRun, outcome: Outcome) -> Outcome:
    """Tell the record why the run ended: the loop knows it better than the last turn does."""
    run.end(outcome.reason, partial_answer=outcome.partial or None)
    return outcome
