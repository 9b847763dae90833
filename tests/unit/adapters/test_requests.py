"""Facts of request bodies: effort in every spelling (case 047), sentinels (026), one-shot iterables (016), tools, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic import NOT_GIVEN as ANTHROPIC_NOT_GIVEN
from openai import NOT_GIVEN, Omit

from otel_agent.adapters import ADAPTERS
from otel_agent.protocol import RequestFacts

Body = dict[str, Any]


def facts(api: str, **body: Any) -> RequestFacts:
    """Facts of a body."""
    return ADAPTERS[api].read_request({"model": "m", **body})  # type: ignore[index]


EFFORTS: list[tuple[str, Body, tuple[str | None, int | None, str | None]]] = [
    ("chat_completions", {}, (None, None, None)),
    ("chat_completions", {"reasoning_effort": "minimal"}, ("minimal", None, None)),
    ("chat_completions", {"reasoning_effort": "ludicrous"}, ("ludicrous", None, None)),
    ("chat_completions", {"reasoning_effort": "as hard as you can"}, ("_OTHER", None, None)),
    ("chat_completions", {"reasoning_effort": {"effort": "high", "summary": "auto"}}, ("high", None, None)),
    ("chat_completions", {"reasoning_effort": None}, (None, None, None)),
    ("chat_completions", {"reasoning": {"effort": "xhigh"}}, ("xhigh", None, None)),
    ("chat_completions", {"reasoning": {"max_tokens": 2000, "exclude": True}}, (None, 2000, None)),
    ("chat_completions", {"reasoning": {"enabled": False}}, (None, None, "disabled")),
    ("chat_completions", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}, ("max", None, "enabled")),
    ("chat_completions", {"thinking": {"type": "enabled", "token_budget": 500}}, (None, 500, "enabled")),
    ("chat_completions", {"enable_thinking": True, "thinking_budget": 50}, (None, 50, "enabled")),
    ("chat_completions", {"chat_template_kwargs": {"enable_thinking": False}}, (None, None, "disabled")),
    ("chat_completions", {"chat_template_kwargs": {"thinking": True, "reasoning_effort": "low"}}, ("low", None, "enabled")),
    ("chat_completions", {"disable_reasoning": True}, (None, None, "disabled")),
    ("chat_completions", {"prompt_mode": "reasoning"}, (None, None, "reasoning")),
    ("chat_completions", {"think": "high"}, ("high", None, None)),
    ("chat_completions", {"think": True}, (None, None, "enabled")),
    ("chat_completions", {"reasoning_format": "raw", "reasoning_effort": "default"}, ("default", None, "raw")),
    ("chat_completions", {"extra_body": {"google": {"thinking_config": {"thinking_level": "low"}}}}, ("low", None, None)),
    ("chat_completions", {"google": {"thinking_config": {"thinking_budget": -1}}}, (None, -1, None)),
    ("chat_completions", {"thinking_budget": True, "thinking": {"budget_tokens": 1.5, "type": 3}}, (None, None, None)),
    ("responses", {"reasoning": {"effort": "xhigh", "mode": "pro"}}, ("xhigh", None, "pro")),
    ("responses", {"reasoning": {"effort": None}}, (None, None, None)),
    ("messages", {"output_config": {"effort": "max"}}, ("max", None, None)),
    ("messages", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, (None, 4096, "enabled")),
    ("messages", {"thinking": {"type": "adaptive"}}, (None, None, "adaptive")),
    ("messages", {"thinking": {"type": "between_tools"}}, (None, None, "between_tools")),
    ("messages", {"thinking": {"type": "disabled"}}, (None, None, "disabled")),
]


@pytest.mark.parametrize(("api", "body", "expected"), EFFORTS, ids=str)
def test_effort_as_sent(api: str, body: Body, expected: tuple[Any, ...]) -> None:
    """047: the level is exactly the word sent, a budget is a number of its own, and what was not set is absent."""
    read = facts(api, **body)

    assert expected == (read.reasoning_level, read.reasoning_budget, read.reasoning_mode)


IN_FORCE: list[tuple[str, Body, str | None]] = [
    (
        "responses",
        {
            "reasoning": {"effort": "low"},
            "input": [
                {"type": "configuration_update", "reasoning": {"effort": "high"}},
                {"role": "user", "content": "x"},
                {"type": "configuration_update", "reasoning": {"effort": "minimal"}},
                {"type": "configuration_update", "text": {"format": {"type": "text"}}},
            ],
        },
        "minimal",
    ),
    ("responses", {"reasoning": {"effort": "low"}, "input": [{"type": "configuration_update"}]}, "low"),
    ("responses", {"input": "text"}, None),
    (
        "messages",
        {
            "output_config": {"effort": "low"},
            "messages": [
                {"role": "system", "content": "x", "output_config": {"effort": "high"}},
                {"role": "user", "content": "y", "output_config": {"effort": "max"}},
                {"role": "system", "content": "z"},
            ],
        },
        "high",
    ),
    ("messages", {"output_config": {"effort": "low"}, "messages": [{"role": "system", "output_config": {}}]}, "low"),
]


@pytest.mark.parametrize(("api", "body", "level"), IN_FORCE)
def test_the_last_update_is_in_force(api: str, body: Body, level: str | None) -> None:
    """A setting inside the conversation wins over the request's own; the last that names a level counts."""
    assert level == facts(api, **body).reasoning_level


