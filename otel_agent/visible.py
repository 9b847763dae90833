"""What of a message counts: an allow-list of members by block type, and the projection of a message onto them.

Two messages are the same for the history when their projections are equal. A block of a type not listed here contributes its type
alone, and so does every carrier of reasoning (thinking, redacted_thinking, reasoning items, compaction, commentary): their members are
not read. Members not listed (``signature``, ``cache_control``, ``citations``, ``reasoning_content``, ``status``) do not count. An absent
member and ``None`` are the same, a dictionary and an SDK's model object with equal members are the same.

The projection is nested arrays of strings, numbers, booleans and ``null``; its digest is taken over their JSON text.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from otel_agent.canonical import MAX_BYTES, Marker, canonical, encoder
from otel_agent.stored import plain, read

_RESULT_ONLY_ID: Final = ("tool_use_id",)

BLOCKS: Final[dict[str, tuple[str, ...]]] = {
    "message": ("role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "parts"),
    # Anthropic
    "text": ("text",),
    "image": ("source",),
    "document": ("source", "title", "context"),
    "search_result": ("source", "title", "content"),
    "container_upload": ("file_id",),
    "tool_use": ("id", "name", "input"),
    "server_tool_use": ("id", "name", "input"),
    "mcp_tool_use": ("id", "name", "server_name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
    "mcp_tool_result": ("tool_use_id", "content", "is_error"),
    "tool_reference": ("tool_name",),
    "web_search_tool_result": _RESULT_ONLY_ID,
    "web_fetch_tool_result": _RESULT_ONLY_ID,
    "code_execution_tool_result": _RESULT_ONLY_ID,
    "bash_code_execution_tool_result": _RESULT_ONLY_ID,
    "text_editor_code_execution_tool_result": _RESULT_ONLY_ID,
    "tool_search_tool_result": _RESULT_ONLY_ID,
    # OpenAI Chat Completions
    "image_url": ("image_url",),
    "input_audio": ("input_audio",),
    "file": ("file",),
    "refusal": ("refusal",),
    "function": ("id", "function"),
    "custom": ("id", "custom"),
    # OpenAI Responses
    "input_text": ("text",),
    "output_text": ("text",),
    "input_image": ("image_url", "file_id"),
    "input_file": ("file_id", "file_url", "file_data", "filename"),
    "computer_screenshot": ("image_url", "file_id"),
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "item_reference": ("id",),
    "computer_call": ("call_id", "action"),
    "computer_call_output": ("call_id", "output"),
    "local_shell_call": ("call_id", "action"),
    "local_shell_call_output": ("id", "output"),
    "shell_call": ("call_id", "action"),
    "shell_call_output": ("call_id", "output"),
    "apply_patch_call": ("call_id", "operation"),
    "apply_patch_call_output": ("call_id", "output"),
    "mcp_call": ("id", "name", "server_label", "arguments", "output"),
    "mcp_list_tools": ("id", "server_label"),
    "mcp_approval_request": ("id", "name", "server_label", "arguments"),
    "mcp_approval_response": ("approval_request_id", "approve"),
    "web_search_call": ("id", "action"),
    "file_search_call": ("id", "queries"),
    "code_interpreter_call": ("id", "code"),
    "image_generation_call": ("id",),
    # Parts without a type: Gemini contents, Bedrock Converse
    "part": (
        "text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData", "inline_data",
        "fileData", "file_data", "executableCode", "executable_code", "codeExecutionResult", "code_execution_result",
        "toolUse", "toolResult", "image", "document", "json",
    ),
}  # fmt: skip
"""Members that count, by block type. Order matters: it is the order in the projection."""

NESTED: Final[dict[str, tuple[str, ...]]] = {
    "function": ("name", "arguments"),
    "custom": ("name", "input"),
    "function_call": ("id", "name", "args", "arguments"),
    "functionCall": ("id", "name", "args"),
    "function_response": ("id", "name", "response"),
    "functionResponse": ("id", "name", "response"),
    "toolUse": ("toolUseId", "name", "input"),
    "toolResult": ("toolUseId", "content", "status"),
}
"""Members whose value is an object with its own allow-list: reasoning signatures sit beside the call in some of them."""

BLOCK_LISTS: Final = frozenset({"content", "parts", "output", "tool_calls"})
"""Members whose value is text, a block or a list of blocks. Every other member's value is free-form."""

HIDDEN_PHASE: Final = "commentary"

_encode: Final = encoder(sort_keys=False)


def kind_of(item: Any) -> str:
    """The type by which a message, item, block or part is read."""
    find = item.get if type(item) is dict else partial(read, item)
    kind = find("type")
    if type(kind) is not str and type(kind := plain(kind)) is not str:
        if find("role") is None:
            return "thought" if find("thought") is True else "part"
        kind = "message"
    if kind == "message" and (phase := find("phase")) is not None and plain(phase) == HIDDEN_PHASE:
        return HIDDEN_PHASE
    return kind


def encoded(item: Any) -> bytes:
    """The projection of ``item`` as bytes. Lone surrogates are let through: this is no text for a reader."""
    return _encode(_block(item)).encode("utf-8", "surrogatepass")


def _block(block: Any) -> Any:
    if type(block) is not dict and type(block := plain(block)) is str:
        return _text(block)
    kind = kind_of(block)
    return [kind, *_members(block, BLOCKS.get(kind, ()))]


def _members(source: Any, names: tuple[str, ...]) -> list[Any]:
    out: list[Any] = []
    find = source.get if type(source) is dict else partial(read, source)
    for name in names:
        value = find(name)
        if value is not None:
            out += (name, value if type(value) is str and len(value) <= MAX_BYTES else _value(name, value))
    return out


def _value(name: str, value: Any) -> Any:
    value = plain(value)
    if type(value) is str:
        return _text(value)
    if name in BLOCK_LISTS:
        return _content(value)
    if name in NESTED and type(value) not in (list, tuple):
        return _members(value, NESTED[name])
    return _free(value)


def _content(value: Any) -> Any:
    if type(value) in (list, tuple):
        return [_block(block) for block in value]
    return None if value is None else _block(value)


def _text(text: str) -> Any:
    """Text beyond a mebibyte (an image in base64) counts by its length; a change of it is still seen by comparison."""
    return text if len(text) <= MAX_BYTES else [len(text)]


def _free(value: Any) -> Any:
    """Canonical JSON as a string, in an array to tell it from text; the marker where there is none, so the rest still counts."""
    data = canonical(value)
    return [str.__str__(data) if isinstance(data, Marker) else data.decode()]
