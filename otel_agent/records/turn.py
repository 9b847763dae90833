"""One model turn: what was asked, what came back, what it cost, why it stopped."""

from __future__ import annotations

from typing import Annotated, ClassVar

from otel_agent.fields import (
    Count,
    Digest,
    ErrorType,
    Flag,
    Host,
    Identifier,
    Identifiers,
    Integer,
    ModelName,
    Number,
    Seconds,
    ToolNames,
    Word,
    Words,
)
from otel_agent.records.closed import (
    Api,
    FinishReason,
    MessageRole,
    ModelKind,
    Operation,
    PrefixBreak,
    Provider,
    ProviderSource,
    StreamEnd,
    TruncatedBy,
    UsageState,
)
from otel_agent.records.fact import Fact
from otel_agent.records.run import InRun


class ModelTurn(InRun):
    """A logical model call with all its attempts, from the request to the last chunk read.

    Counts the provider did not send are absent, never zero; ``usage_state`` says which case it is. Conventions:
    docs/gen-ai/client-inference.md.
    """

    event_name: ClassVar[str] = "otel_agent.model_turn"
    span_operation: ClassVar[str | None] = "chat"

    # The request
    operation: Annotated[Operation, Fact("gen_ai.operation.name", "The operation.", start=True)]
    api: Annotated[Api, Fact("otel_agent.api", "Which of the provider's interfaces was called.", start=True)]
    provider: Annotated[Provider, Fact("gen_ai.provider.name", "Who was called, by the client or by the host.", start=True)]
    provider_source: Annotated[ProviderSource, Fact("otel_agent.provider.source", "How the provider's name was found.", start=True)]
    server_address: Annotated[Host | None, Fact("server.address", "Host of the endpoint.", start=True)] = None
    server_port: Annotated[Count | None, Fact("server.port", "Port of the endpoint.", start=True)] = None
    request_model: Annotated[ModelName | None, Fact("gen_ai.request.model", "Model exactly as asked for.", start=True)] = None
    model_kind: Annotated[ModelKind, Fact("otel_agent.request.model_kind", "Whether the name asked for pins a snapshot.", start=True)] = (
        "unknown"
    )
    stream: Annotated[Flag | None, Fact("gen_ai.request.stream", "True for a streamed call, else absent.", start=True)] = None
    max_tokens: Annotated[Count | None, Fact("gen_ai.request.max_tokens", "Cap on output tokens.", start=True)] = None
    choice_count: Annotated[Count | None, Fact("gen_ai.request.choice.count", "Choices asked for, when not 1.", start=True)] = None
    temperature: Annotated[Number | None, Fact("gen_ai.request.temperature", "Sampling temperature.", start=True)] = None
    top_p: Annotated[Number | None, Fact("gen_ai.request.top_p", "Nucleus sampling share.", start=True)] = None
    reasoning_level: Annotated[
        Word | None, Fact("gen_ai.request.reasoning.level", "Effort exactly as sent; absent when unset.", start=True)
    ] = None
    reasoning_budget: Annotated[
        Integer | None,
        Fact("otel_agent.request.reasoning.budget_tokens", "Thinking budget in tokens; -1 means automatic.", start=True),
    ] = None
    reasoning_mode: Annotated[
        Word | None, Fact("otel_agent.request.reasoning.mode", "Thinking mode as sent (enabled, adaptive, pro).", start=True)
    ] = None
    output_type: Annotated[Word | None, Fact("gen_ai.output.type", "text, json, image or speech, when asked for.", start=True)] = None
    service_tier: Annotated[Word | None, Fact("otel_agent.request.service_tier", "Service tier asked for.", start=True)] = None
    previous_response_id: Annotated[
        Identifier | None, Fact("gen_ai.request.previous_response.id", "Response this one continues.", start=True)
    ] = None
    tool_names: Annotated[ToolNames | None, Fact("otel_agent.tools.offered_names", "Names of the tools offered.")] = None
    tool_count: Annotated[Count | None, Fact("otel_agent.tools.offered_count", "How many tools were offered.")] = None
    tools_digest: Annotated[Digest | None, Fact("otel_agent.tools.definitions_digest", "Digest of the tool definitions.")] = None

    # The history
    message_count: Annotated[Count | None, Fact("otel_agent.history.message_count", "Messages or items sent.")] = None
    history_digest: Annotated[
        Digest | None, Fact("otel_agent.history.digest", "Chain digest over the messages sent; reasoning items count by type only.")
    ] = None
    stable_prefix: Annotated[
        Count | None,
        Fact("otel_agent.history.stable_prefix", "Leading messages equal to the previous request's; absent on a run's first turn."),
    ] = None
    first_changed: Annotated[
        Count | None, Fact("otel_agent.history.first_changed", "Index of the first message of the previous request that changed.")
    ] = None
    first_changed_role: Annotated[MessageRole | None, Fact("otel_agent.history.first_changed_role", "Role of that message.")] = None
    prefix_break: Annotated[
        PrefixBreak | None, Fact("otel_agent.history.prefix_break", "What broke the cacheable prefix; absent when nothing did.")
    ] = None
    replayed_items: Annotated[
        Count | None, Fact("otel_agent.replay.items", "Reasoning items of the open tool loop that were sent back.")
    ] = None
    dropped_items: Annotated[Count | None, Fact("otel_agent.replay.dropped", "Reasoning items due back that were left out.")] = None
    edited_items: Annotated[Count | None, Fact("otel_agent.replay.edited", "Reasoning items sent back changed.")] = None
    provider_dropped_items: Annotated[
        Count | None, Fact("otel_agent.replay.provider_dropped", "Reasoning items the provider says it removed.")
    ] = None

    # The response
    response_model: Annotated[ModelName | None, Fact("gen_ai.response.model", "Model that answered, as returned.")] = None
    response_id: Annotated[Identifier | None, Fact("gen_ai.response.id", "Id of the response.")] = None
    fetched: Annotated[
        Flag | None,
        Fact(
            "otel_agent.response.fetched",
            "True where a response made before was fetched and its end was new: the end of a background turn; absent else.",
            start=True,
        ),
    ] = None
    request_id: Annotated[Identifier | None, Fact("otel_agent.response.request_id", "Provider's request id, for support.")] = None
    finish_reasons: Annotated[Words | None, Fact("gen_ai.response.finish_reasons", "Normal finish reason of each choice, in order.")] = None
    finish_reasons_raw: Annotated[
        Words | None, Fact("otel_agent.response.finish_reasons_raw", "The same as the provider spelled them.")
    ] = None
    finish_reason: Annotated[
        FinishReason, Fact("otel_agent.response.finish_reason", "The worst of the normal finish reasons; unknown when there is none.")
    ]
    truncated: Annotated[Flag, Fact("otel_agent.response.truncated", "True when a limit cut the answer off.")]
    truncated_by: Annotated[TruncatedBy | None, Fact("otel_agent.response.truncated_by", "Which limit.")] = None
    empty_truncated: Annotated[
        Flag, Fact("otel_agent.response.empty_truncated", "True when it was cut off before anything visible came.")
    ] = False
    effective_level: Annotated[
        Word | None, Fact("otel_agent.response.reasoning_level", "Effort in force, where the provider echoes it.")
    ] = None
    response_tier: Annotated[Word | None, Fact("otel_agent.response.service_tier", "Service tier that answered.")] = None
    tool_call_names: Annotated[
        ToolNames | None,
        Fact("otel_agent.response.tool_call_names", "Tools called, in order; a name that was not offered appears as _OTHER."),
    ] = None
    tool_call_ids: Annotated[Identifiers | None, Fact("otel_agent.response.tool_call_ids", "Ids of those calls.")] = None
    undeclared_tool_calls: Annotated[
        Count | None, Fact("otel_agent.response.undeclared_tool_calls", "Calls of tools that were not offered; absent when none.")
    ] = None
    visible_blocks: Annotated[Count | None, Fact("otel_agent.response.visible_blocks", "Blocks a person sees.")] = None
    action_blocks: Annotated[Count | None, Fact("otel_agent.response.action_blocks", "Tool call blocks.")] = None
    result_blocks: Annotated[Count | None, Fact("otel_agent.response.result_blocks", "Results of tools run by the provider.")] = None
    deliberation_blocks: Annotated[Count | None, Fact("otel_agent.response.deliberation_blocks", "Reasoning blocks, counted by type.")] = (
        None
    )
    unknown_blocks: Annotated[Count | None, Fact("otel_agent.response.unknown_blocks", "Blocks of a type we do not know.")] = None
    answer_digest: Annotated[Digest | None, Fact("otel_agent.response.answer_digest", "Digest of the visible text.")] = None
    answer_size_band: Annotated[
        Count | None, Fact("otel_agent.response.answer_size_band", "Bytes of visible text, rounded up to a power of two.")
    ] = None

    # Usage
    input_tokens: Annotated[Count | None, Fact("gen_ai.usage.input_tokens", "All input tokens, cached ones included.")] = None
    output_tokens: Annotated[Count | None, Fact("gen_ai.usage.output_tokens", "All output tokens, reasoning included.")] = None
    cache_read_tokens: Annotated[
        Count | None, Fact("gen_ai.usage.cache_read.input_tokens", "Input tokens read from the provider's cache.")
    ] = None
    cache_write_tokens: Annotated[
        Count | None, Fact("gen_ai.usage.cache_write.input_tokens", "Input tokens written to the provider's cache.")
    ] = None
    reasoning_tokens: Annotated[Count | None, Fact("gen_ai.usage.reasoning.output_tokens", "Output tokens spent on reasoning.")] = None
    audio_input_tokens: Annotated[Count | None, Fact("gen_ai.usage.audio.input_tokens", "Audio input tokens.")] = None
    audio_output_tokens: Annotated[Count | None, Fact("gen_ai.usage.audio.output_tokens", "Audio output tokens.")] = None
    raw_input_tokens: Annotated[Count | None, Fact("otel_agent.usage.raw_input_tokens", "Input count as the provider sent it.")] = None
    raw_output_tokens: Annotated[Count | None, Fact("otel_agent.usage.raw_output_tokens", "Output count as the provider sent it.")] = None
    raw_total_tokens: Annotated[Count | None, Fact("otel_agent.usage.raw_total_tokens", "Total as the provider sent it.")] = None
    web_searches: Annotated[Count | None, Fact("otel_agent.usage.web_search_requests", "Searches the provider billed.")] = None
    usage_state: Annotated[
        UsageState, Fact("otel_agent.usage.state", "complete: input and output known; partial: one of them; missing: neither.")
    ]

    # Time and ending
    duration: Annotated[Seconds, Fact("otel_agent.duration", "Wall time in seconds, all attempts included.")]
    first_chunk: Annotated[
        Seconds | None, Fact("gen_ai.response.time_to_first_chunk", "Seconds to the first chunk of any kind; streams only.")
    ] = None
    first_visible_chunk: Annotated[
        Seconds | None,
        Fact("otel_agent.response.time_to_first_visible_chunk", "Seconds to the first chunk a person can see; streams only."),
    ] = None
    thinking_seconds: Annotated[
        Seconds | None, Fact("otel_agent.response.thinking_seconds", "Seconds during which reasoning was produced; streams only.")
    ] = None
    chunks: Annotated[Count | None, Fact("otel_agent.response.chunks", "Stream events read; streams only.")] = None
    stream_end: Annotated[StreamEnd | None, Fact("otel_agent.stream.end", "How the stream ended; streams only.")] = None
    attempts: Annotated[Count | None, Fact("otel_agent.request.attempts", "HTTP tries made for this call.")] = None
    status_code: Annotated[Count | None, Fact("http.response.status_code", "HTTP status of a failed call.")] = None
    error_type: Annotated[
        ErrorType | None, Fact("error.type", "Provider error code from a known set, else the exception's class name.")
    ] = None