def test_sentinels_are_absent(tallied: Callable[[], list[str]]) -> None:
    """026: sentinels and foreign types are as good as not there, and nobody is warned of them."""
    names = (
        "temperature", "top_p", "max_tokens", "max_output_tokens", "n", "tools", "tool_choice", "reasoning", "thinking", "stream",
        "reasoning_effort", "output_config", "service_tier", "response_format", "text", "functions", "modalities", "previous_response_id",
        "thread",
    )  # fmt: skip
    for api, adapter in ADAPTERS.items():
        empty = adapter.read_request({"model": "m"})
        for sentinel in (NOT_GIVEN, ANTHROPIC_NOT_GIVEN, Omit(), None, object(), 1j, ...):
            body = dict.fromkeys(names, sentinel)
            assert empty == adapter.read_request({"model": "m", **body}), (api, sentinel)
            adapter.conversation(body)
    assert tallied() == []


def test_one_shot_iterables_are_not_walked() -> None:
    """016: iterators of messages, tools and input are left as they are."""

    def once() -> Iterator[Any]:
        raise AssertionError("walked")
        yield

    for adapter in ADAPTERS.values():
        body = {"model": "m", "messages": once(), "tools": once(), "input": once(), "functions": once(), "modalities": once()}
        read = adapter.read_request(body)

        assert (None, None) == (read.tool_names, read.tool_count)
        assert adapter.conversation(body) is None


