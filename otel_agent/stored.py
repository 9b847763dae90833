"""Reading a member from where an object stores it: its dictionary or a slot. No property, no method, no ``__getattr__`` of its class runs.

So an object that objects to being read (a tripwire, a lazy proxy, a lock) is simply found to have no such member. A dictionary, list,
tuple or string of a subclass (``OrderedDict``, one with attributes, a string that is an enum) is read as the plain one underneath, which
is what goes out as JSON; none of the methods it overrides is called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import MemberDescriptorType
from typing import Any, Final

MISSING: Final = object()
"""Stands for a member that is not stored; ``None`` may be a member's value."""


_EXACT: Final = frozenset({str, dict, list, tuple, type(None), bool, int})

_UNDERNEATH: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (str, str.__str__),
    (dict, lambda value: dict(dict.items(value))),
    (list, lambda value: [*list.__iter__(value)]),
    (tuple, lambda value: (*tuple.__iter__(value),)),
)


@lru_cache(maxsize=1024)
def _underneath(kind: type) -> Callable[[Any], Any] | None:
    return next((take for base, take in _UNDERNEATH if issubclass(kind, base)), None)


def plain(value: Any) -> Any:
    """``value``, or the plain string, dictionary, list or tuple that it is underneath. What is inside stays as it came."""
    kind: Any = type(value)
    if kind in _EXACT:
        return value
    take = _underneath(kind)
    return value if take is None else take(value)


def listed(value: Any) -> list[Any] | tuple[Any, ...]:
    """``value`` when it is a list or tuple, else empty: a one-shot iterable of the caller's must not be walked."""
    found = value if type(value) is list else plain(value)
    return found if type(found) in (list, tuple) else ()


def instance_dict(source: Any) -> dict[str, Any] | None:
    """The dictionary an instance keeps its members in; ``None`` when it has none."""
    try:
        own = object.__getattribute__(source, "__dict__")
    except AttributeError:
        return None
    return own if type(own) is dict else None


def extra(source: Any) -> dict[str, Any]:
    """What a pydantic model keeps of members that its class does not declare."""
    try:
        return object.__getattribute__(source, "__pydantic_extra__") or {}
    except AttributeError:
        return {}


def stored(source: Any, name: str) -> Any:
    """The member ``name`` in the instance's dictionary or in a slot of its class, else :data:`MISSING`."""
    own = instance_dict(source)
    if own is not None and name in own:
        return own[name]
    for owner in type(source).__mro__:
        member = owner.__dict__.get(name)
        if type(member) is MemberDescriptorType:
            return _slot(member, source)
    return MISSING


def _slot(member: MemberDescriptorType, source: Any) -> Any:
    try:
        return member.__get__(source, type(source))
    except AttributeError:
        return MISSING


def read(source: Any, name: str) -> Any:
    """One named member of a dictionary or a model object; ``None`` when there is none. A value that its class has for all counts too.

    Cheap where the name is missing: a pydantic model takes microseconds to say so.
    """
    if type(source) is dict:  # nearly always
        return source.get(name)
    if issubclass(type(source), dict):
        return dict.get(source, name)
    own = instance_dict(source)
    if own is not None and name in own:
        return own[name]
    try:
        more = object.__getattribute__(source, "__pydantic_extra__")
    except AttributeError:
        return _shared(source, name)
    return more.get(name) if more else None


def _shared(source: Any, name: str) -> Any:
    member = stored(source, name)
    if member is MISSING:
        member = next((owner.__dict__[name] for owner in type(source).__mro__ if name in owner.__dict__), None)
    return None if hasattr(type(member), "__get__") else member
