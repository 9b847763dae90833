"""Reading what stands behind an ``Action Input:`` label."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

_FENCE: Final = re.compile(r"\s*(?:`{1,3}(?:json|json5|python)?\s*)?", re.IGNORECASE)
_REST: Final = re.compile(r"[\s`]*")
_DECODER: Final = json.JSONDecoder(strict=False)  # models put line breaks into strings
_NOTHING: Final = frozenset({"", "none", "null", "{}", "n/a"})


class Input(NamedTuple):
    """``state``: ``read``, ``missing`` (nothing there) or ``broken`` (bad JSON). ``end``: where it ends."""

    state: str
    value: Any
    end: int


def json_value(text: str, begin: int) -> tuple[Any, int] | None:
    """A JSON object, list or string at ``begin`` (past white space and a code fence) and its end; ``None`` for none."""
    match = _FENCE.match(text, begin)
    start = begin if match is None else match.end()
    if text[start : start + 1] not in {"{", "[", '"'}:
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value, end


def json_end(text: str, begin: int) -> int | None:
    """Where a JSON object at ``begin`` ends: labels inside it are content."""
    found = json_value(text, begin)
    return found[1] if found is not None and isinstance(found[0], dict) else None


def read_input(text: str, begin: int, limit: int) -> Input:
    """The input between ``begin`` and ``limit`` (the next label).

    An object or a list is read as such, whatever follows it. A quoted string is one only when nothing follows. Anything
    else is plain text, as the protocol's first agents had it, unless it begins as an object does.
    """
    part = text[:limit]
    found = json_value(part, begin)
    if found is not None and (not isinstance(found[0], str) or not part[found[1] :].strip("` \t\r\n")):
        return Input("read", found[0], _past_fence(part, found[1]))
    plain = part[begin:].strip().strip("`").strip()
    if plain.lower() in _NOTHING:
        return Input("missing", None, limit)
    if plain.removeprefix("json").lstrip().startswith("{"):
        return Input("broken", None, limit)
    return Input("read", plain, limit)


def _past_fence(text: str, end: int) -> int:
    """``end``, or behind the code fence that closes right there."""
    rest = _REST.match(text, end)
    return rest.end() if rest is not None and "`" in rest.group() else end
