"""The closed sets: every enumerated value a record may hold."""

from __future__ import annotations

from typing import Final, Literal

Operation = Literal["chat", "text_completion", "embeddings", "generate_content", "fetch_response"]
GENERATING: Final = frozenset({"chat", "text_completion", "generate_content"})
"""Operations that read the conversation. Embeddings do not, and fetching a response again reads nothing anew."""
Api = Literal["messages", "chat_completions", "responses", "completions", "embeddings"]
Provider = Literal[
    "openai", "anthropic", "aws.bedrock", "azure.ai.inference", "azure.ai.openai", "cohere", "deepseek", "gcp.gemini",
    "gcp.gen_ai", "gcp.vertex_ai", "groq", "ibm.watsonx.ai", "mistral_ai", "moonshot_ai", "perplexity", "x_ai", "openrouter",
    "together", "fireworks", "qwen", "zai", "minimax", "cerebras", "sambanova", "deepinfra", "nvidia", "github", "huggingface",
    "vercel", "ollama", "vllm", "sglang", "lm_studio", "unknown",
]  # fmt: skip
ProviderSource = Literal["given", "derived", "inferred", "unknown"]
ModelKind = Literal["snapshot", "alias", "unknown"]
FinishReason = Literal[
    "stop", "length", "tool_call", "content_filter", "paused", "pending", "compaction", "malformed", "error", "other", "unknown"
]
TruncatedBy = Literal["token_limit", "context_window"]
UsageState = Literal["complete", "partial", "missing"]
StreamEnd = Literal["read", "closed", "abandoned", "failed", "cancelled"]
Modality = Literal["text", "image", "audio", "unknown"]
MessageRole = Literal["system", "user", "assistant", "tool", "item"]
PrefixBreak = Literal["edited", "reordered", "summarised", "system_changed", "tools_changed"]

ToolType = Literal["function", "extension", "datastore"]
ToolKind = Literal["function", "mcp", "builtin", "server"]
ToolOutcome = Literal["ok", "error", "denied", "timeout", "cancelled", "invalid_arguments", "unknown_tool"]
ToolEffect = Literal["read", "write", "unknown"]
Validation = Literal["passed", "failed", "skipped"]
PolicyDecision = Literal["allow", "deny", "modify", "needs_approval"]
Approval = Literal["approved", "rejected", "pending", "not_required"]
PrincipalKind = Literal["user", "service", "agent"]

EndReason = Literal["answered", "turn_limit", "token_limit", "deadline", "tool_limit", "error", "cancelled", "handed_off", "waiting"]
Budget = Literal["turns", "input_tokens", "output_tokens", "seconds", "tool_calls"]
FeedbackKind = Literal["accepted", "edited", "retried", "escalated", "abandoned", "rated"]
FeedbackSource = Literal["user", "system"]
StepOutcome = Literal["action", "final", "both", "malformed", "invented_observation"]
