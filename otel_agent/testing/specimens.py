"""Well-formed traffic of each wire format with a canary in every carrier.

Everything is made anew at each call, so that it may be damaged. Lists of blocks and items come in full; a caller takes
what it needs of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from otel_agent.testing.canaries import Canaries

Json: TypeAlias = dict[str, Any]


def anthropic_blocks(plant: Canaries) -> list[Json]:
    """Content blocks of a message."""
    citation = {
        "type": "web_search_result_location",
        "cited_text": plant["anthropic.cited_text"],
        "url": "https://example.org/a",
        "title": None,
        "encrypted_index": plant["anthropic.encrypted_index"],
    }
    found = {
        "type": "web_search_result",
        "url": "https://example.org/a",
        "title": plant["anthropic.server_tool_result"],
        "encrypted_content": plant["anthropic.web_encrypted"],
        "page_age": None,
    }
    printed = {
        "type": "encrypted_code_execution_result",
        "encrypted_stdout": plant["anthropic.encrypted_stdout"],
        "stderr": plant["anthropic.server_tool_result"],
        "return_code": 0,
        "content": [],
    }
    advised = {"type": "advisor_result", "text": plant["anthropic.advisor_result"]}
    sealed_advice = {"type": "advisor_redacted_result", "encrypted_content": plant["anthropic.advisor_redacted"]}
    query = {"query": plant["anthropic.server_tool_input"]}
    return [
        {"type": "thinking", "thinking": plant["anthropic.thinking"], "signature": plant["anthropic.signature"]},
        {"type": "thinking", "thinking": "", "signature": plant["anthropic.signature"]},
        {"type": "redacted_thinking", "data": plant["anthropic.redacted_thinking"]},
        {"type": "text", "text": plant["anthropic.text"], "citations": [citation]},
        {"type": "text", "text": f"<think>{plant['anthropic.inline_think']}</think> Yes."},
        {"type": "tool_use", "id": "toolu_1", "name": "find_order", "input": {"note": plant["anthropic.tool_input"]}},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": query},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]},
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content": printed},
        {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_3", "content": advised},
        {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_4", "content": sealed_advice},
        {
            "type": "compaction",
            "content": plant["anthropic.compaction"],
            "encrypted_content": plant["anthropic.compaction_sealed"],
            "signature": plant["anthropic.compaction_signature"],
        },
        {"type": "pondering", "pondering": plant["anthropic.unknown_block"], "text": plant["anthropic.unknown_block"]},
    ]


def anthropic_fields(plant: Canaries) -> Json:
    """Fields of a message beside its content."""
    explained = {"type": "refusal", "category": "cyber", "explanation": plant["anthropic.stop_explanation"]}
    return {
        "stop_sequence": plant["anthropic.stop_sequence"],
        "stop_details": explained,
        "container": {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"},
        "input_transformations": [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "unknown"}],
        "musings": plant["anthropic.unknown_field"],
    }


def _message(part: Json, **more: Any) -> Json:
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part], **more}


def _output_text(plant: Canaries, name: str) -> Json:
    cited = {"type": "url_citation", "url": "https://example.org", "title": plant["responses.annotation_title"]}
    logprob = {"token": plant["responses.logprob_token"], "bytes": [], "logprob": -0.1, "top_logprobs": []}
    annotation = {**cited, "start_index": 0, "end_index": 1}
    return {"type": "output_text", "text": plant[name], "annotations": [annotation], "logprobs": [logprob]}


def responses_items(plant: Canaries) -> list[Json]:
    """Output items of a response."""
    arguments = json.dumps({"note": plant["responses.function_arguments"]})
    summary = {"type": "summary_text", "text": plant["responses.reasoning_summary"]}
    reasoned = {"type": "reasoning_text", "text": plant["responses.reasoning_text"]}
    hit = {"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": plant["responses.file_search_text"]}
    asked = {"type": "search", "query": plant["responses.search_query"]}
    said = [{"type": "output_text", "text": plant["responses.agent_message"]}, reasoned]
    failed = {"server_label": "shop", "error": plant["responses.mcp_output"], "output": plant["responses.mcp_output"]}
    return [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [summary],
            "content": [reasoned],
            "encrypted_content": plant["responses.encrypted_content"],
        },
        _message(_output_text(plant, "responses.commentary"), phase="commentary"),
        _message(_output_text(plant, "responses.output_text"), id="msg_2"),
        _message({"type": "refusal", "refusal": plant["responses.refusal"]}, id="msg_3"),
        {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "find_order", "arguments": arguments},
        {
            "id": "ctc_1",
            "type": "custom_tool_call",
            "call_id": "call_2",
            "name": "note",
            "input": plant["responses.custom_input"],
        },
        {"id": "mcp_1", "type": "mcp_call", "name": "find", "arguments": arguments, **failed},
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": asked},
        {"id": "fs_1", "type": "file_search_call", "status": "completed", "queries": [], "results": [hit]},
        {"id": "ci_1", "type": "code_interpreter_call", "code": plant["responses.code"], "container_id": "c1"},
        {
            "id": "am_1",
            "type": "agent_message",
            "content": said,
            "encrypted_content": plant["responses.agent_encrypted"],
        },
        {"id": "pr_1", "type": "program", "fingerprint": plant["responses.program_fingerprint"]},
        {"id": "cp_1", "type": "compaction", "encrypted_content": plant["responses.compaction_encrypted"]},
        {"id": "xx_1", "type": "pondering", "content": [{"type": "musing", "text": plant["responses.unknown_item"]}]},
    ]


def responses_fields(plant: Canaries) -> Json:
    """Fields of a response beside its output."""
    return {
        "instructions": plant["responses.instructions"],
        "error": {"code": "server_error", "message": plant["responses.error_message"]},
        "input_transformations": [{"id": "rs_0", "action": "removed", "reason": "turn_boundary", "type": "reasoning"}],
        "musings": plant["responses.unknown_field"],
    }


def chat_message(plant: Canaries) -> Json:
    """A message of a chat completion, with the fields of compatible servers."""
    arguments = json.dumps({"note": plant["chat.tool_arguments"]})
    cited = {"url": "https://example.org", "title": plant["chat.annotation_title"], "start_index": 0, "end_index": 1}
    heard = {"id": "audio_1", "data": "", "expires_at": 1, "transcript": plant["chat.audio_transcript"]}
    think = f"<think>{plant['compatible.inline_think']}</think>"
    harmony = f"<|channel|>analysis<|message|>{plant['compatible.harmony_analysis']}<|end|>"
    thought = {"type": "thinking", "thinking": plant["compatible.thinking_blocks"]}
    return {
        "role": "assistant",
        "content": think + harmony + plant["chat.content"],
        "refusal": plant["chat.refusal"],
        "annotations": [{"type": "url_citation", "url_citation": cited}],
        "audio": heard,
        "function_call": {"name": "find_order", "arguments": plant["chat.function_arguments"]},
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "find_order", "arguments": arguments}},
            {"id": "call_2", "type": "custom", "custom": {"name": "note", "input": plant["chat.custom_input"]}},
        ],
        **{name: plant[f"compatible.{name}"] for name in _PLAIN_FIELDS},
        "reasoning_details": _details(plant),
        "thinking_blocks": [thought],
        "executed_tools": [{"type": "search", "arguments": "{}", "output": plant["compatible.executed_tool_output"]}],
        "provider_specific_fields": {"reasoning": plant["compatible.provider_specific"]},
        "musings": plant["chat.unknown_field"],
    }


_PLAIN_FIELDS = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
    "thought",
    "analysis",
    "cot_summary",
    "reasoning_opaque",
    "encrypted_content",
)


def _details(plant: Canaries) -> list[Json]:
    signature = plant["compatible.details_signature"]
    return [
        {"type": "reasoning.text", "text": plant["compatible.details_text"], "signature": signature, "index": 0},
        {"type": "reasoning.summary", "summary": plant["compatible.details_summary"], "index": 1},
        {"type": "reasoning.encrypted", "data": plant["compatible.details_data"], "index": 2},
    ]


def chat_logprobs(plant: Canaries) -> Json:
    """Log probabilities of a choice."""
    token = {"token": plant["chat.logprob_token"], "bytes": [], "logprob": -0.1, "top_logprobs": []}
    return {"content": [token], "refusal": None}


def error_bodies(plant: Canaries) -> list[Any]:
    """What providers, proxies and load balancers put into an error's body."""
    said = plant["error.body"]
    return [
        {"type": "error", "error": {"type": "invalid_request_error", "message": said}, "request_id": "req_1"},
        {"error": {"message": said, "type": "invalid_request_error", "param": said, "code": said}},
        {"error": {"message": plant["chat.error_message"], "type": said, "code": 400, "metadata": {"raw": said}}},
        {"error": said},
        {"detail": [{"loc": ["body"], "msg": said, "input": {"messages": [said]}}]},
        {"message": said},
        [said],
        said,
        f"<html><body>{said}</body></html>".encode(),
        b"",
    ]


