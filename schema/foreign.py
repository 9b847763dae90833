"""What other instrumentations in the same pipeline may say: structure and numbers under the conventions' keys.

Every key is listed by hand. Left out on purpose: whatever quotes a person, a model or a query (``url.full``,
``url.path``, ``db.query.text``, ``user_agent.original``, ``gen_ai.*`` messages, arguments, results, descriptions,
``mcp.resource.uri``), addresses of people (``client.address``, ``network.peer.address``), stop sequences, command
lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_agent.fields import HOST, IDENTIFIER, MODEL, TOOL, WORD
from schema.shapes import Shape

INT: Final = Shape("int")
DOUBLE: Final = Shape("double")
BOOL: Final = Shape("bool")


def _text(pattern: str) -> Shape:
    return Shape("string", pattern=pattern)


def _one_of(*values: str) -> Shape:
    return Shape("string", values)


ID: Final = _text(IDENTIFIER)
NAME: Final = _text(TOOL)
CODE: Final = _text(WORD)
MODEL_ID: Final = _text(MODEL)
NODE: Final = _text(HOST)
ERROR_TYPE: Final = _text(r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,95}$")
"""Wider than our own: HTTP instrumentations put the status code here."""
ROUTE: Final = _text(r"^[A-Za-z0-9/{}<>:._*-]{1,128}$")
VERSION: Final = _text(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$")
SYMBOL: Final = _text(r"^[A-Za-z_$/][A-Za-z0-9_.$/]{0,127}$")
STATUS: Final = _text(r"^[A-Za-z0-9_]{1,48}$")

METHODS: Final = ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE", "_OTHER")
OPERATIONS: Final = (
    "chat", "create_agent", "create_memory", "create_memory_store", "delete_memory", "delete_memory_store",
    "embeddings", "execute_tool", "fetch_response", "generate_content", "invoke_agent", "invoke_workflow", "plan",
    "retrieval", "search_memory", "text_completion", "update_memory", "upsert_memory",
)  # fmt: skip
MCP_METHODS: Final = (
    "completion/complete", "elicitation/create", "initialize", "logging/setLevel", "notifications/cancelled",
    "notifications/initialized", "notifications/message", "notifications/progress",
    "notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/resources/updated",
    "notifications/roots/list_changed", "notifications/tools/list_changed", "ping", "prompts/get", "prompts/list",
    "resources/list", "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe",
    "roots/list", "sampling/createMessage", "server/discover", "subscriptions/listen", "tools/call", "tools/list",
)  # fmt: skip
QUERIES: Final = (
    "ALTER", "BEGIN", "COMMIT", "CREATE", "DELETE", "DROP", "EXECUTE", "INSERT", "MERGE", "ROLLBACK", "SELECT",
    "TRUNCATE", "UPDATE", "WITH",
)  # fmt: skip
ANTHROPIC_SPANS: Final = (
    "anthropic.messages.batches.create", "anthropic.messages.batches.results",
    "anthropic.messages.batches.retrieve", "anthropic.messages.count_tokens", "anthropic.messages.create",
    "anthropic.models.list", "anthropic.models.retrieve", "anthropic.sessions.create",
    "anthropic.sessions.events.send", "anthropic.sessions.events.stream", "anthropic.sessions.retrieve",
)  # fmt: skip
PROTOCOL_WORDS: Final = ("HTTP", "MCP", "connect", "publish", "process", "receive", "send", "settle")

SCOPE_PATTERN: Final = (
    r"^(opentelemetry|io\.opentelemetry|go\.opentelemetry\.io|@opentelemetry|OpenTelemetry|com\.anthropic\.sdk|mcp-python-sdk"
    r"|openinference\.instrumentation|pydantic-ai|strands|gcp\.vertex\.agent|langchain|langgraph|langsmith|litellm|mistralai|agents"
    r"|google_adk|crewai|ag2|autogen)([./_-][A-Za-z0-9._/@-]{1,95})?$"
)
"""Scopes are named by code, but anybody's code: only families known to be instrumentations keep their names."""
METRIC_NAME: Final = r"^[A-Za-z][A-Za-z0-9_./-]{0,127}$"

