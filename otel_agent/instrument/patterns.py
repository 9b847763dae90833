"""Patterns of a schema (ECMA-262), matched in a time that grows with the text and no faster.

Python's own engine may take years for thirty characters and cannot be interrupted. The one that pydantic brings goes through the text once
and holds no back references or look-around; its dialect differs from ECMA-262 in details, so a pattern is written anew for it, token by
token. What means something else in the two, or in Python's dialect, which schemas are written in as well, is refused rather than guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from pydantic_core import SchemaError, SchemaValidator, core_schema

MAX_SIZE: Final = 10_000
"""Steps that a pattern may become when its counted repetitions are written out: each may be tried at each character of a text."""
MAX_DEPTH: Final = 64


class Matcher(NamedTuple):
    """``size``: steps tried at a character, at the worst. ``found``: whether the pattern matches somewhere in a text."""

    size: int
    found: Callable[[str], bool]


class _RefusedError(ValueError):
    """Raised inside this module."""


def matcher(pattern: str) -> Matcher | None:
    """The pattern made ready; ``None`` when it cannot be matched in linear time, or is not surely understood."""
    try:
        reading = _Reading().read(pattern)
        schema = core_schema.str_schema(pattern="".join(reading.written), regex_engine="rust-regex", strict=True)
        return Matcher(reading.size, SchemaValidator(schema).isinstance_python)
    except (_RefusedError, SchemaError):
        return None


_SPACE: Final = r"\t\n\x0B\x0C\r \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF"
_CLASSES: Final = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_BOUNDARIES: Final = {"b": r"(?-u:\b)", "B": r"(?-u:\B)"}
_ANY: Final = r"[^\n\r\u2028\u2029]"

_NARROW, _WIDE, _PROPERTY, _FOLDED = 2, 8, 400, 4
"""Steps of a class, of a class that takes most characters, of a Unicode property, and how many times more where letters are folded."""

_TOKEN: Final = re.compile(
    r"""
      \\ (?: u(?P<u>[0-9A-Fa-f]{4}) | u\{(?P<brace>[0-9A-Fa-f]{1,6})\} | x(?P<x>[0-9A-Fa-f]{2}) | (?P<property>[pP]\{[A-Za-z_=]{1,64}\})
           | (?P<class>[dDwWsS]) | (?P<boundary>[bB]) | (?P<control>[tnrfv]|0(?![0-9])) | (?P<escaped>[!-/:-@\[-`{-~]) )
    | (?P<quantifier> [*+?] | \{ (?P<least>[0-9]{1,5}) (?: (?P<comma>,) (?P<most>[0-9]{1,5})? )? \} ) \??
    | (?P<open> \( (?: \?: | \?i: | \?P?<[A-Za-z_][A-Za-z0-9_]*> | (?!\?) ) )
    | (?P<fold> \(\?i\) )
    | (?P<close> \) )
    | (?P<set> \[ (?P<inverse>\^?+) (?!\]) )
    | (?P<mark> [\^$|] )
    | (?P<any> \. )
    | (?P<literal> [^\\*+?{(\[)^$|.] )
    """,
    re.VERBOSE | re.DOTALL,
)


class _Reading:
    """One pattern on its way: what is written, and the steps of each open group."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self._open: list[int] = [0]
        self._last = 0  # steps of what a quantifier would repeat; 0 where nothing can be repeated
        self._folded = 1

    @property
    def size(self) -> int:
        return 1 + sum(self._open) * self._folded

    def read(self, pattern: str) -> _Reading:
        if len(pattern) > MAX_SIZE:
            raise _RefusedError
        at = 0
        while at < len(pattern):
            token = _TOKEN.match(pattern, at)
            if token is None or len(self._open) > MAX_DEPTH or self.size > MAX_SIZE or (token["fold"] and at > 0):
                raise _RefusedError
            at = self._set(pattern, token) if token["set"] else self._take(token)
        if len(self._open) != 1 or self.size > MAX_SIZE:
            raise _RefusedError
        return self

    def _take(self, token: re.Match[str]) -> int:
        text = token[0]
        if token["quantifier"]:
            self._repeat(token)
        elif token["open"]:
            self._open.append(0)
            self._folded = _FOLDED if "i:" in text else self._folded
            self._add(text, 0)
        elif token["close"]:
            self._close()
        elif token["fold"] or token["mark"] or token["boundary"]:
            self._folded = _FOLDED if token["fold"] else self._folded
            self._add(_BOUNDARIES.get(token["boundary"] or "", text), 0)
        else:
            self._add(*_atom(token))
        return token.end()

    def _add(self, text: str, steps: int) -> None:
        self.written.append(text)
        self._open[-1] += steps
        self._last = steps

    def _close(self) -> None:
        if len(self._open) == 1:
            raise _RefusedError
        inner = self._open.pop() + 1
        self._add(")", inner)

    def _repeat(self, token: re.Match[str]) -> None:
        if not self._last:
            raise _RefusedError
        times = int(token["most"] or token["least"] or 1) + bool(token["comma"])
        self._add(token[0], self._last * max(times - 1, 0))
        self._last = 0

    def _set(self, pattern: str, opening: re.Match[str]) -> int:
        """A character class, up to and with its bracket. Only ``]`` and the escapes mean in all dialects what they say."""
        parts, at = [opening[0]], opening.end()
        while not pattern.startswith("]", at):
            token = _TOKEN.match(pattern, at) if pattern.startswith("\\", at) else None
            if at >= len(pattern) or (token is None and pattern[at] == "\\") or pattern.startswith("--", at):
                raise _RefusedError
            parts.append(_member(pattern[at]) if token is None else _escape(token))
            at = at + 1 if token is None else token.end()
        steps = _PROPERTY if any(each[:2] in {r"\p", r"\P"} for each in parts) else _WIDE if opening["inverse"] else _NARROW
        self._add("".join([*parts, "]"]), steps)
        return at + 1


def _atom(token: re.Match[str]) -> tuple[str, int]:
    """What stands for one character outside a class, and its steps."""
    if token["any"]:
        return _ANY, _WIDE
    if token["literal"]:
        return _literal(token["literal"]), 1
    steps = _PROPERTY if token["property"] else (_WIDE if (token["class"] or "d") in "DWS" else _NARROW)
    return _escape(token), steps


def _escape(token: re.Match[str]) -> str:
    """An escape that means one character or a class of them, inside a class or outside."""
    if token["boundary"]:
        if token["boundary"] == "B":
            raise _RefusedError
        return _literal("\b")  # in a class it is the backspace
    if token["property"]:
        return token[0]
    if token["class"]:
        return _CLASSES[token["class"]]
    code = token["u"] or token["brace"] or token["x"]
    return rf"\x{{{code}}}" if code else _literal(token["escaped"] or _CONTROLS[token["control"]])


def _member(character: str) -> str:
    """A character of a class: ``-`` keeps its meaning, the others have none."""
    return "-" if character == "-" else _literal(character)


def _literal(character: str) -> str:
    return character if character.isalnum() else rf"\x{{{ord(character):X}}}"
