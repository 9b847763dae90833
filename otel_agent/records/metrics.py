"""Every metric we emit: name, instrument, unit, attributes, buckets.

Names follow the conventions at v0.1.0 (docs/gen-ai/gen-ai-metrics.md) where they have one. Attributes are closed or capped sets only;
ids and digests belong on spans and log records. Older names are a set of their own (:data:`OLDER`), sent beside the new ones when the
environment asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "histogram"]

SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36)
"""The conventions' duration edges, carried on to eleven minutes: a long reasoning call takes minutes."""
RUN_SECONDS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2, 1638.4, 3276.8)
TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
CALLS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
ITERATIONS: Final = (1, 2, 3, 5, 8, 10, 15, 20, 25, 30, 40, 50, 75, 100, 200)
"""Edges at which iteration alerts put their thresholds."""

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
AGENT: Final = "gen_ai.agent.name"
TOOL: Final = "gen_ai.tool.name"
ERROR: Final = "error.type"
MODALITY: Final = "gen_ai.token.modality"

INFERENCE: Final = (OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, "server.address", "server.port", AGENT)
TURN: Final = (
    PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, AGENT, "otel_agent.response.finish_reason", "otel_agent.response.truncated",
    "otel_agent.response.empty_truncated", "gen_ai.request.reasoning.level", "otel_agent.request.model_kind",
    "otel_agent.usage.state", "otel_agent.stream.end", ERROR,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metric:
    """One instrument. ``unit`` is UCUM; ``buckets`` are upper edges, for histograms only."""

    name: str
    kind: Kind
    unit: str
    brief: str
    attributes: tuple[str, ...]
    buckets: tuple[float, ...] = ()


METRICS: Final[tuple[Metric, ...]] = (
    # Model turns
    Metric("gen_ai.client.inference.duration", "histogram", "s", "Duration of model calls.", (*INFERENCE, ERROR), SECONDS),
    Metric("gen_ai.client.inference.time_to_first_chunk", "histogram", "s", "Time to the first chunk of a stream.", INFERENCE, SECONDS),
    Metric(
        "otel_agent.response.time_to_first_visible_chunk", "histogram", "s",
        "Time to the first chunk of a stream that a person can see.", INFERENCE, SECONDS,
    ),
    Metric("gen_ai.client.inference.operation.input_tokens", "histogram", "{token}", "Input tokens per call.", (*INFERENCE, ERROR), TOKENS),
    Metric("gen_ai.client.inference.operation.output_tokens", "histogram", "{token}", "Output tokens per call.", (*INFERENCE, ERROR), TOKENS),
    Metric("gen_ai.client.inference.usage.input_tokens", "counter", "{token}", "Input tokens, cached ones included.", (*INFERENCE, MODALITY)),
    Metric("gen_ai.client.inference.usage.output_tokens", "counter", "{token}", "Output tokens, reasoning included.", (*INFERENCE, MODALITY)),
    Metric("gen_ai.client.inference.usage.cache_read.input_tokens", "counter", "{token}", "Input tokens read from cache.", (*INFERENCE, MODALITY)),
    Metric("gen_ai.client.inference.usage.cache_write.input_tokens", "counter", "{token}", "Input tokens written to cache.", (*INFERENCE, MODALITY)),
    Metric("gen_ai.client.inference.usage.reasoning.output_tokens", "counter", "{token}", "Output tokens spent on reasoning.", (*INFERENCE, MODALITY)),
    Metric("otel_agent.turns", "counter", "{turn}", "Model turns by how they ended.", TURN),
    Metric("otel_agent.retried_attempts", "counter", "{attempt}", "HTTP tries beyond the first.", (PROVIDER, REQUEST_MODEL, AGENT)),
    Metric("otel_agent.prefix_breaks", "counter", "{turn}", "Turns that broke the cacheable prefix.", (AGENT, REQUEST_MODEL, "otel_agent.history.prefix_break")),
    Metric("otel_agent.replay_items", "counter", "{item}", "Reasoning items due back in a tool loop.", (AGENT, REQUEST_MODEL, "otel_agent.replay.state")),
    Metric("otel_agent.undeclared_tool_calls", "counter", "{call}", "Calls of tools that were not offered.", (AGENT, REQUEST_MODEL)),
    # Tools
    Metric("gen_ai.execute_tool.duration", "histogram", "s", "Duration of tool executions.", (TOOL, "gen_ai.tool.type", AGENT, ERROR), SECONDS),
    Metric("otel_agent.tool_executions", "counter", "{execution}", "Tool executions by outcome.", (TOOL, AGENT, "otel_agent.tool.outcome", "otel_agent.tool.kind", "otel_agent.tool.effect")),
    Metric("otel_agent.tool_repeats", "counter", "{execution}", "Tool executions that repeated an identical call of the run.", (TOOL, AGENT)),
    Metric("otel_agent.tool_cycles", "counter", "{cycle}", "Cycles of two or three calls that came round again.", (AGENT, "otel_agent.tool.cycle")),
    Metric("otel_agent.tool_validations", "counter", "{execution}", "Tool executions by argument validation.", (TOOL, AGENT, "otel_agent.tool.validation")),
    Metric("otel_agent.policy_decisions", "counter", "{decision}", "Policy decisions on tool calls.", (TOOL, AGENT, "otel_agent.policy.decision", "otel_agent.approval.state")),
    Metric("otel_agent.conflicting_writes", "counter", "{execution}", "Writes that overlapped another write of the run.", (TOOL, AGENT)),
    # Runs
    Metric("otel_agent.runs", "counter", "{run}", "Agent runs by how they ended.", (AGENT, "otel_agent.run.end_reason", "otel_agent.run.partial_answer")),
    Metric("otel_agent.runs_started", "counter", "{run}", "Agent runs begun.", (AGENT,)),
    Metric("gen_ai.invoke_agent.duration", "histogram", "s", "Duration of agent runs.", (AGENT, OPERATION, ERROR), RUN_SECONDS),
    Metric("gen_ai.invoke_agent.inference_calls", "histogram", "{inference_call}", "Model calls per run.", (AGENT,), ITERATIONS),
    Metric("gen_ai.invoke_agent.tool_calls", "histogram", "{tool_call}", "Tool calls per run.", (AGENT,), ITERATIONS),
    Metric("otel_agent.run.max_repeat", "histogram", "{call}", "Highest count of one identical call in a row per run.", (AGENT,), ITERATIONS),
    Metric("otel_agent.run.input_tokens", "counter", "{token}", "Input tokens of finished runs.", (AGENT, "otel_agent.run.end_reason")),
    Metric("otel_agent.run.output_tokens", "counter", "{token}", "Output tokens of finished runs.", (AGENT, "otel_agent.run.end_reason")),
    Metric("otel_agent.run.resent_tokens", "counter", "{token}", "Input tokens sent again by finished runs.", (AGENT,)),
    Metric("otel_agent.budgets_exceeded", "counter", "{run}", "Runs that used up a budget.", (AGENT, "otel_agent.budget.exceeded")),
    # Others
    Metric("gen_ai.retrieval.duration", "histogram", "s", "Duration of retrievals.", ("gen_ai.data_source.id", AGENT, ERROR), SECONDS),
    Metric("otel_agent.feedback", "counter", "{event}", "Feedback by kind.", (AGENT, "otel_agent.feedback.kind", "otel_agent.feedback.source")),
    Metric("otel_agent.text_steps", "counter", "{step}", "Steps of text-protocol agents.", (AGENT, "otel_agent.step.outcome", "otel_agent.tool.validation")),
    Metric("otel_agent.self.events", "counter", "{event}", "What this instrumentation could not keep or do.", ("otel_agent.self.kind", "otel_agent.self.place")),
)  # fmt: skip

OLDER: Final[tuple[Metric, ...]] = (
    Metric("gen_ai.client.operation.duration", "histogram", "s", "Duration of model calls (older name).", (*INFERENCE, ERROR), SECONDS),
    Metric("gen_ai.client.token.usage", "histogram", "{token}", "Tokens per call (older name).", (*INFERENCE, "gen_ai.token.type"), TOKENS),
)  # fmt: skip

METRIC_ONLY: Final[dict[str, tuple[str, tuple[str, ...] | str]]] = {
    MODALITY: ("Modality of the tokens counted.", ("text", "image", "audio", "unknown")),
    "gen_ai.token.type": ("Which side the tokens are on (older name).", ("input", "output")),
    "otel_agent.replay.state": ("What became of the items.", ("replayed", "dropped", "edited", "provider_dropped")),
    "otel_agent.self.kind": ("Kind of event; see otel_agent.tally.", ("failure", "unfit", "unknown", "dropped", "removed")),
    "otel_agent.self.place": ("Place in this package, a word of our own.", r"^[a-z][a-z0-9_.]{0,63}$"),
}
"""Attributes that occur on metrics alone: meaning, and their values or the pattern of their values."""
