"""Retrievals and feedback."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self, get_args

from opentelemetry import context as otel_context

from otel_agent import collected, guard
from otel_agent.fields import MAX_ITEMS, count, error_type, identifier, number, present
from otel_agent.instrument import runtime
from otel_agent.instrument.state import current_run
from otel_agent.instrument.stepping import attached
from otel_agent.records import Feedback, Retrieval
from otel_agent.records.closed import FeedbackKind, FeedbackSource

KINDS: Final[tuple[str, ...]] = get_args(FeedbackKind)
SOURCES: Final[tuple[str, ...]] = get_args(FeedbackSource)


def _run_values() -> dict[str, Any]:
    run = current_run()
    return {} if run is None else {**run.identity, "turn": run.totals.turns or None}


def feedback(
    kind: FeedbackKind,
    *,
    response_id: str | None = None,
    run_id: str | None = None,
    rating: float | None = None,
    source: FeedbackSource = "user",
) -> None:
    """Record what was done with an answer, possibly days later and in another process.

    ``response_id``: the provider's id of the response; ``run_id``: of the run. One of them ties the feedback to its subject; inside a
    run neither is needed. ``rating``: 0 (bad) to 1 (good), with kind ``rated``. There is no place for a comment: that is prose.
    Raises ``ValueError`` for a kind or source outside the closed sets, and for a rating outside 0 to 1.
    """
    if kind not in KINDS or source not in SOURCES:
        raise ValueError(f"feedback kind is one of {', '.join(KINDS)}; source is one of {', '.join(SOURCES)}")
    if rating is not None and not 0 <= rating <= 1:
        raise ValueError("feedback rating must be from 0 to 1")
    collected.run("feedback", _feedback, kind, response_id, run_id, rating, source)


def _feedback(kind: FeedbackKind, response_id: str | None, run_id: str | None, rating: float | None, source: FeedbackSource) -> None:
    values = {**_run_values(), "feedback": kind, "source": source, "response_id": identifier(response_id), "rating": number(rating)}
    if run_id is not None:
        values["run_id"] = identifier(run_id)
    runtime.current().emitter.event(Feedback, present(values), otel_context.get_current())


class retrieval:  # noqa: N801 - a context manager, named like one
    """One retrieval: ``with retrieval("handbook", top_k=5) as found: found.documents(ids)``. Ids only, never text.

    ``data_source``: identifier of the source. ``top_k``: how many were asked for.
    """

    def __init__(self, data_source: str | None = None, *, top_k: int | None = None) -> None:
        self._values: dict[str, Any] = {"operation": "retrieval", "data_source": identifier(data_source), "top_k": count(top_k)}
        self._started: Any = None
        self._attached: attached | None = None

    def documents(self, ids: Iterable[str]) -> None:
        """Ids of what was found, best first. Ids that are no identifiers become ``_OTHER``; at most 64 are kept, all are counted."""
        guard.run("retrieval.documents", self._documents, ids)

    def _documents(self, ids: Iterable[str]) -> None:
        given = list(ids)
        self._values["document_count"] = len(given)
        self._values["document_ids"] = tuple(known for item in given[:MAX_ITEMS] if (known := identifier(item)))

    def __enter__(self) -> Self:
        guard.run("retrieval.begin", self._begin)
        return self

    def _begin(self) -> None:
        self._runtime = runtime.current()
        self._values.update(_run_values())
        self._begun = self._runtime.clock()
        self._started = self._runtime.emitter.begin(Retrieval, None, present(self._values), otel_context.get_current())
        self._attached = attached(self._started.context)
        self._attached.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._attached is not None:
            self._attached.__exit__(kind, error, trace)
            collected.run("retrieval.finish", self._finish, error)

    def _finish(self, error: BaseException | None) -> None:
        values = {**self._values, "duration": self._runtime.clock() - self._begun}
        if error is not None:
            values["error_type"] = error_type(type(error).__name__)
        self._runtime.emitter.finish(self._started, present(values))
