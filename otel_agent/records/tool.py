"""One tool execution: which tool, with which arguments (as digests), under which rule, and what came of it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from otel_agent.fields import Count, Digest, Digests, ErrorType, Flag, Identifier, Identifiers, Seconds, ToolName, ToolNames, Word
from otel_agent.records.closed import Approval, PolicyDecision, PrincipalKind, ToolEffect, ToolKind, ToolOutcome, ToolType, Validation
from otel_agent.records.fact import Fact
from otel_agent.records.run import InRun


class ToolExecution(InRun):
    """A tool call as it was carried out by the application. Conventions: docs/gen-ai/execute-tool.md."""

    event_name: ClassVar[str] = "otel_agent.tool_execution"
    span_operation: ClassVar[str | None] = "execute_tool"

    operation: Annotated[Literal["execute_tool"], Fact("gen_ai.operation.name", "The operation.", start=True)] = "execute_tool"
    tool: Annotated[ToolName, Fact("gen_ai.tool.name", "Name of the tool; _OTHER when it is not a declared one.", start=True)]
    call_id: Annotated[Identifier | None, Fact("gen_ai.tool.call.id", "The provider's id of the call.", start=True)] = None
    tool_type: Annotated[ToolType, Fact("gen_ai.tool.type", "Where the tool runs, as the conventions name it.", start=True)] = "function"
    kind: Annotated[ToolKind, Fact("otel_agent.tool.kind", "How the tool is reached.", start=True)] = "function"
    effect: Annotated[ToolEffect, Fact("otel_agent.tool.effect", "Whether it changes anything, as declared.", start=True)] = "unknown"
    phase: Annotated[Word | None, Fact("otel_agent.tool.phase", "Phase of the task the application was in.", start=True)] = None
    principal: Annotated[
        Digest | None, Fact("otel_agent.principal.digest", "Digest of the id of the one on whose behalf it ran.", start=True)
    ] = None
    principal_kind: Annotated[PrincipalKind | None, Fact("otel_agent.principal.kind", "What kind of one.", start=True)] = None
    arguments_digest: Annotated[Digest | None, Fact("otel_agent.tool.arguments_digest", "Digest of the arguments in canonical form.")] = (
        None
    )
    arguments_size_band: Annotated[
        Count | None, Fact("otel_agent.tool.arguments_size_band", "Bytes of the canonical arguments, rounded up to a power of two.")
    ] = None
    argument_names: Annotated[
        ToolNames | None, Fact("otel_agent.tool.argument_names", "Arguments given that the tool's schema declares, sorted.")
    ] = None
    argument_digests: Annotated[Digests | None, Fact("otel_agent.tool.argument_digests", "Digest of each of those, in the same order.")] = (
        None
    )
    undeclared_arguments: Annotated[
        Count | None, Fact("otel_agent.tool.undeclared_arguments", "Arguments the schema does not declare; absent without a schema.")
    ] = None
    validation: Annotated[
        Validation, Fact("otel_agent.tool.validation", "Whether the arguments fit the declared schema; skipped without one.")
    ] = "skipped"
    validation_errors: Annotated[Count | None, Fact("otel_agent.tool.validation_errors", "How many violations.")] = None
    decision: Annotated[PolicyDecision | None, Fact("otel_agent.policy.decision", "What the team's policy said.")] = None
    rule_id: Annotated[Identifier | None, Fact("otel_agent.policy.rule_id", "Which rule said so.")] = None
    approval: Annotated[Approval | None, Fact("otel_agent.approval.state", "State of a person's approval.")] = None
    outcome: Annotated[ToolOutcome, Fact("otel_agent.tool.outcome", "What came of it; failures returned as data are errors.")]
    error_type: Annotated[ErrorType | None, Fact("error.type", "Exception class, or tool_error for a failure returned as data.")] = None
    result_digest: Annotated[Digest | None, Fact("otel_agent.tool.result_digest", "Digest of the result.")] = None
    result_size_band: Annotated[
        Count | None, Fact("otel_agent.tool.result_size_band", "Bytes of the canonical result, rounded up to a power of two.")
    ] = None
    result_truncated: Annotated[Flag | None, Fact("otel_agent.tool.result_truncated", "True when the result was cut short.")] = None
    result_ids: Annotated[Identifiers | None, Fact("otel_agent.tool.result_ids", "Ids of rows or documents in the result.")] = None
    repeat: Annotated[
        Count | None, Fact("otel_agent.tool.repeat", "How often this run has made this same call, this one included; absent outside a run.")
    ] = None
    consecutive: Annotated[Count | None, Fact("otel_agent.tool.consecutive", "How often in a row.")] = None
    same_result: Annotated[Count | None, Fact("otel_agent.tool.same_result", "How often in a row the same call gave the same result.")] = (
        None
    )
    cycle: Annotated[
        Count | None, Fact("otel_agent.tool.cycle", "Length (2 or 3) of the cycle of calls this one completed again; else absent.")
    ] = None
    overlap: Annotated[Flag | None, Fact("otel_agent.tool.overlap", "True when another write of the run ran at the same time.")] = None
    duration: Annotated[Seconds, Fact("otel_agent.duration", "Wall time in seconds.")]