def _tool_schema(plant: Canaries) -> Json:
    note = {
        "type": "string",
        "description": plant["request.schema_description"],
        "enum": [plant["request.schema_enum"], "short"],
    }
    return {"type": "object", "properties": {"note": note}, "required": ["note"]}


def anthropic_request(plant: Canaries) -> Json:
    """A request in an open tool loop."""
    thinking = {"type": "thinking", "thinking": plant["request.thinking"], "signature": plant["request.signature"]}
    noted = {"note": plant["request.tool_arguments"]}
    call = {"type": "tool_use", "id": "toolu_1", "name": "find_order", "input": noted}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": plant["request.tool_result"]}
    image = {"type": "base64", "media_type": "image/png", "data": plant["request.image_data"]}
    page = {"type": "text", "media_type": "text/plain", "data": plant["request.user"]}
    document = {"type": "document", "title": plant["request.document_title"], "source": page}
    tool = {"name": "find_order", "description": plant["request.tool_description"], "input_schema": _tool_schema(plant)}
    said = [{"type": "text", "text": plant["request.user"]}, {"type": "image", "source": image}, document]
    wrapped = f"<assistant_thinking>{plant['request.assistant_thinking_wrapper']}</assistant_thinking>"
    return {
        "model": "claude-sonnet-4-6",
        "max_tokens": 4096,
        "system": [{"type": "text", "text": plant["request.system"]}],
        "messages": [
            {"role": "user", "content": said},
            {"role": "assistant", "content": [{"type": "text", "text": plant["request.assistant"]}]},
            {"role": "user", "content": wrapped},
            {"role": "assistant", "content": [thinking, call]},
            {"role": "user", "content": [result]},
        ],
        "tools": [tool],
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "stop_sequences": [plant["request.stop"]],
        "metadata": {"user_id": plant["request.metadata"]},
    }


