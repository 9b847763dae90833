"""Records → metric points. Independent of sampling: a span that is not recorded still counts here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, Observation

from otel_agent import semconv
from otel_agent.emit.attributes import Attributes
from otel_agent.emit.labels import Labels, fold_level
from otel_agent.records import AgentRun, Feedback, ModelTurn, Record, Retrieval, RunStarted, TextStep, ToolExecution
from otel_agent.records.metrics import METRICS, OLDER, Metric
from otel_agent.tally import tallies

OPEN_LABELS: Final = frozenset(
    {
        semconv.GEN_AI_REQUEST_MODEL, semconv.GEN_AI_RESPONSE_MODEL, semconv.GEN_AI_AGENT_NAME, semconv.GEN_AI_TOOL_NAME,
        semconv.SERVER_ADDRESS, semconv.ERROR_TYPE, semconv.GEN_AI_DATA_SOURCE_ID,
    }
)  # fmt: skip
"""Labels whose values are not a closed set."""

TEXT: Final[Attributes] = {semconv.GEN_AI_TOKEN_MODALITY: "text"}
AUDIO: Final[Attributes] = {semconv.GEN_AI_TOKEN_MODALITY: "audio"}


class Meters:
    """All instruments, made once, and one recording function per record type."""

    def __init__(self, meter: Meter, label_limit: int, older: bool) -> None:
        self._labels = Labels(label_limit)
        self._older = older
        wanted = METRICS + (OLDER if older else ())
        self._attributes = {metric.name: metric.attributes for metric in wanted}
        self._instruments: dict[str, Any] = {m.name: _make(meter, m) for m in wanted if m.name != semconv.METRIC_OTEL_AGENT_SELF_EVENTS}
        self._recorders: dict[type[Record], Callable[[Any, Attributes, Context], None]] = {
            ModelTurn: self._turn, ToolExecution: self._tool, AgentRun: self._run, RunStarted: self._started,
            Retrieval: self._retrieval, Feedback: self._feedback, TextStep: self._step,
        }  # fmt: skip
        meter.create_observable_counter(
            semconv.METRIC_OTEL_AGENT_SELF_EVENTS, [_self_events], unit="{event}", description=_brief(semconv.METRIC_OTEL_AGENT_SELF_EVENTS)
        )

    def record(self, record: Record, attributes: Attributes, context: Context) -> None:
        """Points of one record; ``attributes`` are those of its span and log record, ``context`` gives exemplars their span."""
        self._recorders[type(record)](record, attributes, context)

    def _take(self, attributes: Attributes, names: Iterable[str]) -> dict[str, Any]:
        """The labels ``names`` as far as they are there, each within its bound."""
        taken: dict[str, Any] = {}
        for name in names:
            value = attributes.get(name)
            if value is None:
                continue
            if name in OPEN_LABELS:
                value = self._labels.bound(name, value)  # type: ignore[assignment]
            elif name == semconv.GEN_AI_REQUEST_REASONING_LEVEL:
                value = fold_level(value)  # type: ignore[assignment]
            taken[name] = value
        return taken

    def _count(self, name: str, amount: float | None, attributes: Attributes, context: Context, **more: Any) -> None:
        if amount:
            counter: Counter = self._instruments[name]
            # A boolean would become a boolean exemplar, which the OTLP encoder refuses together with its whole batch.
            counter.add(int(amount), {**self._take(attributes, self._attributes[name]), **more}, context)

    def _measure(self, name: str, value: float | None, attributes: Attributes, context: Context) -> None:
        if value is not None:
            histogram: Histogram = self._instruments[name]
            histogram.record(value, self._take(attributes, self._attributes[name]), context)

    def _turn(self, turn: ModelTurn, attributes: Attributes, context: Context) -> None:
        inference = self._take(attributes, self._attributes[semconv.METRIC_GEN_AI_CLIENT_INFERENCE_TIME_TO_FIRST_CHUNK])
        failed = inference if turn.error_type is None else {**inference, **self._take(attributes, (semconv.ERROR_TYPE,))}
        for name, value in _measures(turn):
            if value is not None:
                self._instruments[name].record(value, failed if name in _WITH_ERROR else inference, context)
        text = {**inference, **TEXT}
        for name, amount, modality in _counts(turn):
            if amount is not None:
                self._instruments[name].add(amount, text if modality is TEXT else {**inference, **modality}, context)
        self._instruments[semconv.METRIC_OTEL_AGENT_TURNS].add(
            1, self._take(attributes, self._attributes[semconv.METRIC_OTEL_AGENT_TURNS]), context
        )
        self._turn_extras(turn, attributes, context)
        if self._older:
            self._turn_older(turn, inference, failed, context)

    def _turn_extras(self, turn: ModelTurn, attributes: Attributes, context: Context) -> None:
        """What most turns do not have."""
        if turn.attempts is not None and turn.attempts > 1:
            self._count(semconv.METRIC_OTEL_AGENT_RETRIED_ATTEMPTS, turn.attempts - 1, attributes, context)
        if turn.prefix_break is not None:
            self._count(semconv.METRIC_OTEL_AGENT_PREFIX_BREAKS, 1, attributes, context)
        if turn.undeclared_tool_calls:
            self._count(semconv.METRIC_OTEL_AGENT_UNDECLARED_TOOL_CALLS, turn.undeclared_tool_calls, attributes, context)
        if turn.replayed_items is not None or turn.provider_dropped_items is not None:
            for state, amount in _replay(turn):
                self._count(semconv.METRIC_OTEL_AGENT_REPLAY_ITEMS, amount, attributes, context, **{semconv.OTEL_AGENT_REPLAY_STATE: state})

    def _turn_older(self, turn: ModelTurn, inference: Attributes, failed: Attributes, context: Context) -> None:
        self._instruments[semconv.METRIC_GEN_AI_CLIENT_OPERATION_DURATION].record(turn.duration, failed, context)
        for side, amount in (("input", turn.input_tokens), ("output", turn.output_tokens)):
            if amount is not None:
                labels = {**inference, semconv.GEN_AI_TOKEN_TYPE: side}
                self._instruments[semconv.METRIC_GEN_AI_CLIENT_TOKEN_USAGE].record(amount, labels, context)

    def _tool(self, tool: ToolExecution, attributes: Attributes, context: Context) -> None:
        self._measure(semconv.METRIC_GEN_AI_EXECUTE_TOOL_DURATION, tool.duration, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_TOOL_EXECUTIONS, 1, attributes, context)
        if tool.repeat is not None and tool.repeat > 1:
            self._count(semconv.METRIC_OTEL_AGENT_TOOL_REPEATS, 1, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_TOOL_CYCLES, tool.cycle is not None, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_TOOL_VALIDATIONS, tool.validation != "skipped", attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_POLICY_DECISIONS, tool.decision is not None, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_CONFLICTING_WRITES, bool(tool.overlap), attributes, context)

    def _started(self, record: RunStarted, attributes: Attributes, context: Context) -> None:
        self._count(semconv.METRIC_OTEL_AGENT_RUNS_STARTED, 1, attributes, context)

    def _run(self, run: AgentRun, attributes: Attributes, context: Context) -> None:
        self._count(semconv.METRIC_OTEL_AGENT_RUNS, 1, attributes, context)
        self._measure(semconv.METRIC_GEN_AI_INVOKE_AGENT_DURATION, run.duration, attributes, context)
        self._measure(semconv.METRIC_GEN_AI_INVOKE_AGENT_INFERENCE_CALLS, run.turns, attributes, context)
        self._measure(semconv.METRIC_GEN_AI_INVOKE_AGENT_TOOL_CALLS, run.tool_calls, attributes, context)
        self._measure(semconv.METRIC_OTEL_AGENT_RUN_MAX_REPEAT, run.max_repeat, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_RUN_INPUT_TOKENS, run.input_tokens, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_RUN_OUTPUT_TOKENS, run.output_tokens, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_RUN_RESENT_TOKENS, run.resent_tokens, attributes, context)
        self._count(semconv.METRIC_OTEL_AGENT_BUDGETS_EXCEEDED, run.budget_exceeded is not None, attributes, context)

    def _retrieval(self, retrieval: Retrieval, attributes: Attributes, context: Context) -> None:
        self._measure(semconv.METRIC_GEN_AI_RETRIEVAL_DURATION, retrieval.duration, attributes, context)

    def _feedback(self, record: Feedback, attributes: Attributes, context: Context) -> None:
        self._count(semconv.METRIC_OTEL_AGENT_FEEDBACK, 1, attributes, context)

    def _step(self, record: TextStep, attributes: Attributes, context: Context) -> None:
        self._count(semconv.METRIC_OTEL_AGENT_TEXT_STEPS, 1, attributes, context)


_WITH_ERROR: Final = frozenset(
    {
        semconv.METRIC_GEN_AI_CLIENT_INFERENCE_DURATION,
        semconv.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_INPUT_TOKENS,
        semconv.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_OUTPUT_TOKENS,
    }
)


def _measures(turn: ModelTurn) -> tuple[tuple[str, float | None], ...]:
    return (
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_DURATION, turn.duration),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_INPUT_TOKENS, turn.input_tokens),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_OUTPUT_TOKENS, turn.output_tokens),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_TIME_TO_FIRST_CHUNK, turn.first_chunk),
        (semconv.METRIC_OTEL_AGENT_RESPONSE_TIME_TO_FIRST_VISIBLE_CHUNK, turn.first_visible_chunk),
    )


def _counts(turn: ModelTurn) -> tuple[tuple[str, int | None, Attributes], ...]:
    """Token counters. A count the provider did not send gets no point: zero would be a statement. Audio is a part of the total."""
    heard, said = turn.audio_input_tokens, turn.audio_output_tokens
    return (
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS, _less(turn.input_tokens, heard), TEXT),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_OUTPUT_TOKENS, _less(turn.output_tokens, said), TEXT),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS, heard or None, AUDIO),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_OUTPUT_TOKENS, said or None, AUDIO),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_READ_INPUT_TOKENS, turn.cache_read_tokens, TEXT),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_WRITE_INPUT_TOKENS, turn.cache_write_tokens, TEXT),
        (semconv.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_REASONING_OUTPUT_TOKENS, turn.reasoning_tokens, TEXT),
    )


def _less(total: int | None, part: int | None) -> int | None:
    return total if total is None or not part else max(total - part, 0)


def _replay(turn: ModelTurn) -> tuple[tuple[str, int | None], ...]:
    return (
        ("replayed", turn.replayed_items),
        ("dropped", turn.dropped_items),
        ("edited", turn.edited_items),
        ("provider_dropped", turn.provider_dropped_items),
    )


def _brief(name: str) -> str:
    return next(metric.brief for metric in METRICS if metric.name == name)


def _make(meter: Meter, metric: Metric) -> Counter | Histogram:
    if metric.kind == "counter":
        return meter.create_counter(metric.name, unit=metric.unit, description=metric.brief)
    return meter.create_histogram(
        metric.name, unit=metric.unit, description=metric.brief, explicit_bucket_boundaries_advisory=metric.buckets
    )


def _self_events(options: CallbackOptions) -> Iterable[Observation]:
    for (kind, place), amount in tallies().items():
        yield Observation(amount, {semconv.OTEL_AGENT_SELF_KIND: kind, semconv.OTEL_AGENT_SELF_PLACE: place})
