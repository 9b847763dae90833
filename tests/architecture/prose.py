"""Whether a JSON Schema, or a pattern, could admit prose.

A *sentence* is text with white space in it, or of unbounded length, or outside printable ASCII. A schema is free of
prose when each string in it is a closed set of words or a pattern that admits no sentence; the pattern is judged by its
syntax tree, so that a clever spelling of "anything" is found as well as a plain one, and by trying sentences on it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_parser: Final[Any] = importlib.import_module("re._parser")
"""The standard library's own reader of patterns: private, but what a pattern admits is nowhere else to be asked."""

MAX_LENGTH: Final = 256
MAX_WORD: Final = 64
VISIBLE: Final = range(0x21, 0x7F)
JOINTS: Final = (" ", "\n", "\t", "\r\n", "\u00a0", "\u2003", "\u2028", "\u3000", "\u200b", "\x00", "\x0b", "\x1f")
WORDS: Final = (
    ("The", "customer", "is", "angry,", "so", "I", "should", "refund", "the", "order."),
    ("Let", "me", "think"),
    ("okay", "so"),
    ("用户", "想要", "退款"),
    ("Ich", "überlege"),
    ("a", "b"),
    ("", "a"),
    ("a", ""),
)
SENTENCES: Final = (*(joint.join(words) for words in WORDS for joint in JOINTS), *JOINTS, "a" * (MAX_LENGTH + 1), "思考", "é")


def schema_faults(schema: Mapping[str, Any]) -> list[str]:
    """Places of a record's JSON Schema that could hold prose, each with the reason; empty when there are none."""
    faults = [] if schema.get("additionalProperties") is False else [": takes undeclared properties"]
    for name, node in schema.get("properties", {}).items():
        faults += [f"{name}: {reason}" for reason in _node(node, schema)]
    return faults


def _node(node: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in node:
        yield from _node(root["$defs"][node["$ref"].rpartition("/")[2]], root)
        return
    if "anyOf" in node:
        for choice in node["anyOf"]:
            yield from _node(choice, root)
        return
    values = node.get("enum", [node["const"]] if "const" in node else None)
    yield from _closed(values) if values is not None else _typed(node, root)


def _closed(values: list[Any]) -> Iterator[str]:
    for value in values:
        if not isinstance(value, str) or not _word(value):
            yield f"closed set holds {value!r}"


def _word(value: str) -> bool:
    return 0 < len(value) <= MAX_WORD and all(ord(mark) in VISIBLE for mark in value)


def _typed(node: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    kind = node.get("type")
    if kind == "string":
        yield from pattern_faults(node["pattern"]) if "pattern" in node else ("free text",)
    elif kind == "array":
        yield from _array(node, root)
    elif kind not in ("integer", "number", "boolean", "null"):
        yield f"holds {kind or 'anything'}"


def _array(node: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    if "maxItems" not in node:
        yield "array of any length"
    yield from (reason for item in node.get("prefixItems", ()) for reason in _node(item, root))
    if "prefixItems" not in node:
        yield from _node(node.get("items", {}), root)


def pattern_faults(pattern: str) -> list[str]:
    """Reasons why a pattern could match prose; empty when it cannot."""
    tree = _parser.parse(pattern)
    faults = [*_anchors(tree), *_tree(tree)]
    if tree.getwidth()[1] > MAX_LENGTH:
        faults.append("unbounded, or longer than 256")
    if matched := next((text for text in SENTENCES if re.fullmatch(pattern, text)), None):
        faults.append(f"matches {matched!r}")
    return faults


def _anchors(tree: Any) -> Iterator[str]:
    operations = [(str(code), str(argument)) for code, argument in tree]
    if operations[:1] != [("AT", "AT_BEGINNING")] or operations[-1:] != [("AT", "AT_END")]:
        yield "not anchored at both ends"


def _tree(tree: Any) -> Iterator[str]:
    for code, argument in tree:
        yield from _JUDGES.get(str(code), _unknown)(argument)


def _unknown(argument: Any) -> Iterator[str]:
    yield f"uses a construct that is not plainly harmless ({argument})"


def _literal(mark: int) -> Iterator[str]:
    if mark not in VISIBLE:
        yield f"admits {chr(mark)!r}"


def _range(ends: tuple[int, int]) -> Iterator[str]:
    yield from (*_literal(ends[0]), *_literal(ends[1]))


def _branch(argument: Any) -> Iterator[str]:
    for choice in argument[1]:
        yield from _tree(choice)


def _last(argument: Any) -> Iterator[str]:
    yield from _tree(argument[-1])


def _nothing(_: Any) -> Iterator[str]:
    yield from ()


_JUDGES: Final[Mapping[str, Any]] = {
    "AT": _nothing, "LITERAL": _literal, "RANGE": _range, "IN": _tree, "BRANCH": _branch, "SUBPATTERN": _last,
    "MAX_REPEAT": _last, "MIN_REPEAT": _last,
}  # fmt: skip
"""What to do with each operation. Missing on purpose: ``ANY``, ``NOT_LITERAL``, ``NEGATE``, ``CATEGORY``, asserts."""
