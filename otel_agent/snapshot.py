"""Snapshots: recognising at C speed that messages sent before are still as they were, edits in place included.

A snapshot is a structural copy of a list of messages that compares equal, with one ``==``, for as long as nothing that counts
(:mod:`otel_agent.visible`) has changed. Containers are copied, since the caller may edit them in place; strings are shared, so no text
is copied and unchanged ones compare by identity. What does not count is not held at all: a placeholder equal to anything stands for it.
Model objects of an SDK cannot be compared so: a visible one stands for itself, with a copy of its members beside it; one that carries more
than what counts, or is hidden (thinking), is held by a weak reference only.

Why not hashes of the old messages: hashing again costs the whole history at every turn (256 messages of a tool loop: about 1 ms against
30 us). Why not identity: it does not see edits in place, and a caller that rebuilds equal messages every turn would look like a break.
Why not the bytes of the request: they are there only when the SDK has built it, after the caller's lists may have changed; a middleware may
have changed them, or they are another request's; and hashing texts of a kilobyte takes longer than comparing the objects around them.
A snapshot that cannot decide (an object of unknown make) never compares equal, and the caller falls back to the digest.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from operator import eq
from typing import Any, Final

from otel_agent.canonical import MAX_DEPTH
from otel_agent.stored import extra, instance_dict, plain
from otel_agent.visible import BLOCK_LISTS, BLOCKS, NESTED, kind_of


class _Anything:
    """Equal to everything. ``id`` as the method: a builtin is called with the other side alone, and what it gives is always true."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = id  # type: ignore[assignment]


class _Flag:
    """A boolean, which must not equal 0 or 1."""

    __slots__ = ("value",)
    __hash__ = object.__hash__

    def __init__(self, value: bool) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return other is self.value


class _Bit:
    """The number 0 or 1, which must not equal a boolean."""

    __slots__ = ("value",)
    __hash__ = object.__hash__

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is not bool and other == self.value


class _Hidden:
    """A block whose members do not count: equal to itself and to any other of its type."""

    __slots__ = ("block", "kind")
    __hash__ = object.__hash__

    def __init__(self, block: weakref.ref[Any], kind: str) -> None:
        self.block = block
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return other is self.block() or kind_of(other) == self.kind


class _Carrier:
    """A visible model object that carries more than what counts (``reasoning_content``): not kept alive, equal while it is unchanged."""

    __slots__ = ("model", "saved")
    __hash__ = object.__hash__

    def __init__(self, model: weakref.ref[Any], saved: dict[str, Any]) -> None:
        self.model = model
        self.saved = saved

    def __eq__(self, other: object) -> bool:
        return other is self.model() and self.saved == instance_dict(other)


# Of two operands Python asks the left one first, unless the class of the right one descends from its class. So these compare with a
# dictionary, list or tuple of any class by the interpreter's own code, never by a method of that class.


class _Members(dict[str, Any]):
    __slots__ = ()


class _List(list[Any]):
    __slots__ = ()


class _Tuple(tuple[Any, ...]):
    __slots__ = ()


_LISTS: Final[dict[type, Callable[[Iterable[Any]], Any]]] = {list: _List, tuple: _Tuple}

ANYTHING: Final = _Anything()
_TRUE: Final = _Flag(True)
_FALSE: Final = _Flag(False)
_BITS: Final = (_Bit(0), _Bit(1))
_LEAVES: Final = frozenset({str, type(None)})
_EXACT: Final = frozenset({str, type(None), dict, list, tuple, int, bool, float})
_QUIET: Final = frozenset({"type", "role", "phase", "thought", "id", "status", "namespace", "index"})
"""Members that hold an identifier or a word at most, so they may be held; some of them decide how an item is read."""


