"""How servers that speak chat completions differ from OpenAI: where reasoning sits, how usage is counted and sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Flavour:
    """One server's habits.

    `reasoning` names the fields that carry reasoning text; `details` adds OpenRouter's `reasoning_details` list;
    `opaque` a sealed field. `usage` says when a stream sends counts: when asked in a chunk of its own, always with the
    last choice, with every chunk, or inside `x_groq`. `exclusive` counts output without reasoning. `split_cache` is
    DeepSeek's pair of hit and miss counts. `must_replay` names a field that tool turns have to bring back.
    """

    reasoning: tuple[str, ...] = ()
    details: bool = False
    opaque: str | None = None
    usage: Literal["asked", "last", "every", "x_groq"] = "asked"
    exclusive: bool = False
    split_cache: bool = False
    must_replay: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


FLAVOURS: Mapping[str, Flavour] = {
    "openai": Flavour(extra={"service_tier": "default", "system_fingerprint": "fp_standin"}),
    "deepseek": Flavour(("reasoning_content",), usage="last", split_cache=True, must_replay="reasoning_content"),
    "vllm": Flavour(("reasoning",)),
    "vllm-old": Flavour(("reasoning_content",)),
    "sglang": Flavour(("reasoning_content",)),
    "xai": Flavour(("reasoning_content",), usage="every", exclusive=True),
    "openrouter": Flavour(("reasoning",), details=True, usage="last", extra={"provider": "Standin"}),
    "groq": Flavour(("reasoning",), usage="x_groq"),
    "together": Flavour(("reasoning",), usage="last"),
    "copilot": Flavour(("reasoning_text",), opaque="reasoning_opaque"),
    "every-carrier": Flavour(
        ("reasoning_content", "reasoning", "reasoning_text", "thinking", "thought", "analysis", "cot_summary"),
        details=True,
        opaque="reasoning_opaque",
    ),
}
