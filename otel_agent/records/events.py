"""Retrievals, feedback, and steps of the text protocol."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from otel_agent.fields import Count, Digest, ErrorType, Identifier, Identifiers, Number, Seconds, ToolName, Word
from otel_agent.records.closed import FeedbackKind, FeedbackSource, StepOutcome, Validation
from otel_agent.records.fact import Fact
from otel_agent.records.run import InRun


class Retrieval(InRun):
    """Documents fetched for the model: their ids, never their text. Conventions: docs/gen-ai/retrieval.md."""

    event_name: ClassVar[str] = "otel_agent.retrieval.done"
    span_operation: ClassVar[str | None] = "retrieval"

    operation: Annotated[Literal["retrieval"], Fact("gen_ai.operation.name", "The operation.", start=True)] = "retrieval"
    data_source: Annotated[Identifier | None, Fact("gen_ai.data_source.id", "Id of the data source.", start=True)] = None
    top_k: Annotated[Count | None, Fact("gen_ai.retrieval.top_k", "Documents asked for.", start=True)] = None
    document_ids: Annotated[Identifiers | None, Fact("otel_agent.retrieval.document_ids", "Ids of the documents found.")] = None
    document_count: Annotated[Count | None, Fact("otel_agent.retrieval.document_count", "How many were found.")] = None
    error_type: Annotated[ErrorType | None, Fact("error.type", "Exception class when it failed.")] = None
    duration: Annotated[Seconds, Fact("otel_agent.duration", "Wall time in seconds.")]


class Feedback(InRun):
    """What a person or a system did with an answer, possibly much later; a comment is prose and has no place here."""

    event_name: ClassVar[str] = "otel_agent.feedback"

    feedback: Annotated[FeedbackKind, Fact("otel_agent.feedback.kind", "What was done with the answer.")]
    rating: Annotated[Number | None, Fact("otel_agent.feedback.rating", "Rating from 0 (bad) to 1 (good), with kind rated.")] = None
    source: Annotated[FeedbackSource, Fact("otel_agent.feedback.source", "Who did it.")] = "user"
    response_id: Annotated[Identifier | None, Fact("gen_ai.response.id", "Response it is about.")] = None


class TextStep(InRun):
    """One step of an agent that writes Thought/Action/Observation as text: its outcome and its action, never its thought."""

    event_name: ClassVar[str] = "otel_agent.text_step"

    step: Annotated[Count | None, Fact("otel_agent.step.number", "Number of the step, from 1.")] = None
    outcome: Annotated[StepOutcome, Fact("otel_agent.step.outcome", "What the text held.")]
    tool: Annotated[ToolName | None, Fact("gen_ai.tool.name", "Tool named by the action; _OTHER when not a declared one.")] = None
    arguments_digest: Annotated[
        Digest | None, Fact("otel_agent.tool.arguments_digest", "Digest of the action's input in canonical form.")
    ] = None
    validation: Annotated[Validation, Fact("otel_agent.tool.validation", "Whether the input fits the declared schema.")] = "skipped"
    validation_errors: Annotated[Count | None, Fact("otel_agent.tool.validation_errors", "How many violations.")] = None
    migration: Annotated[Word | None, Fact("otel_agent.step.migration", "Migration step the application says it is at.")] = None
    dead_text_band: Annotated[
        Count | None, Fact("otel_agent.step.dead_text_band", "Bytes of text outside the action, rounded up to a power of two.")
    ] = None
