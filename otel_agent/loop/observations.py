"""What the model is told of a call: a result as text, a failure as a fixed sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from otel_agent.instrument.tool_spec import ToolDenied
from otel_agent.loop.toolbox import InvalidArguments, UnknownTool

SENTENCES: Final[Mapping[type[BaseException], str]] = {
    ToolDenied: "The call was refused. It did not run.",
    UnknownTool: "There is no tool of that name.",
    InvalidArguments: "The arguments do not fit the tool's schema. It did not run.",
    TimeoutError: "The tool took too long.",
}
"""Never the exception's own words: they are written for somebody else."""

NOT_RUN: Final = "The call did not run: work was stopped first."
INTERRUPTED: Final = "The call was interrupted. Whether it took effect is not known."


def sentence(error: Exception) -> str:
    """A failure in a fixed sentence, or by the exception's type."""
    known = (text for kind, text in SENTENCES.items() if isinstance(error, kind))
    return next(known, f"The tool failed with {type(error).__name__}.")


def text_of(result: Any) -> str:
    """A result as text."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def shown(text: str, limit: int) -> str:
    """``text``, cut with a marker when it is too long."""
    return text if len(text) <= limit else f"{text[:limit]}\n[cut here: {limit} of {len(text)} characters shown]"