FORMATS: list[tuple[str, Body, str | None]] = [
    ("chat_completions", {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "json"),
    ("chat_completions", {"response_format": {"type": "json_object"}}, "json"),
    ("chat_completions", {"response_format": {"type": "text"}}, "text"),
    ("chat_completions", {"response_format": {"type": "grammar"}}, None),
    ("chat_completions", {"response_format": "json"}, None),
    ("chat_completions", {"modalities": ["text", "audio"]}, "speech"),
    ("responses", {"text": {"format": {"type": "json_schema"}}}, "json"),
    ("responses", {"input": [{"type": "configuration_update", "text": {"format": {"type": "json_schema"}}}]}, "json"),
    ("messages", {"output_config": {"format": {"type": "json_schema"}}}, "json"),
    ("messages", {"output_format": {"type": "json_schema"}}, "json"),
    ("messages", {}, None),
]


@pytest.mark.parametrize(("api", "body", "kind"), FORMATS, ids=str)
def test_output_type(api: str, body: Body, kind: str | None) -> None:
    """026: of a response format only its kind is kept."""
    assert kind == facts(api, **body).output_type


TOOLS: list[tuple[str, Body, tuple[str, ...] | None, int | None]] = [
    ("messages", {}, None, None),
    ("messages", {"tools": []}, (), 0),
    (
        "messages",
        {
            "tools": [
                {"name": "get_order", "input_schema": {}},
                {"type": "web_search_20250305", "name": "web_search"},
                {"type": "computer_toolset_20260801"},
                {"type": "mcp_toolset", "mcp_server_name": "crm"},
                {"description": "nameless"},
                None,
            ]
        },
        ("get_order", "web_search", "computer_toolset_20260801", "crm"),
        6,
    ),
    (
        "messages",
        {
            "tools": [{"name": "a"}],
            "messages": [
                {
                    "role": "system",
                    "content": [
                        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "b"}}},
                        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "a"}},
                    ],
                }
            ],
        },
        ("a", "b"),
        2,
    ),
    (
        "chat_completions",
        {
            "tools": [
                {"type": "function", "function": {"name": "f"}},
                {"type": "custom", "custom": {"name": "c"}},
                {"type": "browser_search"},
            ]
        },
        ("f", "c", "browser_search"),
        3,
    ),
    ("chat_completions", {"functions": [{"name": "old"}]}, ("old",), 1),
    (
        "responses",
        {
            "tools": [
                {"type": "function", "name": "f"},
                {"type": "custom", "name": "c"},
                {"type": "mcp", "server_label": "crm"},
                {"type": "file_search", "vector_store_ids": []},
                {"type": "namespace", "name": "shop", "tools": [{"type": "function", "name": "n1"}, {"type": "function", "name": "n2"}]},
            ],
            "input": [
                {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "late"}]},
                {"type": "tool_search_output", "tools": [{"type": "function", "name": "found"}]},
            ],
        },
        ("f", "c", "crm", "file_search", "n1", "n2", "late", "found"),
        8,
    ),
    ("chat_completions", {"tools": [{"type": "function", "function": {"name": "do this, then that"}}]}, ("_OTHER",), 1),
]


@pytest.mark.parametrize(("api", "body", "names", "size"), TOOLS)
def test_tools_on_offer(api: str, body: Body, names: tuple[str, ...] | None, size: int | None) -> None:
    """Names as given; hosted tools and toolsets go by type, MCP servers by label; no list, no fact."""
    read = facts(api, **body)

    assert (names, size) == (read.tool_names, read.tool_count)


def test_settings() -> None:
    """The plain settings, each from its own member."""
    chat = facts("chat_completions", max_completion_tokens=9, max_tokens=8, n=3, temperature=0, top_p=0.5, stream=True, service_tier="flex")
    answer = facts("responses", max_output_tokens=7, previous_response_id="resp_1", stream=False)
    message = facts("messages", max_tokens=6, thread={"type": "continue", "previous_message_id": "msg_1"})

    assert (9, 3, 0.0, 0.5, True, "flex") == (
        chat.max_tokens, chat.choice_count, chat.temperature, chat.top_p, chat.stream, chat.service_tier,
    )  # fmt: skip
    assert facts("chat_completions", n=1).choice_count is None
    assert (7, "resp_1", None) == (answer.max_tokens, answer.previous_response_id, answer.stream)
    assert (6, "msg_1") == (message.max_tokens, message.previous_response_id)


def test_conversations_are_references() -> None:
    """The caller's own lists, never copies; what the provider holds is said to be there."""
    messages, given, tools = [{"role": "user"}], [{"type": "message"}], [{"name": "a"}]
    one = ADAPTERS["messages"].conversation({"messages": messages, "system": "s", "tools": tools})
    two = ADAPTERS["responses"].conversation({"input": given, "instructions": "i", "previous_response_id": "resp_1"})
    three = ADAPTERS["responses"].conversation({"input": "hello", "conversation": {"id": "conv_1"}})
    four = ADAPTERS["messages"].conversation({"messages": messages, "thread": {"type": "continue"}})

    assert one is not None
    assert (one.items is messages, one.system, one.tools is tools, one.server_held) == (True, "s", True, False)
    assert two is not None
    assert (two.items is given, two.system, two.server_held) == (True, "i", True)
    assert three is not None
    assert (three.items, three.server_held) == (("hello",), True)
    assert four is not None
    assert four.server_held
