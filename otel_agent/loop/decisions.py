"""What a loop does next: all of its decisions and nothing that waits. No client, no thread, no clock.

A driver asks :meth:`Course.next` for a step, takes it, reports what came of it, and asks again until there is none. The synchronous and
the asynchronous loop are two drivers of this one course.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import TracebackType
from typing import Any, Final, Self

from otel_agent.budget import REASONS, Budget, overdrawn
from otel_agent.loop.observations import INTERRUPTED, NOT_RUN, sentence, shown, text_of
from otel_agent.loop.toolbox import Toolbox
from otel_agent.loop.turns import Call, ModelAdapter, Result, Turn
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

    def stop(self, reason: EndReason) -> None:
        """End without having got to an answer."""
        self.reason, self.partial = reason, bool(self.answer)


class Ask:
    """A step: send the transcript, and give the turn to :meth:`Course.take`."""


class Seat:
    """One call of a turn, to be run inside ``with seat:``, which makes a failure an observation. Only an interrupt is raised."""

    __slots__ = ("_limit", "begun", "call", "result")

    def __init__(self, call: Call, limit: int) -> None:
        self.call = call
        self.begun = False
        self.result: Result | None = None
        self._limit = limit

    def __enter__(self) -> Self:
        self.begun = True
        return self

    def take(self, value: Any) -> None:
        """What the tool returned."""
        self.result = Result(self.call.id, shown(text_of(value), self._limit))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, Exception):
            self.result = Result(self.call.id, sentence(error), failed=True)
        return isinstance(error, Exception)

    def answer(self) -> Result:
        """The result, or what is to be said where there is none."""
        return self.result or Result(self.call.id, INTERRUPTED if self.begun else NOT_RUN, failed=True)


@dataclass(frozen=True, slots=True)
class Execute:
    """A step: run these calls, all at once."""

    seats: Sequence[Seat]


class Course:
    """The course of one run. As a context manager it leaves every call answered, however the run ends.

    A provider rejects a transcript with an open call, so one that an interrupt left behind could not be gone on with.
    """

    def __init__(self, model: ModelAdapter, box: Toolbox, budget: Budget, transcript: list[Any], begun: float) -> None:
        self.outcome = Outcome(transcript=transcript)
        self._model = model
        self._box = box
        self._budget = budget
        self._begun = begun
        self._reads = {item.name for item in box.tools if item.effect == "read"}
        self._seats: list[Seat] = []
        self._batches: Iterator[Execute] = iter(())
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._answer()

    def next(self, now: float) -> Ask | Execute | None:
        """The next step, once the last one is taken; ``None`` when the run is over.

        A budget is looked at before each request, never in the middle of a write.
        """
        batch = next(self._batches, None)
        if batch is not None:
            return batch
        self._answer()
        if not self._over and (spent := self._spent(now)) is not None:
            self._stop(spent)
        return None if self._over else Ask()

    def take(self, turn: Turn) -> None:
        """A turn has come."""
        self.outcome.take(turn)
        self._seats = [Seat(call, self._box.max_chars) for call in turn.calls]
        if turn.cut_off or turn.failed:  # its calls may be half of what was meant, so none is run
            self._stop("token_limit" if turn.cut_off else "error")
        elif turn.calls:
            self.outcome.tool_calls += len(turn.calls)
            self._batches = self._batched(self._seats)
        else:
            self._over = not turn.paused

    def _batched(self, seats: Sequence[Seat]) -> Iterator[Execute]:
        """In the order given. Reads that stand together run together; anything else runs by itself."""
        for reading, group in groupby(seats, key=lambda seat: seat.call.name in self._reads):
            together = [*group]
            yield from [Execute(together)] if reading else [Execute([seat]) for seat in together]

    def _answer(self) -> None:
        """Append what came of the last turn's calls, in their order."""
        seats, self._seats = self._seats, []
        if seats:
            self.outcome.transcript += self._model.answers([seat.answer() for seat in seats])

    def _stop(self, reason: EndReason) -> None:
        self.outcome.stop(reason)
        self._over = True

    def _spent(self, now: float) -> EndReason | None:
        """The end reason, when one more request would go beyond a budget."""
        used = self.outcome
        name = overdrawn(self._budget, used.turns + 1, used.input_tokens, used.output_tokens, now - self._begun, used.tool_calls)
        return None if name is None else REASONS[name]
