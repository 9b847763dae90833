"""The replay check: were the reasoning items of an open tool loop sent back, unchanged and in place.

A response with reasoning items and tool calls obliges the next request to carry the items (provider by provider:
:data:`DUE_MEMBERS` and the block kinds below). What is kept of an item is a :class:`Seal`: its type, its id and a keyed 64-bit digest,
held in memory by the run, compared with the request and never emitted. The digest is the interpreter's own keyed string hash over a
salt of this process: strings remember their hash, so sealing an item again that came back as the same object reads no text twice.

Nothing of an item's class runs: members are read from where the instance stores them. An item whose text is not stored there (a property
that raises, say) has no digest; it counts as present, by its type and id. The loop is open as long as only tool results follow the
model's turn. Looked at are the last two responses of the loop, found by the ids of their tool calls; a response that is not in the
request at all (its turn was summarised away) owes nothing.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, NamedTuple

from otel_agent.protocol import DUE_MEMBERS, Conversation
from otel_agent.records.closed import Api
from otel_agent.stored import extra, instance_dict, listed, plain, read
from otel_agent.tally import tally

MAX_STEPS: Final = 64
"""Responses with open tool calls that a run remembers."""
LOOK_BACK: Final = 2
"""Responses of the open loop that a request is held against."""

_SALT: Final = secrets.token_bytes(16)


class Seal(NamedTuple):
    """One item of a response, in order: a reasoning item (``mark`` may be ``None``: unreadable) or a tool call (``kind`` :data:`CALL`)."""

    kind: str
    id: str | None
    mark: int | None = None


Step = Sequence[Seal]
"""What one response obliges the caller to send back, in order."""

CALL: Final = "call"
REFERENCE: Final = "reference"

REASONING: Final[dict[str, tuple[str, ...]]] = {
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "reasoning": ("encrypted_content", "summary", "content"),
}
"""Reasoning blocks and items, by type, with the members that may not change."""

CALLS: Final[dict[str, str]] = {
    "tool_use": "id",
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "computer_call": "call_id",
    "local_shell_call": "call_id",
    "shell_call": "call_id",
    "apply_patch_call": "call_id",
}
"""Tool calls the application answers, by type, with the member that holds the id its result will name."""


@dataclass(frozen=True, slots=True)
class ReplayFacts:
    """Names as in :class:`otel_agent.records.ModelTurn`; all ``None`` when nothing is due."""

    replayed_items: int | None = None
    dropped_items: int | None = None
    edited_items: int | None = None


NOTHING_DUE: Final = ReplayFacts()


def seal(block: Any) -> Seal | None:
    """The seal of a whole block or output item; ``None`` for what is neither reasoning nor a tool call.

    A stream accumulator calls it on items that arrive whole, and makes ``Seal(type, id)`` for those that arrive in pieces.
    """
    own = _stored(block)
    kind = plain(own.get("type") or read(block, "type"))
    if type(kind) is not str:
        return None
    if kind in REASONING:
        return Seal(kind, _word(own.get("id")), _mark(own, kind))
    if kind in CALLS:
        return Seal(CALL, _word(own.get(CALLS[kind]) or read(block, CALLS[kind])))
    return Seal(REFERENCE, _word(read(block, "id"))) if kind == "item_reference" else None


class Replay:
    """What one run owes its providers. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._steps: dict[str, Step] = {}
        self._owing = False

    def remember(self, items: Any) -> None:
        """Take the items of a response: content blocks, output items, a chat message (alone or in a list), or seals from a stream."""
        found = plain(items)
        step = _seals(found if type(found) in (list, tuple) else (found,))
        calls = [each.id for each in step if each.kind == CALL and each.id is not None]
        with self._lock:
            self._owing = self._owing or 0 < len(calls) < len(step)
            for call in calls:
                self._steps[call] = step
            while len(self._steps) > MAX_STEPS:
                del self._steps[next(iter(self._steps))]
                tally("dropped", "replay")

    def check(self, conversation: Conversation, api: Api | str | None = None) -> ReplayFacts:
        """Hold a request against what is due. The shape of an item says which provider's rule it is under, not ``api``."""
        if not self._owing or conversation.server_held:
            return NOTHING_DUE
        found = _open_steps(listed(conversation.items), self._steps)
        due = [each for step, _ in found for each in step]
        return ReplayFacts(*_compared(due, [each for _, offered in found for each in offered])) if _owes(due) else NOTHING_DUE


# From items to seals


def _seals(items: Iterable[Any]) -> list[Seal]:
    seals: list[Seal] = []
    for item in items:
        if type(item) is Seal:
            seals.append(item)
        elif (found := seal(item)) is not None:
            seals.append(found)
        elif read(item, "role") is not None:
            seals += _message_seals(item)
    return seals


def _message_seals(message: Any) -> list[Seal]:
    """Seals of a chat message or of a message with content blocks: reasoning beside the text comes before the calls."""
    own = _stored(message)
    member = next((name for name in DUE_MEMBERS if own.get(name) is not None), None)
    seals = [] if member is None else _beside(member, own[member])
    seals += _seals(listed(read(message, "content")))
    seals += [Seal(CALL, _word(read(call, "id"))) for call in listed(read(message, "tool_calls"))]
    return seals


def _beside(member: str, value: Any) -> list[Seal]:
    value = plain(value)
    return [Seal(member, _word(_stored(each).get("id")), _hashed(each)) for each in (value if type(value) in (list, tuple) else (value,))]


