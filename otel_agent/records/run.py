"""One agent run: its beginning, its end, and the fields that tie other records to it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from otel_agent.fields import Count, ErrorType, Flag, Identifier, Integer, ModelName, Seconds, ToolName
from otel_agent.records.closed import Budget, EndReason
from otel_agent.records.fact import Fact, Record


class InRun(Record):
    """What ties a record to the run around it. All absent outside a run."""

    run_id: Annotated[Identifier | None, Fact("otel_agent.run.id", "Id of the agent run this belongs to.", start=True)] = None
    turn: Annotated[Count | None, Fact("otel_agent.run.turn", "Number of the model turn within the run, from 1.", start=True)] = None
    agent_name: Annotated[ToolName | None, Fact("gen_ai.agent.name", "Name the application gave the agent.", start=True)] = None
    conversation_id: Annotated[
        Identifier | None,
        Fact("gen_ai.conversation.id", "Conversation id, only when the application has one; never invented.", start=True),
    ] = None


class RunStarted(InRun):
    """Emitted when a run begins, so that a run which never ends can be found (process killed, still going)."""

    event_name: ClassVar[str] = "otel_agent.run_started"

    operation: Annotated[Literal["invoke_agent"], Fact("gen_ai.operation.name", "The operation.", start=True)] = "invoke_agent"
    agent_version: Annotated[Identifier | None, Fact("gen_ai.agent.version", "Version the application gave.", start=True)] = None


class AgentRun(InRun):
    """A finished run. Totals have names of their own, so that summing a name over spans never counts a token twice."""

    event_name: ClassVar[str] = "otel_agent.agent_run"
    span_operation: ClassVar[str | None] = "invoke_agent"

    operation: Annotated[Literal["invoke_agent"], Fact("gen_ai.operation.name", "The operation.", start=True)] = "invoke_agent"
    agent_version: Annotated[Identifier | None, Fact("gen_ai.agent.version", "Version the application gave.", start=True)] = None
    request_model: Annotated[
        ModelName | None, Fact("gen_ai.request.model", "The model asked for, when all turns asked for the same one.")
    ] = None
    end_reason: Annotated[EndReason, Fact("otel_agent.run.end_reason", "Why the run ended.")]
    error_type: Annotated[ErrorType | None, Fact("error.type", "Exception class when the run failed.")] = None
    partial_answer: Annotated[
        Flag | None, Fact("otel_agent.run.partial_answer", "True when an answer was returned although the run did not finish.")
    ] = None
    turns: Annotated[Count, Fact("otel_agent.run.turns", "Model calls made, failed ones included.")]
    tool_calls: Annotated[Count, Fact("otel_agent.run.tool_calls", "Tool executions.")]
    tool_failures: Annotated[Count, Fact("otel_agent.run.tool_failures", "Tool executions whose outcome was not ok.")]
    truncated_turns: Annotated[Count, Fact("otel_agent.run.truncated_turns", "Turns cut off by a limit.")]
    input_tokens: Annotated[
        Count | None, Fact("otel_agent.run.input_tokens", "Input tokens of all turns that reported them; absent when none did.")
    ] = None
    output_tokens: Annotated[Count | None, Fact("otel_agent.run.output_tokens", "Output tokens, likewise.")] = None
    cache_read_tokens: Annotated[Count | None, Fact("otel_agent.run.cache_read_tokens", "Cached input tokens, likewise.")] = None
    reasoning_tokens: Annotated[Count | None, Fact("otel_agent.run.reasoning_tokens", "Reasoning tokens, likewise.")] = None
    resent_tokens: Annotated[
        Count | None,
        Fact(
            "otel_agent.run.resent_tokens",
            "Input tokens that an earlier turn of the run had already sent once; absent with fewer than 2 turns.",
        ),
    ] = None
    usage_missing_turns: Annotated[Count, Fact("otel_agent.run.usage_missing_turns", "Turns without a usage report.")] = 0
    prefix_breaks: Annotated[Count, Fact("otel_agent.run.prefix_breaks", "Turns whose request changed what an earlier one had sent.")] = 0
    max_repeat: Annotated[Count, Fact("otel_agent.run.max_repeat", "Highest count of one identical tool call in a row.")] = 0
    repeats: Annotated[Count, Fact("otel_agent.run.repeats", "Tool calls that repeated an earlier identical call.")] = 0
    cycles: Annotated[Count, Fact("otel_agent.run.cycles", "Times a cycle of two or three calls came round again.")] = 0
    conflicting_writes: Annotated[Count, Fact("otel_agent.run.conflicting_writes", "Writes that overlapped another write in time.")] = 0
    denied: Annotated[Count, Fact("otel_agent.run.denied", "Tool calls that policy or approval refused.")] = 0
    budget_exceeded: Annotated[Budget | None, Fact("otel_agent.budget.exceeded", "The first budget that ran out.")] = None
    budget_turns: Annotated[Count | None, Fact("otel_agent.budget.turns", "Turns allowed.", start=True)] = None
    budget_input_tokens: Annotated[Count | None, Fact("otel_agent.budget.input_tokens", "Input tokens allowed.", start=True)] = None
    budget_output_tokens: Annotated[Count | None, Fact("otel_agent.budget.output_tokens", "Output tokens allowed.", start=True)] = None
    budget_seconds: Annotated[Seconds | None, Fact("otel_agent.budget.seconds", "Seconds allowed.", start=True)] = None
    budget_tool_calls: Annotated[Count | None, Fact("otel_agent.budget.tool_calls", "Tool calls allowed.", start=True)] = None
    turns_left: Annotated[Integer | None, Fact("otel_agent.budget.turns_left", "Turns left; negative when overdrawn.")] = None
    input_tokens_left: Annotated[Integer | None, Fact("otel_agent.budget.input_tokens_left", "Input tokens left.")] = None
    output_tokens_left: Annotated[Integer | None, Fact("otel_agent.budget.output_tokens_left", "Output tokens left.")] = None
    tool_calls_left: Annotated[Integer | None, Fact("otel_agent.budget.tool_calls_left", "Tool calls left.")] = None
    duration: Annotated[Seconds, Fact("otel_agent.duration", "Wall time in seconds.")]
