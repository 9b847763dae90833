"""From the address a client calls to the provider behind it.

Only the parsed host name counts, exactly or by a dot suffix: a path or user information may hold another host's name. A gateway's
host says who was called, not who answered.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple, get_args
from urllib.parse import urlsplit

from otel_agent.fields import OTHER, count, host
from otel_agent.records.closed import Provider, ProviderSource


class Endpoint(NamedTuple):
    """Who is called and where. ``source``: *given* by the client itself, *derived* from the host, *inferred* from a port."""

    provider: Provider = "unknown"
    source: ProviderSource = "unknown"
    address: str | None = None
    port: int | None = None


EXACT: Final[dict[str, Provider]] = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "api.mistral.ai": "mistral_ai",
    "api.eu.mistral.ai": "mistral_ai",
    "codestral.mistral.ai": "mistral_ai",
    "api.cohere.com": "cohere",
    "api.cohere.ai": "cohere",
    "api.groq.com": "groq",
    "api.deepseek.com": "deepseek",
    "api.x.ai": "x_ai",
    "openrouter.ai": "openrouter",
    "api.together.xyz": "together",
    "api.together.ai": "together",
    "api.fireworks.ai": "fireworks",
    "dashscope.aliyuncs.com": "qwen",
    "dashscope-intl.aliyuncs.com": "qwen",
    "api.moonshot.ai": "moonshot_ai",
    "api.moonshot.cn": "moonshot_ai",
    "api.z.ai": "zai",
    "open.bigmodel.cn": "zai",
    "api.minimax.io": "minimax",
    "api.minimaxi.com": "minimax",
    "api.cerebras.ai": "cerebras",
    "api.sambanova.ai": "sambanova",
    "api.perplexity.ai": "perplexity",
    "api.deepinfra.com": "deepinfra",
    "integrate.api.nvidia.com": "nvidia",
    "models.github.ai": "github",
    "api.githubcopilot.com": "github",
    "router.huggingface.co": "huggingface",
    "ai-gateway.vercel.sh": "vercel",
    "ollama.com": "ollama",
}
SUFFIX: Final[tuple[tuple[str, Provider], ...]] = (
    (".api.openai.com", "openai"),
    (".openai.azure.com", "azure.ai.openai"),
    (".cognitiveservices.azure.com", "azure.ai.openai"),
    (".services.ai.azure.com", "azure.ai.inference"),
)
PATTERN: Final[tuple[tuple[re.Pattern[str], Provider], ...]] = (
    (re.compile(r"[a-z0-9-]+-aiplatform\.googleapis\.com"), "gcp.vertex_ai"),
    (re.compile(r"bedrock-runtime(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com"), "aws.bedrock"),
    (re.compile(r"bedrock-mantle\.[a-z0-9-]+\.api\.aws"), "aws.bedrock"),
)
LOCAL_PORTS: Final[dict[int, Provider]] = {11434: "ollama", 8000: "vllm", 30000: "sglang", 1234: "lm_studio"}
"""What usually listens there: a guess, and marked as one."""

_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "host.docker.internal"})  # noqa: S104
_PORTS: Final[dict[str, int]] = {"https": 443, "http": 80, "wss": 443, "ws": 80}
_PROVIDERS: Final[dict[str, Provider]] = {name: name for name in get_args(Provider) if name != "unknown"}


def provider_of(base_url: Any, given: Any = None) -> Endpoint:
    """The endpoint behind a base URL (a string, or a URL object with ``host``, ``port`` and ``scheme``).

    ``given`` is the provider the client names itself; it wins when it is one we know.
    """
    if isinstance(base_url, str):
        found = _from_string(str.__str__(base_url))
    else:
        found = _from_parts(*(getattr(base_url, part, None) for part in ("scheme", "host", "port")))
    named = _PROVIDERS.get(given) if isinstance(given, str) else None
    return found if named is None else found._replace(provider=named, source="given")


@lru_cache(maxsize=256)
def _from_string(url: str) -> Endpoint:
    try:
        parts = urlsplit(url)
        return _from_parts(parts.scheme, parts.hostname, parts.port)
    except ValueError:  # a port or an IPv6 address that is none
        return Endpoint()


def _from_parts(scheme: Any, name: Any, port: Any) -> Endpoint:
    if not isinstance(scheme, str) or not isinstance(name, str):
        return Endpoint()
    return _known(scheme, name, count(port))


@lru_cache(maxsize=256)
def _known(scheme: str, name: str, port: int | None) -> Endpoint:
    clean = name.lower().rstrip(".")
    actual = _PORTS.get(scheme) if port is None else port
    provider, source = _provider(clean, actual)
    address = host(clean)
    return Endpoint(provider, source, None if address == OTHER else address, actual)


def _provider(name: str, port: int | None) -> tuple[Provider, ProviderSource]:
    found = EXACT.get(name) or _by_suffix(name) or _by_pattern(name)
    if found is not None:
        return found, "derived"
    guess = LOCAL_PORTS.get(port) if port is not None and name in _LOCAL else None
    return (guess, "inferred") if guess is not None else ("unknown", "unknown")


def _by_suffix(name: str) -> Provider | None:
    return next((provider for suffix, provider in SUFFIX if name.endswith(suffix)), None)


def _by_pattern(name: str) -> Provider | None:
    return next((provider for pattern, provider in PATTERN if pattern.fullmatch(name)), None)