def responses_request(plant: Canaries) -> Json:
    """A request in an open tool loop, with reasoning items sent back."""
    arguments = json.dumps({"note": plant["request.tool_arguments"]})
    summary = {"type": "summary_text", "text": plant["request.thinking"]}
    sealed = plant["request.signature"]
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{plant['request.image_data']}"}
    tool = {"type": "function", "name": "find_order", "description": plant["request.tool_description"]}
    shape = {"type": "json_schema", "name": "answer", "schema": {"description": plant["request.output_schema"]}}
    said = [{"type": "input_text", "text": plant["request.user"]}, picture]
    return {
        "model": "gpt-6-sol",
        "instructions": plant["request.system"],
        "input": [
            {"role": "user", "content": said},
            {"role": "assistant", "content": plant["request.assistant"]},
            {"type": "reasoning", "id": "rs_0", "summary": [summary], "encrypted_content": sealed},
            {"type": "function_call", "id": "fc_0", "call_id": "call_0", "name": "find_order", "arguments": arguments},
            {"type": "function_call_output", "call_id": "call_0", "output": plant["request.tool_result"]},
        ],
        "tools": [{**tool, "parameters": _tool_schema(plant), "strict": False}],
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {"format": shape},
        "metadata": {"who": plant["request.metadata"]},
        "max_output_tokens": 2000,
    }


def chat_request(plant: Canaries) -> Json:
    """A request in an open tool loop, with reasoning fields sent back."""
    called = {"name": "find_order", "arguments": json.dumps({"note": plant["request.tool_arguments"]})}
    function = {"name": "find_order", "description": plant["request.tool_description"]}
    shape = {"name": "answer", "schema": {"type": "object", "description": plant["request.output_schema"]}}
    answered = {
        "role": "assistant",
        "content": plant["request.assistant"],
        "reasoning_content": plant["request.thinking"],
        "reasoning_details": [{"type": "reasoning.encrypted", "data": plant["request.signature"]}],
        "tool_calls": [{"id": "call_1", "type": "function", "function": called}],
    }
    return {
        "model": "gpt-6-sol",
        "messages": [
            {"role": "developer", "content": plant["request.system"]},
            {"role": "user", "content": [{"type": "text", "text": plant["request.user"]}]},
            answered,
            {"role": "tool", "tool_call_id": "call_1", "content": plant["request.tool_result"]},
        ],
        "tools": [{"type": "function", "function": {**function, "parameters": _tool_schema(plant)}}],
        "reasoning_effort": "high",
        "stop": [plant["request.stop"]],
        "metadata": {"who": plant["request.metadata"]},
        "prediction": {"type": "content", "content": plant["request.prediction"]},
        "response_format": {"type": "json_schema", "json_schema": shape},
        "max_completion_tokens": 2000,
    }


def caller_extras(plant: Canaries) -> Json:
    """What a caller may add to any call of the SDKs beside the request itself."""
    return {
        "extra_body": {"house_field": plant["request.extra_body"]},
        "extra_headers": {"x-house-note": plant["request.header"]},
    }


REQUESTS: Mapping[str, Callable[[Canaries], Json]] = {
    "anthropic": anthropic_request,
    "openai.chat": chat_request,
    "openai.responses": responses_request,
}
"""A request of each dialect; these are also keyword arguments for the SDKs."""
