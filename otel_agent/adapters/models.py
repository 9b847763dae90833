"""Whether a model's name pins a snapshot or moves. Rules by maker, read off the name alone.

``unknown`` wherever the maker does not say: an alert on a changed snapshot needs a yes or a no that can be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from otel_agent.fields import OTHER
from otel_agent.records.closed import ModelKind

_PROFILE: Final = re.compile(r"^(?:us|eu|apac|au|ca|jp|global|us-gov)\.")
_DAY: Final = re.compile(r"(?:^|[-@])20\d{6}(?!\d)")
_DATE: Final = re.compile(r"-20\d\d-[01]\d-[0-3]\d(?!\d)")
_OLD_DATE: Final = re.compile(r"-[01]\d[0-3]\d(?=$|-preview$|:)")
_CLAUDE: Final = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?=$|[-@:])")
_GPT: Final = re.compile(r"(?:gpt|o)-?(\d+)(?:\.(\d+))?")
_GEMINI_PINNED: Final = re.compile(r"-\d{3}$|-preview-\d\d-\d{2,4}$")
_MISTRAL_PINNED: Final = re.compile(r"-\d{4}$|-\d+-\d+$")
_COHERE_PINNED: Final = re.compile(r"-\d\d-20\d\d$")
_BEDROCK: Final = re.compile(r"^[a-z0-9]+\.[a-z0-9.-]+(?:-v\d+|-v?\d+:\d+)$")
_TAGGED: Final = re.compile(r"^[a-z0-9][a-z0-9._-]*:[a-zA-Z0-9._-]+$")


def _snapshot(yes: object) -> ModelKind:
    return "snapshot" if yes else "alias"


def _claude(name: str) -> ModelKind:
    """A date pins. From generation 4.6 on a name without one is pinned as well."""
    if _DAY.search(name):
        return "snapshot"
    version = _CLAUDE.search(name)
    if version is None:
        return "alias" if name.startswith("claude-3") else "unknown"
    return _snapshot((int(version[1]), int(version[2] or 0)) >= (4, 6))


def _openai(name: str) -> ModelKind:
    """A date pins. Without one a name moves up to 5.5; of later ones the maker does not say, except that 5.6 is routed."""
    if _DATE.search(name) or _OLD_DATE.search(name):
        return "snapshot"
    if name.startswith("chatgpt-") or name == "gpt-5.6":
        return "alias"
    version = _GPT.match(name)
    return "alias" if version and (int(version[1]), int(version[2] or 0)) < (5, 6) else "unknown"


def _gemini(name: str) -> ModelKind:
    return _snapshot(_GEMINI_PINNED.search(name))


def _mistral(name: str) -> ModelKind:
    return "snapshot" if _MISTRAL_PINNED.search(name) else "unknown"


def _cohere(name: str) -> ModelKind:
    return _snapshot(_COHERE_PINNED.search(name))


def _xai(name: str) -> ModelKind:
    return "snapshot" if _OLD_DATE.search(name) else "unknown"


_MAKERS: Final[tuple[tuple[tuple[str, ...], Callable[[str], ModelKind]], ...]] = (
    (("claude-",), _claude),
    (("gpt-", "chatgpt-", "o1", "o3", "o4"), _openai),
    (("gemini-",), _gemini),
    (("mistral-", "ministral-", "codestral-", "magistral-", "devstral-", "pixtral-", "open-m", "voxtral-"), _mistral),
    (("command-",), _cohere),
    (("grok-",), _xai),
)
_CLI_WORDS: Final = frozenset({"opus", "sonnet", "haiku", "default", "claude"})


@lru_cache(maxsize=512)
def kind(model: str | None) -> ModelKind:
    """Whether ``model`` names a snapshot or something that may change under the caller."""
    if model is None or model == OTHER:
        return "unknown"
    if model.startswith("arn:"):
        return _arn(model)
    name = _PROFILE.sub("", model.removeprefix("ft:"))
    bare = name.rpartition("/")[2].removeprefix("anthropic.").lower()
    if bare.endswith(("-latest", ":latest")) or bare in _CLI_WORDS:
        return "alias"
    for heads, rule in _MAKERS:
        if bare.startswith(heads):
            return rule(bare)
    return _otherwise(name, bare)


def _arn(model: str) -> ModelKind:
    """Bedrock: an inference profile or a prompt router may lead anywhere."""
    return "snapshot" if ":foundation-model/" in model or ":provisioned-model/" in model else "alias"


def _otherwise(name: str, bare: str) -> ModelKind:
    """Bedrock's versioned ids and dated names are pinned; a tag (Ollama) can be pushed again; of the rest we know nothing."""
    if _BEDROCK.match(name) or _DATE.search(bare) or _DAY.search(bare):
        return "snapshot"
    return "alias" if "/" not in name and _TAGGED.match(name) else "unknown"
