"""Records → metric points. Independent of sampling: a span that is not recorded still counts here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.trace import get_current_span

from otel_agent import semconv
from otel_agent.emit import sums as added
from otel_agent.emit.forms import Attributes
from otel_agent.emit.labels import Labels, LabelSet, LabelValues
from otel_agent.emit.sums import Sums
from otel_agent.records import AgentRun, Fact, Feedback, ModelTurn, Record, Retrieval, RunStarted, TextStep, ToolExecution, facts
from otel_agent.records.metrics import METRICS, OLDER, Metric
from otel_agent.tally import tallies

Amount = Callable[[Any], float | None]
"""From a fact to what goes into a point; ``None`` for no point. Never a boolean: the OTLP encoder refuses one with its whole batch."""


class Row(NamedTuple):
    """One kind of point of a record that has the fact ``field``: its value, or the ``amount`` made of it.

    ``more``: labels that are not among the record's attributes. ``part``: a count that is part of this one and has a point of its own.
    """

    metric: str
    field: str
    amount: Amount | None = None
    more: LabelValues | None = None
    part: str | None = None


TEXT: Final[LabelValues] = {semconv.GEN_AI_TOKEN_MODALITY: "text"}
AUDIO: Final[LabelValues] = {semconv.GEN_AI_TOKEN_MODALITY: "audio"}


def _one(fact: object) -> int:
    return 1


def _some(number: int) -> int | None:
    """The number, unless it is nothing."""
    return number or None


def _where(test: Callable[[Any], object]) -> Amount:
    """One for each record whose fact fits."""
    return lambda fact: 1 if test(fact) else None


def _beyond_one(number: int) -> int | None:
    return number - 1 if number > 1 else None


def _sum(metric: str, field: str, part: str | None = None) -> Row:
    return Row(metric, field, None, TEXT, part)


def _nonzero(metric: str, field: str, more: LabelValues | None = None) -> Row:
    return Row(metric, field, _some, more)


def _replay(state: str, field: str) -> Row:
    return _nonzero(semconv.METRIC_OTEL_AGENT_REPLAY_ITEMS, field, {semconv.OTEL_AGENT_REPLAY_STATE: state})


ROWS: Final[dict[type[Record], tuple[Row, ...]]] = {
    ModelTurn: (
        Row(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_DURATION, "duration"),
        Row(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_INPUT_TOKENS, "input_tokens"),
        Row(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_OUTPUT_TOKENS, "output_tokens"),
        Row(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_TIME_TO_FIRST_CHUNK, "first_chunk"),
        Row(semconv.METRIC_OTEL_AGENT_RESPONSE_TIME_TO_FIRST_VISIBLE_CHUNK, "first_visible_chunk"),
        # A count the provider did not send gets no point: zero would be a statement.
        _sum(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS, "input_tokens", part="audio_input_tokens"),
        _sum(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_OUTPUT_TOKENS, "output_tokens", part="audio_output_tokens"),
        _sum(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_READ_INPUT_TOKENS, "cache_read_tokens"),
        _sum(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_WRITE_INPUT_TOKENS, "cache_write_tokens"),
        _sum(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_REASONING_OUTPUT_TOKENS, "reasoning_tokens"),
        _nonzero(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS, "audio_input_tokens", AUDIO),
        _nonzero(semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_OUTPUT_TOKENS, "audio_output_tokens", AUDIO),
        # A response that goes on in the background is counted when it has ended, where that is seen.
        Row(semconv.METRIC_OTEL_AGENT_TURNS, "finish_reason", _where(lambda reason: reason != "pending")),
        Row(semconv.METRIC_OTEL_AGENT_RETRIED_ATTEMPTS, "attempts", _beyond_one),
        Row(semconv.METRIC_OTEL_AGENT_PREFIX_BREAKS, "prefix_break", _one),
        _nonzero(semconv.METRIC_OTEL_AGENT_UNDECLARED_TOOL_CALLS, "undeclared_tool_calls"),
        _replay("replayed", "replayed_items"),
        _replay("dropped", "dropped_items"),
        _replay("edited", "edited_items"),
        _replay("provider_dropped", "provider_dropped_items"),
    ),
    ToolExecution: (
        Row(semconv.METRIC_GEN_AI_EXECUTE_TOOL_DURATION, "duration"),
        Row(semconv.METRIC_OTEL_AGENT_TOOL_EXECUTIONS, "outcome", _one),
        Row(semconv.METRIC_OTEL_AGENT_TOOL_REPEATS, "repeat", _where(lambda repeat: repeat > 1)),
        Row(semconv.METRIC_OTEL_AGENT_TOOL_CYCLES, "cycle", _one),
        Row(semconv.METRIC_OTEL_AGENT_TOOL_VALIDATIONS, "validation", _where(lambda verdict: verdict != "skipped")),
        Row(semconv.METRIC_OTEL_AGENT_POLICY_DECISIONS, "decision", _one),
        Row(semconv.METRIC_OTEL_AGENT_CONFLICTING_WRITES, "overlap", _where(bool)),
    ),
    RunStarted: (Row(semconv.METRIC_OTEL_AGENT_RUNS_STARTED, "operation", _one),),
    AgentRun: (
        Row(semconv.METRIC_OTEL_AGENT_RUNS, "end_reason", _one),
        Row(semconv.METRIC_GEN_AI_INVOKE_AGENT_DURATION, "duration"),
        Row(semconv.METRIC_GEN_AI_INVOKE_AGENT_INFERENCE_CALLS, "turns"),
        Row(semconv.METRIC_GEN_AI_INVOKE_AGENT_TOOL_CALLS, "tool_calls"),
        Row(semconv.METRIC_OTEL_AGENT_RUN_MAX_REPEAT, "max_repeat"),
        _nonzero(semconv.METRIC_OTEL_AGENT_RUN_INPUT_TOKENS, "input_tokens"),
        _nonzero(semconv.METRIC_OTEL_AGENT_RUN_OUTPUT_TOKENS, "output_tokens"),
        _nonzero(semconv.METRIC_OTEL_AGENT_RUN_RESENT_TOKENS, "resent_tokens"),
        Row(semconv.METRIC_OTEL_AGENT_BUDGETS_EXCEEDED, "budget_exceeded", _one),
    ),
    Retrieval: (Row(semconv.METRIC_GEN_AI_RETRIEVAL_DURATION, "duration"),),
    Feedback: (Row(semconv.METRIC_OTEL_AGENT_FEEDBACK, "feedback", _one),),
    TextStep: (Row(semconv.METRIC_OTEL_AGENT_TEXT_STEPS, "outcome", _one),),
}
OLDER_ROWS: Final = (
    Row(semconv.METRIC_GEN_AI_CLIENT_OPERATION_DURATION, "duration"),
    Row(semconv.METRIC_GEN_AI_CLIENT_TOKEN_USAGE, "input_tokens", None, {semconv.GEN_AI_TOKEN_TYPE: "input"}),
    Row(semconv.METRIC_GEN_AI_CLIENT_TOKEN_USAGE, "output_tokens", None, {semconv.GEN_AI_TOKEN_TYPE: "output"}),
)
"""The same of a model turn under the older names."""

OF_THE_CALL: Final = frozenset(
    {
        semconv.METRIC_GEN_AI_CLIENT_INFERENCE_DURATION, semconv.METRIC_GEN_AI_CLIENT_INFERENCE_TIME_TO_FIRST_CHUNK,
        semconv.METRIC_OTEL_AGENT_RESPONSE_TIME_TO_FIRST_VISIBLE_CHUNK, semconv.METRIC_GEN_AI_CLIENT_OPERATION_DURATION,
    }
)  # fmt: skip
"""What the call that asks for a response says of it. A fetch that brings the end is no second call."""


def _turn_rows(older: bool) -> tuple[Row, ...]:
    return ROWS[ModelTurn] + (OLDER_ROWS if older else ())


class Series(NamedTuple):
    """A row made ready: attributes by name, and where its points go."""

    name: str
    amount: Amount | None
    part: str | None
    labels: LabelSet
    record: Callable[..., None] | None
    sums: Sums | None


class Meters:
    """All instruments, made once, and the series of each record type."""

    def __init__(self, meter: Meter, label_limit: int, older: bool) -> None:
        self._bounds = Labels(label_limit)
        self._sets: dict[tuple[object, ...], LabelSet] = {}
        metrics = {
            metric.name: metric for metric in METRICS + (OLDER if older else ()) if metric.name != semconv.METRIC_OTEL_AGENT_SELF_EVENTS
        }
        histograms = {name: _histogram(meter, metric) for name, metric in metrics.items() if metric.kind == "histogram"}
        sums = {name: _sums(meter, metric) for name, metric in metrics.items() if metric.kind == "counter"}
        added.keep(sums.values(), self)
        self._series: dict[type[Record], tuple[Series, ...]] = {
            record: tuple(
                Series(*self._read(row, facts(record), metrics[row.metric]), histograms.get(row.metric), sums.get(row.metric))
                for row in rows
            )
            for record, rows in (ROWS | {ModelTurn: _turn_rows(older)}).items()
        }
        self._fetched = tuple(
            series for row, series in zip(_turn_rows(older), self._series[ModelTurn], strict=True) if row.metric not in OF_THE_CALL
        )
        meter.create_observable_counter(
            semconv.METRIC_OTEL_AGENT_SELF_EVENTS,
            [_collecting],
            unit="{event}",
            description=_brief(semconv.METRIC_OTEL_AGENT_SELF_EVENTS),
        )

    def _read(self, row: Row, names: dict[str, Fact], metric: Metric) -> tuple[str, Amount | None, str | None, LabelSet]:
        part = None if row.part is None else names[row.part].name
        return names[row.field].name, row.amount, part, self._labels(metric, row.more)

    def _labels(self, metric: Metric, more: LabelValues | None) -> LabelSet:
        """One set for all metrics of equal labels, so that :meth:`record` makes them once."""
        key = (metric.attributes, *sorted((more or {}).items()))
        return self._sets.setdefault(key, LabelSet(self._bounds, metric.attributes, more))

    def record(self, record: type[Record], attributes: Attributes, context: Context) -> None:
        """Points of one record; ``attributes`` are those of its span and log record, ``context`` gives exemplars their span."""
        find: Callable[[str], Any] = attributes.get
        origin = get_current_span(context).get_span_context()
        last: LabelSet | None = None
        values: LabelValues = {}
        key: tuple[object, ...] = ()
        series = self._fetched if find(semconv.OTEL_AGENT_RESPONSE_FETCHED) else self._series[record]
        for name, amount, part, labels, histogram, sums in series:
            value = find(name)
            if value is None or (amount is not None and (value := amount(value)) is None):
                continue
            if part is not None:
                value = max(value - (find(part) or 0), 0)
            if labels is not last:
                last, (values, key) = labels, labels.of(attributes)
            if histogram is not None:
                histogram(value, values, context)
            elif sums is not None and not sums.more(value, key, origin):
                sums.add(value, values, key, context)


def _collecting(options: CallbackOptions) -> Iterable[Observation]:
    """Called when the SDK collects: it asks for asynchronous counters first, then looks at what it was given.

    No method: a meter that keeps it must not keep the instruments.
    """
    added.hand_over()
    for (kind, place), amount in tallies().items():
        yield Observation(amount, {semconv.OTEL_AGENT_SELF_KIND: kind, semconv.OTEL_AGENT_SELF_PLACE: place})


def _brief(name: str) -> str:
    return next(metric.brief for metric in METRICS if metric.name == name)


def _sums(meter: Meter, metric: Metric) -> Sums:
    return Sums(meter.create_counter(metric.name, unit=metric.unit, description=metric.brief).add)


def _histogram(meter: Meter, metric: Metric) -> Callable[..., None]:
    return meter.create_histogram(
        metric.name, unit=metric.unit, description=metric.brief, explicit_bucket_boundaries_advisory=metric.buckets
    ).record
