"""Prose-free types, and the readers that turn a foreign value into one of them.

Words used here: a *closed set* is a ``Literal``; an *identifier* is a bounded ASCII string without white space; a *digest* is the
output of :mod:`otel_agent.digest`. No other kind of string exists in a record, which is the first of the walls that keep
thinking text out. A foreign string that does not fit becomes :data:`OTHER` and is tallied; it is never cut short, since a
shortened sentence is still a sentence. A value of the wrong type is absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from otel_agent.stored import listed
from otel_agent.tally import tally

OTHER: Final = "_OTHER"
"""What stands for a value that does not fit its type; spelled as the conventions spell ``error.type``'s fallback."""

MODEL: Final = r"^[A-Za-z0-9_~][A-Za-z0-9._:/@+~-]{0,127}$"
TOOL: Final = r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}$"
IDENTIFIER: Final = r"^[A-Za-z0-9_][A-Za-z0-9._:/@+=~#-]{0,127}$"
WORD: Final = r"^[A-Za-z_][A-Za-z0-9_.-]{0,47}$"
HOST: Final = r"^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,252}$"
ERROR: Final = r"^[A-Za-z_][A-Za-z0-9_.]{0,95}$"
KEY_ID: Final = r"[a-z0-9][a-z0-9_-]{0,31}"
DIGEST: Final = rf"^(hmac-sha256:{KEY_ID}:[0-9a-f]{{64}}|uncanonical:(nonfinite|integer|surrogate|depth|size|type|cycle|key))$"

ModelName = Annotated[str, StringConstraints(strict=True, pattern=MODEL)]
ToolName = Annotated[str, StringConstraints(strict=True, pattern=TOOL)]
Identifier = Annotated[str, StringConstraints(strict=True, pattern=IDENTIFIER)]
Word = Annotated[str, StringConstraints(strict=True, pattern=WORD)]
Host = Annotated[str, StringConstraints(strict=True, pattern=HOST)]
ErrorType = Annotated[str, StringConstraints(strict=True, pattern=ERROR)]
Digest = Annotated[str, StringConstraints(strict=True, pattern=DIGEST)]

MAX_ITEMS: Final = 64
"""How many entries an array fact may hold. Longer lists are cut at the end; their true length has its own count."""

ToolNames = Annotated[tuple[ToolName, ...], Field(max_length=MAX_ITEMS)]
Identifiers = Annotated[tuple[Identifier, ...], Field(max_length=MAX_ITEMS)]
Words = Annotated[tuple[Word, ...], Field(max_length=MAX_ITEMS)]
Digests = Annotated[tuple[Digest, ...], Field(max_length=MAX_ITEMS)]

MAX_COUNT: Final = 2**53 - 1
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_COUNT)]
Integer = Annotated[int, Field(strict=True, ge=-MAX_COUNT, le=MAX_COUNT)]
Seconds = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]


def get(source: Any, name: str) -> Any:
    """One named member of a JSON object or of an SDK's model object; ``None`` when it has none of that name.

    Only ever called with a name from an adapter's table: never iterates, dumps or copies ``source``. Of a dictionary of a subclass,
    nothing it overrides is called.
    """
    if issubclass(type(source), dict):  # a model answers ``isinstance`` as slowly as it looks a member up
        return dict.get(source, name)
    return getattr(source, name, None)


def dig(source: Any, *names: str) -> Any:
    """A member some levels down, ``None`` as soon as one level is missing."""
    for name in names:
        if source is None:
            return None
        source = get(source, name)
    return source


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that are there: an absent fact is left out, never ``None``."""
    return {name: value for name, value in values.items() if value is not None}


items: Final = listed
"""What the adapters call it: ``value`` when it is a list or tuple, else empty."""

_is_identifier: Final = re.compile(IDENTIFIER).fullmatch


@lru_cache(maxsize=2048)
def _fits(text: str, pattern: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _fitting(value: Any, pattern: str) -> str | None:
    if type(value) is str and len(value) <= 256 and _fits(value, pattern):  # nearly always
        return value
    if not issubclass(type(value), str) or not str.__len__(value):  # a proxy's ``__class__`` is not asked
        return None
    text: str = str.__str__(value)
    if len(text) > 256 or not _fits(text, pattern):
        tally("unfit", "string")
        return OTHER
    return text


def model_name(value: Any) -> str | None:
    """A model identifier as sent or returned; :data:`OTHER` for a string that cannot be one."""
    return _fitting(value, MODEL)


def tool_name(value: Any) -> str | None:
    """A tool's name; the caller decides whether it was declared. :data:`OTHER` for a string that cannot be one."""
    return _fitting(value, TOOL)


def word(value: Any) -> str | None:
    """A provider's enumeration value (finish reason, effort, tier), spelled as it came."""
    return _fitting(value, WORD)


def host(value: Any) -> str | None:
    """A host name or address without port."""
    return _fitting(value, HOST)


def error_type(value: Any) -> str | None:
    """An exception class name or provider error code."""
    return _fitting(value, ERROR)


def identifier(value: Any) -> str | None:
    """An id given by a provider or the caller: unique values, so matched without a cache."""
    if type(value) is str and len(value) <= 128 and _is_identifier(value):  # nearly always
        return value
    if not issubclass(type(value), str) or not str.__len__(value):  # a proxy's ``__class__`` is not asked
        return None
    text: str = str.__str__(value)
    if len(text) > 128 or _is_identifier(text) is None:
        tally("unfit", "identifier")
        return OTHER
    return text


def count(value: Any) -> int | None:
    """A non-negative whole number. Whole floats count (Cohere sends them); booleans, fractions and negatives are absent."""
    if type(value) is int:
        return value if 0 <= value <= MAX_COUNT else None
    if type(value) is float and value.is_integer() and 0 <= value <= MAX_COUNT:
        return int(value)
    return None


def integer(value: Any) -> int | None:
    """A whole number that may be negative (Gemini's budget of -1 means automatic)."""
    return value if type(value) is int and -MAX_COUNT <= value <= MAX_COUNT else None


def number(value: Any) -> float | None:
    """A finite number as ``float``; booleans are absent."""
    if type(value) is int:
        return float(value) if -MAX_COUNT <= value <= MAX_COUNT else None
    if type(value) is float and value - value == 0.0:
        return value
    return None


def size_band(length: int) -> int:
    """``length`` in bytes rounded up to a power of two, 64 at the least.

    An exact length beside a digest narrows the guess at what was digested, so only the band is kept.
    """
    return 64 if length <= 64 else 1 << (length - 1).bit_length()
