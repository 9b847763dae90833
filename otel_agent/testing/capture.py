"""What was emitted, as plain dicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from otel_agent import guard, tally
from otel_agent.instrument.setup import instrument, uninstrument
from otel_agent.sdk import Memory
from otel_agent.settings import Settings

TEST_KEY = b"otel-agent-test-key-0123456789"
"""A fixed digest key, so that digests in tests are the same in every run."""


class Capture:
    """Everything emitted since :func:`capture` began."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    @property
    def spans(self) -> list[dict[str, Any]]:
        """Finished spans: ``name``, ``kind``, ``status``, ``attributes``, ``events``, ``scope``, and the ids of span, parent and trace."""
        return [_span(span) for span in self._memory.spans()]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Log records: ``event``, ``attributes``, ``span_id``, ``trace_id``, ``body``."""
        return [_log(item) for item in self._memory.logs()]

    def facts(self, event: str) -> list[dict[str, Any]]:
        """Attributes of the log records of one event; ``event`` without its prefix, as in ``facts("model_turn")``."""
        return [record["attributes"] for record in self.records if record["event"] in {event, f"otel_agent.{event}"}]

    @property
    def turns(self) -> list[dict[str, Any]]:
        """Attributes of all model turns."""
        return self.facts("model_turn")

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Attributes of all tool executions."""
        return self.facts("tool_execution")

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Attributes of all finished runs."""
        return self.facts("agent_run")

    def points(self, metric: str) -> list[dict[str, Any]]:
        """Points of one metric: ``attributes``, and ``value`` or ``count``, ``sum``, ``bounds``, ``counts``."""
        return [_point(point) for found in self._metrics() if found.name == metric for point in found.data.data_points]

    def total(self, metric: str, **labels: Any) -> float:
        """Sum of a counter, or count of a histogram, over the points whose labels (dots written ``__``) match."""
        wanted = {name.replace("__", "."): value for name, value in labels.items()}
        return sum(
            float(point.get("value", point.get("count", 0)))
            for point in self.points(metric)
            if all(point["attributes"].get(name) == value for name, value in wanted.items())
        )

    def metric_names(self) -> set[str]:
        """Names of all metrics that have points."""
        return {metric.name for metric in self._metrics()}

    def _metrics(self) -> list[Any]:
        data = self._memory.metrics()
        if data is None:
            return []
        return [metric for resource in data.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics]

    def everything(self) -> str:
        """All that was emitted, as one text to search in."""
        data = self._memory.metrics()
        return json.dumps([self.spans, self.records, None if data is None else data.to_json()], default=str, ensure_ascii=False)

    def clear(self) -> None:
        """Forget spans and records; metrics stay, being cumulative."""
        self._memory.clear()


def _id(number: int | None, width: int) -> str | None:
    return None if number is None else format(number, f"0{width}x")


def _plain(attributes: Any) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in (attributes or {}).items()}


def _span(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "kind": span.kind.name,
        "status": span.status.status_code.name,
        "description": span.status.description,
        "attributes": _plain(span.attributes),
        "events": [event.name for event in span.events],
        "trace_id": _id(span.context.trace_id, 32),
        "span_id": _id(span.context.span_id, 16),
        "parent_id": _id(span.parent.span_id, 16) if span.parent else None,
        "seconds": (span.end_time - span.start_time) / 1e9,
        "scope": span.instrumentation_scope.name,
    }


def _log(item: Any) -> dict[str, Any]:
    record = item.log_record
    return {
        "event": record.event_name,
        "attributes": _plain(record.attributes),
        "body": record.body,
        "trace_id": _id(record.trace_id, 32),
        "span_id": _id(record.span_id, 16),
        "scope": item.instrumentation_scope.name,
    }


def _point(point: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"attributes": _plain(point.attributes)}
    if hasattr(point, "value"):
        made["value"] = point.value
    else:
        made.update(count=point.count, sum=point.sum, bounds=list(point.explicit_bounds), counts=list(point.bucket_counts))
    return made


@contextmanager
def capture(*, settings: Settings | None = None, loud: bool = True) -> Iterator[Capture]:
    """Observe the installed SDKs into memory for one block.

    ``settings``: by default a fixed digest key and nothing from the environment. ``loud``: failures of ours are raised, as every test
    should want. Counts of :mod:`otel_agent.tally` start at zero.
    """
    memory = Memory()
    tally.reset()
    instrument(memory.tracer, memory.meter, memory.logger, settings=settings or Settings(digest_key=TEST_KEY))
    try:
        if loud:
            with guard.loud():
                yield Capture(memory)
        else:
            yield Capture(memory)
    finally:
        uninstrument()