GEN_AI: Final[Mapping[str, Shape]] = {
    "gen_ai.operation.name": _one_of(*OPERATIONS),
    "gen_ai.provider.name": CODE,
    "gen_ai.system": CODE,
    "gen_ai.request.model": MODEL_ID,
    "gen_ai.response.model": MODEL_ID,
    "gen_ai.agent.name": NAME,
    "gen_ai.tool.name": NAME,
    "gen_ai.tool.type": _one_of("function", "extension", "datastore"),
    "gen_ai.token.type": _one_of("input", "output", "completion"),
    "gen_ai.token.modality": _one_of("text", "image", "audio", "unknown"),
}
"""Set on spans and on metrics."""

GEN_AI_SPAN: Final[Mapping[str, Shape]] = {
    "gen_ai.request.max_tokens": INT,
    "gen_ai.request.choice.count": INT,
    "gen_ai.request.temperature": DOUBLE,
    "gen_ai.request.top_p": DOUBLE,
    "gen_ai.request.top_k": DOUBLE,
    "gen_ai.request.frequency_penalty": DOUBLE,
    "gen_ai.request.presence_penalty": DOUBLE,
    "gen_ai.request.seed": INT,
    "gen_ai.request.stream": BOOL,
    "gen_ai.request.reasoning.level": CODE,
    "gen_ai.request.previous_response.id": ID,
    "gen_ai.request.encoding_formats": Shape("string[]", pattern=WORD),
    "gen_ai.response.id": ID,
    "gen_ai.response.finish_reasons": Shape("string[]", pattern=WORD),
    "gen_ai.response.status": _one_of("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
    "gen_ai.response.time_to_first_chunk": DOUBLE,
    "gen_ai.usage.input_tokens": INT,
    "gen_ai.usage.output_tokens": INT,
    "gen_ai.usage.prompt_tokens": INT,
    "gen_ai.usage.completion_tokens": INT,
    "gen_ai.usage.reasoning.output_tokens": INT,
    "gen_ai.usage.cache_read.input_tokens": INT,
    "gen_ai.usage.cache_write.input_tokens": INT,
    "gen_ai.usage.cache_creation.input_tokens": INT,
    "gen_ai.usage.text.input_tokens": INT,
    "gen_ai.usage.text.output_tokens": INT,
    "gen_ai.usage.image.input_tokens": INT,
    "gen_ai.usage.image.output_tokens": INT,
    "gen_ai.usage.audio.input_tokens": INT,
    "gen_ai.usage.audio.output_tokens": INT,
    "gen_ai.conversation.id": ID,
    "gen_ai.conversation.compacted": BOOL,
    "gen_ai.agent.id": ID,
    "gen_ai.agent.version": ID,
    "gen_ai.tool.call.id": ID,
    "gen_ai.data_source.id": ID,
    "gen_ai.output.type": _one_of("text", "json", "image", "speech"),
    "gen_ai.embeddings.dimension.count": INT,
    "gen_ai.retrieval.top_k": INT,
    "openai.api.type": _one_of("chat_completions", "responses"),
    "openai.request.service_tier": CODE,
    "openai.response.service_tier": CODE,
    "openai.response.system_fingerprint": ID,
    "anthropic.request.id": ID,
    "anthropic.request.service_tier": CODE,
    "anthropic.response.service_tier": CODE,
    "anthropic.thinking.type": CODE,
    "anthropic.thinking.budget_tokens": INT,
    "anthropic.beta": Shape("string[]", pattern=WORD),
    "anthropic.message.stop_reason": CODE,
    "anthropic.message.count_tokens.input_tokens": INT,
    "anthropic.usage.cache_creation.ephemeral_5m_input_tokens": INT,
    "anthropic.usage.cache_creation.ephemeral_1h_input_tokens": INT,
    "mcp.method.name": _one_of(*MCP_METHODS),
    "mcp.protocol.version": VERSION,
    "mcp.session.id": ID,
    "jsonrpc.protocol.version": VERSION,
}

TRANSPORT: Final[Mapping[str, Shape]] = {
    "error.type": ERROR_TYPE,
    "exception.type": ERROR_TYPE,
    "http.request.method": _one_of(*METHODS),
    "http.response.status_code": INT,
    "http.route": ROUTE,
    "url.scheme": _one_of("http", "https", "ws", "wss", "grpc"),
    "server.address": NODE,
    "server.port": INT,
    "network.protocol.name": CODE,
    "network.protocol.version": VERSION,
    "network.transport": _one_of("tcp", "udp", "pipe", "unix", "quic"),
    "network.type": _one_of("ipv4", "ipv6"),
    "rpc.system": CODE,
    "rpc.system.name": CODE,
    "rpc.service": SYMBOL,
    "rpc.method": SYMBOL,
    "rpc.response.status_code": STATUS,
    "rpc.grpc.status_code": INT,
    "db.system": CODE,
    "db.system.name": CODE,
    "db.operation.name": CODE,
    "db.collection.name": NAME,
    "db.namespace": NAME,
    "db.response.status_code": STATUS,
    "messaging.system": CODE,
    "messaging.operation.name": CODE,
    "messaging.operation.type": CODE,
    "messaging.destination.name": NAME,
    "http.method": _one_of(*METHODS),
    "http.status_code": INT,
    "http.scheme": _one_of("http", "https", "ws", "wss"),
    "http.flavor": VERSION,
    "net.peer.name": NODE,
    "net.peer.port": INT,
    "net.host.port": INT,
}
"""Set on spans and on metrics; the last lines are what older instrumentations still send."""

TRANSPORT_SPAN: Final[Mapping[str, Shape]] = {
    "http.request.resend_count": INT,
    "http.request.body.size": INT,
    "http.response.body.size": INT,
    "network.peer.port": INT,
    "db.operation.batch.size": INT,
    "db.response.returned_rows": INT,
    "messaging.batch.message_count": INT,
    "messaging.message.body.size": INT,
    "code.function.name": SYMBOL,
    "code.line.number": INT,
    "thread.id": INT,
}

RUNTIME: Final[Mapping[str, Shape]] = {
    "otel.component.name": ID,
    "otel.component.type": ID,
    "otel.signal": CODE,
    "cpu.mode": CODE,
    "cpython.gc.generation": INT,
    "db.client.connection.state": CODE,
    "db.client.connection.pool.name": ID,
    "http.connection.state": CODE,
    "system.memory.state": CODE,
    "disk.io.direction": CODE,
    "network.io.direction": CODE,
}
"""Set on metrics of the telemetry SDK itself and of the runtime."""


def _specs(*tables: Mapping[str, Shape]) -> dict[str, dict[str, Any]]:
    return {name: shape.spec() for table in tables for name, shape in table.items()}


def section() -> dict[str, Any]:
    """The ``foreign`` section of the allow-list."""
    return {
        "span": {
            "name_heads": [*METHODS, *OPERATIONS, *MCP_METHODS, *QUERIES, *ANTHROPIC_SPANS, *PROTOCOL_WORDS],
            "attributes": _specs(GEN_AI, GEN_AI_SPAN, TRANSPORT, TRANSPORT_SPAN),
        },
        "log": {"attributes": _specs(GEN_AI, GEN_AI_SPAN, TRANSPORT, TRANSPORT_SPAN)},
        "metric": {"name": METRIC_NAME, "attributes": _specs(GEN_AI, TRANSPORT, RUNTIME)},
    }
