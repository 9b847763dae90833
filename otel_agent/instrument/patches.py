"""Putting wrappers on classes and taking them off again, so that what was there before is there again, by identity."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import wrapt

Wrapper: TypeAlias = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]

_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """One place to wrap: ``module``, then ``Class.method`` in it. ``optional`` places may be missing in some versions."""

    module: str
    path: str
    wrapper: Wrapper
    optional: bool = False


@dataclass(slots=True)
class Applied:
    """A wrapper that is on."""

    owner: Any
    name: str
    original: Any
    wrapped: Any


class Generation:
    """Wrappers put on together. Those that somebody else's wrapper keeps in place after their time do nothing, for good."""

    __slots__ = ("_live",)

    def __init__(self) -> None:
        self._live = True

    def live(self) -> bool:
        """Whether they are still on."""
        return self._live

    def end(self) -> None:
        """They have been taken off."""
        self._live = False


class Patches:
    """The wrappers of one SDK. Applying twice changes nothing; removing restores the originals."""

    def __init__(self) -> None:
        self._applied: list[Applied] = []
        self._generation = Generation()
        self._lock = threading.Lock()

    @property
    def active(self) -> bool:
        """Whether wrappers are on."""
        return bool(self._applied)

    def apply(self, patches: tuple[Patch, ...]) -> tuple[str, ...]:
        """Put wrappers on. Returns the optional places that this version lacks.

        Raises ``LookupError`` naming the first place that must exist and does not; nothing is wrapped then.
        """
        with self._lock:
            if self._applied:
                return ()
            found = [(patch, _find(patch)) for patch in patches]
            for patch, place in found:
                if place is None and not patch.optional:
                    raise LookupError(f"{patch.module} has no {patch.path}: this version of the SDK is not supported")
            self._generation = Generation()
            for patch, place in found:
                if place is not None:
                    self._applied.append(_wrap(patch, self._generation, *place))
            return tuple(f"{patch.module}.{patch.path}" for patch, place in found if place is None)

    def remove(self) -> None:
        """Take wrappers off. A place that somebody else has wrapped since keeps theirs; ours in it stays, but does nothing."""
        with self._lock:
            self._generation.end()
            for applied in reversed(self._applied):
                if applied.owner.__dict__.get(applied.name) is applied.wrapped:
                    setattr(applied.owner, applied.name, applied.original)
            self._applied.clear()


def _find(patch: Patch) -> tuple[Any, str, Any] | None:
    """Owner, name and the very object in the owner's own dictionary, so that restoring it is exact."""
    try:
        owner: Any = importlib.import_module(patch.module)
    except ImportError:
        return None
    *parents, name = patch.path.split(".")
    for parent in parents:
        owner = getattr(owner, parent, None)
    original = _MISSING if owner is None else vars(owner).get(name, _MISSING)
    return None if original is _MISSING else (owner, name, original)


def _wrap(patch: Patch, generation: Generation, owner: Any, name: str, original: Any) -> Applied:
    wrapped = wrapt.FunctionWrapper(original, patch.wrapper, enabled=generation.live)
    setattr(owner, name, wrapped)
    return Applied(owner, name, original, owner.__dict__[name])