def _word(value: Any) -> str | None:
    found = plain(value)
    return found if type(found) is str else None


def _mark(own: dict[str, Any], kind: str) -> int | None:
    """Digest of the members that may not change. With encrypted content the summary beside it is for readers only."""
    values = tuple([own.get(name) for name in REASONING[kind]])
    if kind == "reasoning" and values[0] is not None:
        values = values[:1]
    return _hashed(values) if values.count(None) < len(values) else None


_NOTHING: Final[dict[str, Any]] = {}


def _stored(source: Any) -> dict[str, Any]:
    """What a dictionary or an instance stores, by name. Looked up once: finding it costs an instance as much as three of its members."""
    source = plain(source)
    if type(source) is dict:
        return source
    own = instance_dict(source)
    if own is None:
        return _NOTHING
    more = extra(source)
    return {**more, **own} if more else own


def _hashed(value: Any) -> int:
    return hash((_SALT, _hashable(value)))


_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None)})


def _hashable(value: Any) -> Any:
    """Nested tuples of the strings, numbers and flags inside; absent members and ``None`` are the same."""
    value = plain(value)
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple and _PLAIN.issuperset(map(type, value)):
        return value
    if kind in (list, tuple):
        return tuple(map(_hashable, value))
    own = value if kind is dict else {**(instance_dict(value) or {}), **extra(value)}
    return frozenset((name, _hashable(member)) for name, member in own.items() if member is not None)


# From a request to the open steps


def _open_steps(items: Sequence[Any], steps: dict[str, Step]) -> list[tuple[Step, list[Seal]]]:
    """The last steps of the open loop, in order, each with the seals of what the request has in its place, found walking back from the end.

    A caller may put each result right after its call, so that a step lies in several pieces. The walk ends at a turn that was not
    remembered, so that its cost does not grow with the history.
    """
    open_steps: dict[int, tuple[Step, list[Seal]]] = {}
    behind: list[Seal] = []
    for turn in _turns_backwards(items):
        found = [*_seals(turn), *behind]
        calls = [each.id for each in found if each.kind == CALL]
        if not calls:  # reasoning alone, put behind the results: it is the earlier turn's, out of place
            behind = found
            continue
        due = next((steps[call] for call in calls if call in steps), None)
        if due is None or (id(due) not in open_steps and len(open_steps) == LOOK_BACK):
            break
        open_steps.setdefault(id(due), (due, []))[1][:0] = found
        behind = []
    return [*reversed(open_steps.values())]


def _owes(step: Step) -> bool:
    return any(each.kind != CALL for each in step)


def _turns_backwards(items: Sequence[Any]) -> Iterator[list[Any]]:
    """The model's turns of the open loop, last first: runs of the model's items between tool results."""
    turn: list[Any] = []
    for item in reversed(items):
        kind = _place(item)
        if kind == "model":
            turn.insert(0, item)
            continue
        if turn:
            yield turn
            turn = []
        if kind == "user":
            return
    if turn:
        yield turn


def _place(item: Any) -> str:
    role = plain(read(item, "role"))
    if role in ("assistant", "model"):
        return "model"
    if role in ("tool", "function", "system", "developer"):
        return "result"  # a system message amid the loop (a reminder) does not close it
    if role is None:
        kind = plain(read(item, "type"))
        return "result" if type(kind) is str and kind.endswith("_output") else "model"
    return "result" if any(_is_result(block) for block in listed(read(item, "content"))) else "user"


def _is_result(block: Any) -> bool:
    return bool(plain(read(block, "type")) == "tool_result")


# Comparing


def _compared(due: Sequence[Seal], found: Sequence[Seal]) -> tuple[int, int, int]:
    """How many due items came back as they were, were dropped, were changed or moved: as few moved as explain the order."""
    wanted, offered = _anchored(due), _anchored(found)
    if wanted == offered:
        return len(wanted), 0, 0
    kinds: dict[str | None, str] = {each.id: each.kind for each, _ in wanted if each.id is not None}
    there = Counter(each.kind for each, _ in wanted) & Counter(kinds.get(each.id, each.kind) for each, _ in offered)
    exact = _in_order(wanted, offered)
    return exact, len(wanted) - there.total(), there.total() - exact


Anchored = tuple[Seal, str | None]


def _anchored(seals: Sequence[Seal]) -> list[Anchored]:
    """Reasoning items, each with the id of the tool call it stands before."""
    out: list[Anchored] = []
    call: str | None = None
    for each in reversed(seals):
        if each.kind == CALL:
            call = each.id
        else:
            out.insert(0, (each, call))
    return out


def _in_order(wanted: Sequence[Anchored], offered: Sequence[Anchored]) -> int:
    """The longest common subsequence."""
    best = [0] * (len(offered) + 1)
    for due, anchor in wanted:
        before = best[:]
        for at, (found, place) in enumerate(offered, 1):
            same = anchor == place and _same(due, found)
            best[at] = max(before[at], best[at - 1], before[at - 1] + same)
    return best[-1]


def _same(due: Seal, found: Seal) -> bool:
    if found.kind == REFERENCE:
        return due.id is not None and due.id == found.id
    if due.kind != found.kind or (due.id is not None and found.id is not None and due.id != found.id):
        return False
    return bool(due.mark is None or found.mark is None or due.mark == found.mark)
