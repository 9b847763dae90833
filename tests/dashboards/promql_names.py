"""Reads the names out of a PromQL text, without knowing how the text was made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

TOKEN: Final = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*")|(?P<duration>\[[^\]]*\]|\b\d+(?:\.\d+)?(?:ms|[smhdwy])?\b)"""
    r"""|(?P<name>[a-zA-Z_:$][\w:$.]*)|(?P<sign>=~|!~|!=|[^\s])""",
)
GROUPERS: Final = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
WORDS: Final = GROUPERS | {"and", "or", "unless", "offset", "bool"}


class Selection(NamedTuple):
    """A metric and the matchers behind it, as (label, sign, value)."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]


class Names(NamedTuple):
    """What a query names. ``rated``: for each selection in order, the function around it, or an empty string."""

    selections: list[Selection]
    grouped: set[str]
    rated: list[str]


def read(expr: str) -> Names:
    """All names of a query."""
    tokens = [(found.lastgroup or "", found.group()) for found in TOKEN.finditer(expr)]
    names = Names([], set(), [])
    stack: list[str] = []
    position = 0
    while position < len(tokens):
        kind, text = tokens[position]
        after = tokens[position + 1][1] if position + 1 < len(tokens) else ""
        if kind == "name" and text in GROUPERS:
            position = _group(tokens, position + 1, names)
            continue
        if text == "{" or (kind == "name" and after != "(" and text[0] != "$" and text not in WORDS and after not in ("by", "without")):
            metric = "" if text == "{" else text
            start = position if text == "{" else position + 1
            matchers, position = _matchers(tokens, start)
            names.selections.append(Selection(metric, matchers))
            names.rated.append(stack[-1] if stack else "")
            continue
        if text == "(":
            before = tokens[position - 1] if position else ("", "")
            stack.append(before[1] if before[0] == "name" and before[1] not in WORDS else (stack[-1] if stack else ""))
        if text == ")" and stack:
            stack.pop()
        position += 1
    return names


def _group(tokens: list[tuple[str, str]], position: int, names: Names) -> int:
    while tokens[position][1] != ")":
        if tokens[position][0] == "name":
            names.grouped.add(tokens[position][1])
        position += 1
    return position + 1


def _matchers(tokens: list[tuple[str, str]], position: int) -> tuple[tuple[tuple[str, str, str], ...], int]:
    if position >= len(tokens) or tokens[position][1] != "{":
        return (), position
    end = next(number for number in range(position, len(tokens)) if tokens[number][1] == "}")
    return tuple(_triples(tokens[position + 1 : end])), end + 1


def _triples(tokens: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    flat = [text for _, text in tokens if text != ","]
    for start in range(0, len(flat), 3):
        label, sign, value = flat[start : start + 3]
        yield label, sign, value[1:-1]
