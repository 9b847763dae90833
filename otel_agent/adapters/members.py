"""Members that an object's class may not have: asked for without paying for the miss.

:func:`otel_agent.fields.get` is right for members every version of a class declares. A model class of the SDKs answers for a missing
one by raising, which takes five microseconds, so those are looked up by what the class declares and in the object's extra members.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

_NONE: Final[frozenset[str]] = frozenset()
_MOST_CLASSES: Final = 1024

_declared: Final[dict[type, frozenset[str]]] = {}
"""Names each class declares as fields. Emptied when it grows past any real number of classes."""


def _learn(kind: type) -> frozenset[str]:
    fields = getattr(kind, "model_fields", None)
    if len(_declared) >= _MOST_CLASSES:
        _declared.clear()
    names = _declared[kind] = frozenset(fields) if isinstance(fields, dict) else _NONE
    return names


def member(source: Any, name: str) -> Any:
    """One named member, ``None`` when there is none of that name."""
    if issubclass(type(source), dict):
        return dict.get(source, name)
    kind = type(source)
    declared = _declared.get(kind)
    if declared is None:
        declared = _learn(kind)
    if not declared or name in declared:
        return getattr(source, name, None)
    return dict.get(extras(source), name)


Find = Callable[[str], Any]
"""Looks up one member by its name; ``None`` when there is none."""


def finder(source: Any) -> Find:
    """How to look up several members of one object: decided once, by what keeps them."""
    if issubclass(type(source), dict):
        return cast("Find", source.get if type(source) is dict else partial(dict.get, source))
    kind = type(source)
    declared = _declared.get(kind)
    if declared is None:
        declared = _learn(kind)
    # A model keeps its declared members in its own dictionary, where a look-up costs a tenth of an attribute's.
    if declared and not source.__pydantic_extra__:
        own: dict[str, Any] = source.__dict__
        return own.get
    return partial(member, source)


def extras(source: Any) -> dict[str, Any]:
    """Members outside what the class declares: what servers of other makers add. A JSON object's are not told apart."""
    if issubclass(type(source), dict):
        return cast("dict[str, Any]", source)
    added = getattr(source, "__pydantic_extra__", None)
    return added if isinstance(added, dict) else _EMPTY


_EMPTY: Final[dict[str, Any]] = {}


def has_any(source: Any, names: tuple[str, ...]) -> bool:
    """Whether one of these members was sent. Their values are not read."""
    added = extras(source)
    if dict.__len__(added) and not dict.keys(added).isdisjoint(names):
        return True
    sent = None if added is source else getattr(source, "__pydantic_fields_set__", None)
    return isinstance(sent, set) and not sent.isdisjoint(names)
