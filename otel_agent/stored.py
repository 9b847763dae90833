"""Reading a member from where an object stores it: its dictionary or a slot. No property, no method, no ``__getattr__`` of its class runs.

So an object that objects to being read (a tripwire, a lazy proxy, a lock) is simply found to have no such member.
"""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any, Final

MISSING: Final = object()
"""Stands for a member that is not stored; ``None`` may be a member's value."""


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
    """One named member of a dictionary or a model object; ``None`` when there is none.

    As :func:`otel_agent.fields.get`, but cheap where the name is missing: a pydantic model takes microseconds to say so.
    """
    if type(source) is dict:
        return source.get(name)
    own = instance_dict(source)
    if own is not None and name in own:
        return own[name]
    try:
        more = object.__getattribute__(source, "__pydantic_extra__")
    except AttributeError:
        return getattr(source, name, None)
    return more.get(name) if more else None