class Undecidable:
    """Equal to nothing, itself included."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return False


UNDECIDABLE: Final = Undecidable()


class Snapshot:
    """A growing snapshot of a list of messages."""

    __slots__ = ("_live", "_owner", "_owners", "_saved", "_shapes")

    def __init__(self) -> None:
        self._shapes: list[Any] = []
        self._owner = 0
        # Members of visible model objects: where they live, a copy of them, and which message they belong to.
        self._live: list[dict[str, Any]] = []
        self._saved: list[dict[str, Any]] = []
        self._owners: list[int] = []

    def __len__(self) -> int:
        return len(self._shapes)

    def holds(self, items: Sequence[Any]) -> bool:
        """True when the messages of this snapshot are unchanged and lead ``items``."""
        count = len(self._shapes)
        if len(items) < count:
            return False
        lead = items[:count]
        return self._shapes == (lead if type(lead) is list else list(lead)) and self._saved == self._live

    def same(self, items: Sequence[Any]) -> list[bool]:
        """For each index both have, whether the message there is unchanged as far as comparison can tell."""
        flags = [*map(eq, self._shapes, items)]
        for owner, saved, live in zip(self._owners, self._saved, self._live, strict=True):
            if owner < len(flags) and saved != live:
                flags[owner] = False
        return flags

    def extend(self, items: Sequence[Any]) -> None:
        """Take a copy of further messages."""
        for item in items:
            self._shapes.append(self._copy(len(self._shapes), item))

    def refresh(self, index: int, item: Any) -> None:
        """Take the copy of one message anew."""
        self._forget(lambda owner: owner == index)
        self._shapes[index] = self._copy(index, item)

    def truncate(self, count: int) -> None:
        """Forget the messages from ``count`` on."""
        self._forget(lambda owner: owner >= count)
        del self._shapes[count:]

    def _forget(self, gone: Callable[[int], bool]) -> None:
        kept = [at for at, owner in enumerate(self._owners) if not gone(owner)]
        self._owners = [self._owners[at] for at in kept]
        self._live = [self._live[at] for at in kept]
        self._saved = [self._saved[at] for at in kept]

    def _copy(self, index: int, item: Any) -> Any:
        self._owner = index
        try:
            return self._block(item)
        except RecursionError:
            return UNDECIDABLE

    # The copy walks as the projection of `visible` does, so that equal copies mean equal projections.

    def _block(self, block: Any) -> Any:
        if type(block) is not dict and (type(block := comparable(block)) is str or block is UNDECIDABLE):
            return block
        kind = kind_of(block)
        names = BLOCKS.get(kind, ())
        if type(block) is dict:
            return self._members(block, names)
        return self._model(block, names) if kind in BLOCKS else _weakly(_Hidden, block, kind)

    def _members(self, members: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        return _Members(
            {
                name: (value if type(value) is str else self._value(name, value))
                if name in names
                else (value if type(value) in _LEAVES else free(value, MAX_DEPTH))
                if name in _QUIET or value is None
                else ANYTHING
                for name, value in members.items()
            }
        )

    def _model(self, model: Any, names: tuple[str, ...]) -> Any:
        """The object itself, after noting its members. Members that live elsewhere than in its dictionary cannot be watched."""
        live = instance_dict(model)
        more = extra(model)
        if live is None or not more.keys().isdisjoint(names):
            return UNDECIDABLE
        saved = self._members(live, names)
        if more or _carries_more(live, names):
            return _weakly(_Carrier, model, saved)
        self._owners.append(self._owner)
        self._live.append(live)
        self._saved.append(saved)
        return model

    def _value(self, name: str, value: Any) -> Any:
        kind = type(value)
        if kind not in _EXACT:
            kind = type(value := comparable(value))
        if kind in _LEAVES or value is UNDECIDABLE:
            return value
        if name in BLOCK_LISTS:
            return self._content(value)
        if name in NESTED and kind not in (list, tuple):
            return self._members(value, NESTED[name]) if kind is dict else self._model(value, NESTED[name])
        return free(value, MAX_DEPTH)

    def _content(self, value: Any) -> Any:
        make = _LISTS.get(type(value))
        return self._block(value) if make is None else make(map(self._block, value))


_SAME_TEXT: Final[Any] = str.__eq__


def comparable(value: Any) -> Any:
    """``value`` as it is underneath its subclass; :data:`UNDECIDABLE` for a string whose class compares by code of its own."""
    found = plain(value)
    return UNDECIDABLE if found is not value and type(found) is str and getattr(type(value), "__eq__", None) is not _SAME_TEXT else found


def _carries_more(live: dict[str, Any], names: tuple[str, ...]) -> bool:
    return any(value and name not in names and name not in _QUIET for name, value in live.items())


def _weakly(make: Callable[[weakref.ref[Any], Any], Any], block: Any, known: Any) -> Any:
    try:
        return make(weakref.ref(block), known)
    except TypeError:
        return UNDECIDABLE


def free(value: Any, depth: int) -> Any:
    """Structural copy of a free-form JSON value."""
    kind = type(value)
    if kind not in _EXACT:
        kind = type(value := comparable(value))
    if kind in _LEAVES:
        return value
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is int or kind is float:
        return _BITS[int(value)] if value in (0, 1) else value
    if depth == 0:
        raise RecursionError
    if kind is dict:
        return _Members({name: free(member, depth - 1) for name, member in value.items()})
    make = _LISTS.get(kind)
    return UNDECIDABLE if make is None else make(free(member, depth - 1) for member in value)


def members_of(items: Sequence[Any]) -> Any:
    """Structural copy of a list of free-form values, such as tool definitions; :data:`UNDECIDABLE` when it has no bottom."""
    try:
        return [free(item, MAX_DEPTH) for item in items]
    except RecursionError:
        return UNDECIDABLE
