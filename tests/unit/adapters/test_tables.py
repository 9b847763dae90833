"""The tables behind the adapters: finish reasons (cases 114, 117), usage (033, 037), model names, hosts and routes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, get_args

import pytest

from otel_agent.adapters import ADAPTERS, finish, hosts, lookup, models, usage
from otel_agent.adapters.routes import fetched
from otel_agent.records.closed import FinishReason

HTTP: Any = __import__("httpx2" if find_spec("httpx2") else "httpx")  # the HTTP library of the installed SDKs

LENGTH: list[tuple[str, finish.Table, str, str]] = [
    ("anthropic", finish.MESSAGES, "max_tokens", "token_limit"),
    ("anthropic", finish.MESSAGES, "model_context_window_exceeded", "context_window"),
    ("openai", finish.CHAT, "length", "token_limit"),
    ("openai", finish.RESPONSES, "max_output_tokens", "token_limit"),
    ("openai", finish.RESPONSES, "max_messages", "context_window"),
    ("gemini", finish.GEMINI, "MAX_TOKENS", "token_limit"),
    ("cohere", finish.COHERE, "MAX_TOKENS", "token_limit"),
    ("bedrock", finish.BEDROCK, "max_tokens", "token_limit"),
    ("ollama", finish.OLLAMA, "length", "token_limit"),
    ("mistral", finish.MISTRAL, "model_length", "context_window"),
    ("gateway", finish.CHAT, "MAX_TOKENS", "token_limit"),
    ("gateway", finish.CHAT, "max_tokens", "token_limit"),
    ("gateway", finish.CHAT, "model_length", "context_window"),
]


@pytest.mark.parametrize(("provider", "table", "raw", "limit"), LENGTH)
def test_truncation_has_one_name(provider: str, table: finish.Table, raw: str, limit: str) -> None:
    """114, 117: a cut-off answer is ``length`` whoever cut it."""
    assert finish.normal(table, raw) == "length", provider
    assert limit == finish.truncated_by(("length",), (raw,))


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ((), "unknown"),
        (("stop",), "stop"),
        (("stop", "tool_call"), "tool_call"),
        (("stop", "length", "tool_call"), "length"),
        (("length", "content_filter"), "content_filter"),
        (("stop", "unknown"), "unknown"),
        (("length", "error"), "error"),
    ],
)
def test_the_worst_choice_speaks(reasons: tuple[FinishReason, ...], expected: str) -> None:
    """114: of several choices the one that a person must look at first counts."""
    assert expected == finish.worst(reasons)


def test_truncation_is_not_hidden_by_something_worse() -> None:
    """A response with a cut-off choice is truncated, whatever became of the others."""
    assert finish.truncated_by(("error", "length"), (None, "length")) == "token_limit"
    assert finish.truncated_by(("stop",), ("stop",)) is None


def test_a_huge_index_makes_no_huge_list() -> None:
    """Positions are bounded: a server cannot make us fill memory."""
    assert [0, 1, 10**9] == finish.places(2, [10**9])
    assert len(finish.places(10**9, [])) == 64


def test_an_unknown_reason_is_counted(tallied: Callable[[], list[str]]) -> None:
    """069: what we never heard of is ``other`` and a count."""
    assert finish.normal(finish.MESSAGES, "siesta") == "other"
    assert ["unknown finish_reason"] == tallied()


def test_worst_first_holds_every_reason() -> None:
    """Each normal reason has its place in the rule."""
    assert sorted(get_args(FinishReason)) == sorted(finish.WORST_FIRST)


USAGES: list[tuple[dict[str, int], tuple[int | None, int | None]]] = [
    ({"input": 20, "output": 151, "reasoning": 382, "total": 553}, (20, 533)),
    ({"input": 20, "output": 533, "reasoning": 382, "total": 553}, (20, 533)),
    ({"input": 20, "output": 151, "reasoning": 382}, (20, 533)),
    ({"input": 20, "output": 400, "reasoning": 382}, (20, 400)),
    ({"input": 20, "output": 400, "reasoning": 0, "total": 999}, (20, 400)),
    ({"input": 20, "output": 400, "reasoning": 100, "total": 999}, (20, 400)),
    ({"output": 5}, (None, 5)),
    ({"input": 0, "output": 0, "total": 0}, (0, 0)),
    ({}, (None, None)),
]


@pytest.mark.parametrize(("seen", "expected"), USAGES)
def test_exclusive_output_is_found_by_the_total(seen: dict[str, int], expected: tuple[Any, ...]) -> None:
    """033: where the total says so, reasoning is added; the raw numbers stay as they came, and absent is not zero."""
    read = usage.inclusive_form(seen)

    assert expected == (read.input_tokens, read.output_tokens)
    assert (seen.get("input"), seen.get("output"), seen.get("total")) == (
        read.raw_input_tokens, read.raw_output_tokens, read.raw_total_tokens,
    )  # fmt: skip


def test_exclusive_input() -> None:
    """037: input counts without the cache are summed, and a split by lifetime stands in for a missing whole."""
    whole = usage.messages_form({"input": 10, "cache_read": 90, "cache_write": 20, "output": 7})
    split = usage.messages_form({"input": 10, "write_5m": 5, "write_1h": 15})

    assert (120, 90, 20, 7) == (whole.input_tokens, whole.cache_read_tokens, whole.cache_write_tokens, whole.output_tokens)
    assert (30, 20, None) == (split.input_tokens, split.cache_write_tokens, split.output_tokens)
    assert usage.messages_form({"cache_read": 5}).input_tokens is None


def test_state_of_usage() -> None:
    """Complete, partial or missing; never an invented zero."""
    states = [usage.inclusive_form(seen).state for seen in ({"input": 1, "output": 0}, {"input": 1}, {})]

    assert ["complete", "partial", "missing"] == states


MODELS = {
    "snapshot": """claude-opus-4-6 claude-sonnet-4-6 claude-sonnet-5 claude-haiku-4-5-20251001 claude-opus-4@20250514
        anthropic.claude-3-5-sonnet-20241022-v2:0 us.anthropic.claude-opus-4-6-v1 anthropic/claude-opus-4.6 gpt-4o-2024-08-06
        gpt-5.2-2025-12-11 gpt-4-0613 gpt-4-1106-preview ft:gpt-4o-2024-08-06:org::abc o1-2024-12-17 gemini-2.0-flash-001
        models/gemini-2.0-flash-001 gemini-2.5-flash-preview-09-2025 mistral-large-2411 command-r-08-2024 grok-4-0709
        meta.llama3-1-70b-instruct-v1:0 amazon.nova-pro-v1:0
        arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-6-v1""",
    "alias": """claude-haiku-4-5 claude-opus-4-5 claude-sonnet-4-5 claude-opus-4-0 claude-3-7-sonnet-latest claude-3-5-haiku opus
        anthropic/claude-sonnet-4.5 gpt-4o gpt-4.1-mini gpt-5.5 gpt-5.6 chatgpt-4o-latest o3-mini gemini-2.5-flash
        gemini-3-pro-preview gemini-flash-latest mistral-large-latest command-r grok-4-latest ~x-ai/grok-latest qwen3:8b
        llama3.3:latest arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1
        arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc""",
    "unknown": """gpt-5.6-sol gpt-6-sol gpt-oss-120b meta-llama/Llama-3.3-70B-Instruct llama3 my-deployment grok-4 _OTHER
        text-embedding-3-small deepseek-chat mistral-small claude-x""",
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in MODELS.items() for name in names.split()])
def test_model_names(kind: str, name: str) -> None:
    """A name that pins, one that moves, and one whose maker does not say."""
    assert kind == models.kind(name)


def test_no_model_is_unknown() -> None:
    """Without a name nothing is known."""
    assert models.kind(None) == "unknown"


HOSTS: list[tuple[Any, tuple[Any, ...]]] = [
    ("https://api.openai.com/v1/", ("openai", "derived", "api.openai.com", 443)),
    ("https://eu.api.openai.com/v1", ("openai", "derived", "eu.api.openai.com", 443)),
    ("https://API.Anthropic.COM.", ("anthropic", "derived", "api.anthropic.com", 443)),
    ("https://api.deepseek.com/anthropic", ("deepseek", "derived", "api.deepseek.com", 443)),
    ("https://my.openai.azure.com:8443/openai", ("azure.ai.openai", "derived", "my.openai.azure.com", 8443)),
    ("https://x.services.ai.azure.com/models", ("azure.ai.inference", "derived", "x.services.ai.azure.com", 443)),
    ("https://us-central1-aiplatform.googleapis.com/v1", ("gcp.vertex_ai", "derived", "us-central1-aiplatform.googleapis.com", 443)),
    ("https://bedrock-runtime.eu-west-1.amazonaws.com", ("aws.bedrock", "derived", "bedrock-runtime.eu-west-1.amazonaws.com", 443)),
    ("https://bedrock-mantle.us-east-1.api.aws/v1", ("aws.bedrock", "derived", "bedrock-mantle.us-east-1.api.aws", 443)),
    ("https://api.moonshot.cn/v1", ("moonshot_ai", "derived", "api.moonshot.cn", 443)),
    ("http://localhost:11434/v1", ("ollama", "inferred", "localhost", 11434)),
    ("http://127.0.0.1:8000/v1", ("vllm", "inferred", "127.0.0.1", 8000)),
    ("http://localhost:30000", ("sglang", "inferred", "localhost", 30000)),
    ("http://[::1]:1234/v1", ("lm_studio", "inferred", "::1", 1234)),
    ("http://gpu-box:8000/v1", ("unknown", "unknown", "gpu-box", 8000)),
    ("http://localhost:9999", ("unknown", "unknown", "localhost", 9999)),
    ("https://api.openai.com@evil.example/v1", ("unknown", "unknown", "evil.example", 443)),
    ("https://evil.example/api.openai.com", ("unknown", "unknown", "evil.example", 443)),
    ("https://api.openai.com.evil.example", ("unknown", "unknown", "api.openai.com.evil.example", 443)),
    ("https://notapi.openai.com", ("unknown", "unknown", "notapi.openai.com", 443)),
    ("https://fakeapi.x.ai", ("unknown", "unknown", "fakeapi.x.ai", 443)),
    ("http://[::1", ("unknown", "unknown", None, None)),
    ("https://h:port", ("unknown", "unknown", None, None)),
    ("api.openai.com/v1", ("unknown", "unknown", None, None)),
    (HTTP.URL("https://api.groq.com/openai/v1"), ("groq", "derived", "api.groq.com", 443)),
    (HTTP.URL("http://localhost:11434/v1"), ("ollama", "inferred", "localhost", 11434)),
    (None, ("unknown", "unknown", None, None)),
    (17, ("unknown", "unknown", None, None)),
]


@pytest.mark.parametrize(("url", "expected"), HOSTS, ids=str)
def test_hosts(url: Any, expected: tuple[Any, ...]) -> None:
    """The parsed host decides, exactly or by a dot suffix; a port of a known local server is a guess and says so."""
    assert expected == hosts.provider_of(url)


def test_a_client_knows_its_provider() -> None:
    """What the client names itself wins, when we know the name."""
    assert hosts.provider_of("https://x.example", "aws.bedrock")[:2] == ("aws.bedrock", "given")
    assert hosts.provider_of("https://api.x.ai", "somebody")[:2] == ("x_ai", "derived")
    assert hosts.provider_of("https://api.x.ai", object())[:2] == ("x_ai", "derived")


ROUTES: list[tuple[str, str, str | None]] = [
    ("post", "/v1/messages", "messages"),
    ("POST", "/v1/messages?beta=true", "messages"),
    ("post", "https://api.anthropic.com/v1/messages/", "messages"),
    ("post", "/chat/completions", "chat_completions"),
    ("post", "/openai/v1/chat/completions", "chat_completions"),
    ("post", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "chat_completions"),
    ("post", "/completions", "completions"),
    ("post", "/responses", "responses"),
    ("post", "/responses/compact", "responses"),
    ("get", "/responses/resp_1", None),
    ("post", "/embeddings", "embeddings"),
    ("get", "/responses/resp_1/input_items", None),
    ("post", "/responses/resp_1/cancel", None),
    ("delete", "/responses/resp_1", None),
    ("post", "/responses/input_tokens", None),
    ("get", "/chat/completions", None),
    ("get", "/chat/completions/chatcmpl_1", None),
    ("post", "/v1/messages/count_tokens", None),
    ("post", "/v1/messages/batches", None),
    ("post", "/threads/thread_1/messages", None),
    ("get", "/v1/messages", None),
    ("get", "/models", None),
    ("post", "/files", None),
    ("post", "/", None),
    ("", "", None),
]


@pytest.mark.parametrize(("method", "url", "api"), ROUTES)
def test_routes(method: str, url: str, api: str | None) -> None:
    """Method and last segments decide; everything else is no model turn."""
    found = lookup(method, url)

    assert api == (None if found is None else found.api)


@pytest.mark.parametrize(
    ("method", "url", "name"),
    [
        ("get", "/responses/resp_1", "resp_1"),
        ("GET", "https://x.openai.azure.com/openai/v1/responses/resp_1?stream=true&starting_after=3", "resp_1"),
        ("post", "/responses/resp_1/cancel", "resp_1"),
        ("get", "/responses/resp_1/cancel", None),
        ("get", "/responses/resp_1/input_items", None),
        ("get", "/responses", None),
        ("post", "/responses", None),
        ("post", "/responses/resp_1", None),
        ("post", "/responses/cancel", None),
        ("post", "/cancel", None),
        ("delete", "/responses/resp_1", None),
        ("get", "/", None),
    ],
)
def test_fetches(method: str, url: str, name: str | None) -> None:
    """Reading a response again, or cancelling it, names it; nothing else does."""
    assert fetched(method, url) == name


def test_the_table_is_the_whole_list() -> None:
    """Every adapter is listed under its own interface."""
    assert {name: adapter.api for name, adapter in ADAPTERS.items()} == {name: name for name in ADAPTERS}
