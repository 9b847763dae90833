"""The history of a run's conversations: a digest of what was sent, and what of it stayed as it was.

**Chain.** With ``e_i`` the keyed digest of a message's projection (:mod:`otel_agent.visible`) and ``d_0`` thirty-two zero bytes,
``d_i = HMAC(key, d_(i-1) || e_i)``; the history digest is ``d_n``. System prompt and tool definitions have digests of their own.

**Lines.** A run may hold several conversations at once (parallel sub-calls), so the last requests of sixteen are remembered. A request
belongs to the line whose messages it repeats. It starts a *new* line, and breaks nothing, when it shares nothing with any line or
branches off one: a leading part of it, another last message, or the same messages under another system prompt. A reply standing where
the earlier request ended is what tells a conversation that goes on from such a sibling. Where the earlier request was one message, that
reply alone shows that the message was edited, so it must be the only line that could be meant, and none may have been forgotten.

**Break.** Providers build the cacheable prefix from tools, then system, then messages; the first of these that changed is what broke it.
Leading messages of role system count as system. Among messages: *reordered* when the earlier messages are all there in another order,
*summarised* when several vanished and fewer took their place, else *edited*.

**Cost.** Messages recognised by a snapshot (:mod:`otel_agent.snapshot`) are not read again; only new and changed ones are digested.

A compaction that keeps neither an earlier message nor the first one cannot be told from a new conversation and counts as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, NamedTuple

from otel_agent.canonical import is_marker
from otel_agent.digest import Digester
from otel_agent.protocol import Conversation, is_directive
from otel_agent.records.closed import MessageRole, PrefixBreak
from otel_agent.snapshot import Snapshot, members_of
from otel_agent.stored import listed, plain, read
from otel_agent.visible import encoded

MAX_LINES: Final = 16
_START: Final = bytes(32)

_ROLES: Final[dict[Any, MessageRole]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(slots=True)
class HistoryFacts:
    """Facts of one request; names as in :class:`otel_agent.records.ModelTurn`. ``stable_prefix`` is absent where a line begins afresh."""

    message_count: int
    history_digest: str | None = None
    stable_prefix: int | None = None
    first_changed: int | None = None
    first_changed_role: MessageRole | None = None
    prefix_break: PrefixBreak | None = None
    tools_digest: str | None = None
    directives: list[Any] | None = None
    """No fact of a record: the messages that :func:`otel_agent.protocol.is_directive` picks, for the adapter to read."""


class Ahead(NamedTuple):
    """What stands before the messages: digest of the system prompt and of the tool definitions."""

    system: str | None
    tools: str | None


class Line:
    """One conversation as it was last sent."""

    __slots__ = ("ahead", "chain", "digests", "directives", "roles", "snapshot")

    def __init__(self, ahead: Ahead) -> None:
        self.ahead = ahead
        self.snapshot = Snapshot()
        self.digests: list[bytes] = []
        self.roles: list[MessageRole] = []
        self.chain: list[bytes] = [_START]
        self.directives: list[int] = []

    @property
    def head(self) -> int:
        """How many leading messages are the system's."""
        return next((at for at, role in enumerate(self.roles) if role != "system"), len(self.roles))

    def add(self, digester: Digester, items: Sequence[Any], digests: Sequence[bytes]) -> None:
        """Take in messages that follow, with their digests."""
        self.directives += [at for at, item in enumerate(items, len(self.digests)) if is_directive(item)]
        self.snapshot.extend(items)
        self.digests += digests
        self.roles += map(role_of, items)
        last = self.chain[-1]
        for digest in digests:
            self.chain.append(last := digester.mac(last + digest))

    def truncate(self, count: int) -> None:
        """Forget the messages from ``count`` on."""
        self.snapshot.truncate(count)
        del self.digests[count:], self.roles[count:], self.chain[count + 1 :]
        self.directives = [at for at in self.directives if at < count]


class Overlap(NamedTuple):
    """What two requests share: equal leading messages, and messages of the earlier one found elsewhere after them."""

    prefix: int
    survivors: int


class Recent:
    """Digests of the last few distinct lists seen, recognised by their content."""

    __slots__ = ("_entries", "_make")

    def __init__(self, make: Callable[[list[Any]], str]) -> None:
        self._make = make
        self._entries: list[tuple[Any, str]] = []

    def digest(self, items: list[Any]) -> str:
        """The digest of ``items``, made only when the content is new."""
        for at, entry in enumerate(self._entries):
            if entry[0] == items:
                if at:
                    self._entries.insert(0, self._entries.pop(at))
                return entry[1]
        made = self._make(items)
        self._entries.insert(0, (members_of(items), made))
        del self._entries[MAX_LINES:]
        return made


class History:
    """The conversations of one run. Threads may share it."""

    def __init__(self, digester: Digester) -> None:
        self._digester = digester
        self._lines: list[Line] = []
        self._forgetful = False
        self._lock = Lock()
        self._tools = Recent(lambda tools: digester.digest([*map(_definition, tools)]))
        self._systems = Recent(lambda system: digester.mac(encoded({"role": "system", "content": system[0]})).hex())

    def observe(self, conversation: Conversation) -> HistoryFacts:
        """Facts of a request about to be sent. Reads the caller's lists and dictionaries, and walks nothing else."""
        items = listed(conversation.items)
        with self._lock:
            ahead = self._ahead(conversation)
            if conversation.server_held:
                return self._held(items, ahead)
            lines, self._lines = self._lines, []  # an error on the way leaves no half-made line behind
            line, facts = self._placed(lines, items, ahead)
            self._lines = [line, *(other for other in lines if other is not line)]
            if len(self._lines) > MAX_LINES:
                del self._lines[MAX_LINES:]
                self._forgetful = True
        return facts

    def _ahead(self, conversation: Conversation) -> Ahead:
        tools = list(listed(conversation.tools))
        system = plain(conversation.system)
        return Ahead(self._systems.digest([system]) if system else None, self._tools.digest(tools) if tools else None)

    def _held(self, items: Sequence[Any], ahead: Ahead) -> HistoryFacts:
        """The earlier messages live at the provider: what is sent says nothing about them."""
        line = Line(ahead)
        line.add(self._digester, items, [*map(self._digest, items)])
        return self._facts(line, items)

    def _placed(self, lines: list[Line], items: Sequence[Any], ahead: Ahead) -> tuple[Line, HistoryFacts]:
        line = _longest(lines, items, ahead)
        if line is None:
            return self._compared(lines, items, ahead)
        count = len(line.digests)
        added = items[count:]
        digests = [*map(self._digest, added)]
        if line.ahead != ahead and not _replied(items, count):
            return self._begun(items, line.digests + digests, ahead)
        return self._continued(line, items, digests, Overlap(count, 0), ahead)

    def _compared(self, lines: list[Line], items: Sequence[Any], ahead: Ahead) -> tuple[Line, HistoryFacts]:
        """No line leads the request as it stands: find what it shares with each."""
        digests = self._digests(lines, items)
        there = frozenset(digests)
        overlaps = [(line, _overlap(line.digests, digests, there)) for line in lines]
        related = [pair for pair in overlaps if _related(*pair, items, ahead)]
        if not related:
            return self._begun(items, digests, ahead)
        line, overlap = max(related, key=lambda pair: (sum(pair[1]), pair[0].ahead == ahead))
        if sum(overlap) <= line.head and (len(related) > 1 or self._forgetful):
            return self._begun(items, digests, ahead)
        return self._continued(line, items, digests[overlap.prefix :], overlap, ahead)

    def _begun(self, items: Sequence[Any], digests: Sequence[bytes], ahead: Ahead) -> tuple[Line, HistoryFacts]:
        line = Line(ahead)
        line.add(self._digester, items, digests)
        return line, self._facts(line, items)

    def _continued(
        self, line: Line, items: Sequence[Any], digests: Sequence[bytes], overlap: Overlap, ahead: Ahead
    ) -> tuple[Line, HistoryFacts]:
        """Facts of a request that goes on with ``line``; ``digests`` are those of the messages after the common prefix."""
        prefix, count = overlap.prefix, len(line.digests)
        broken = _broken(line, [*line.digests[:prefix], *digests], overlap, ahead) if prefix < count or line.ahead != ahead else None
        role = line.roles[prefix] if prefix < count else None
        if prefix < count:
            line.truncate(prefix)
        line.add(self._digester, items[prefix:], digests)
        line.ahead = ahead
        facts = self._facts(line, items)
        facts.stable_prefix = prefix
        facts.first_changed = prefix if role else None
        facts.first_changed_role = role
        facts.prefix_break = broken
        return line, facts

    def _facts(self, line: Line, items: Sequence[Any]) -> HistoryFacts:
        digest = self._digester.written(line.chain[-1]) if line.digests else None
        directives = [items[at] for at in line.directives]
        return HistoryFacts(len(line.digests), digest, tools_digest=line.ahead.tools, directives=directives)

    def _digest(self, item: Any) -> bytes:
        return self._digester.mac(encoded(item))

    def _digests(self, lines: list[Line], items: Sequence[Any]) -> list[bytes]:
        """Digests of all messages, taken over from the line that knows most of them by comparison."""
        known = [(line, line.snapshot.same(items)) for line in lines]
        if not known:
            return [*map(self._digest, items)]
        line, same = max(known, key=lambda pair: sum(pair[1]))
        digests = [line.digests[at] if kept else self._digest(items[at]) for at, kept in enumerate(same)]
        for at, kept in enumerate(same):
            if not kept and digests[at] == line.digests[at]:
                line.snapshot.refresh(at, items[at])
        return [*digests, *map(self._digest, items[len(same) :])]


def role_of(item: Any) -> MessageRole:
    """The role of a message; ``item`` for what has none."""
    role = read(item, "role")
    if type(role) is not str:
        role = plain(role)
    return _ROLES.get(role, "item") if type(role) is str else "item"


def _definition(tool: Any) -> Any:
    """A tool definition without the cache marker, which callers move about."""
    tool = plain(tool)
    if type(tool) is not dict or "cache_control" not in tool:
        return tool
    return {name: value for name, value in tool.items() if name != "cache_control"}


def _longest(lines: list[Line], items: Sequence[Any], ahead: Ahead) -> Line | None:
    """The line that leads ``items`` unchanged: one with the same system and tools if there is one, then the longest, then the latest."""
    best, best_rank = None, (False, 0)
    for line in lines:
        rank = (line.ahead == ahead, len(line.digests))
        if rank > best_rank and line.snapshot.holds(items):
            best, best_rank = line, rank
    return best


def _overlap(old: Sequence[bytes], new: Sequence[bytes], there: frozenset[bytes]) -> Overlap:
    """``there`` is ``new`` as a set: most lines share nothing with a request, and counting costs ten times as much as seeing that."""
    prefix = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    rest = old[prefix:]
    return Overlap(prefix, 0 if there.isdisjoint(rest) else (Counter(rest) & Counter(new[prefix:])).total())


def _replied(items: Sequence[Any], count: int) -> bool:
    """True when the model's reply stands right after the first ``count`` messages."""
    if count >= len(items):
        return False
    role, kind = role_of(items[count]), plain(read(items[count], "type"))
    return role == "assistant" or (role == "item" and type(kind) is str and not kind.endswith(("_output", "_reference")))


def _related(line: Line, overlap: Overlap, items: Sequence[Any], ahead: Ahead) -> bool:
    """True when the request goes on with ``line``, changed; false for another conversation and for a sibling."""
    count, head = len(line.digests), line.head
    prefix, survivors = overlap
    replied = _replied(items, count)
    if prefix == count:
        return replied or line.ahead == ahead
    if prefix == len(items):
        return False
    if prefix > head:
        return survivors > 0 or replied or len(items) < count
    if survivors >= 2 or survivors == count - head > 0:
        return replied or len(items) < count
    return replied and prefix == head == count - 1 and line.ahead == ahead


def _broken(line: Line, new: Sequence[bytes], overlap: Overlap, ahead: Ahead) -> PrefixBreak | None:
    """The first thing that changed, in the order in which providers build the prefix."""
    if _differ(line.ahead.tools, ahead.tools):
        return "tools_changed"
    if line.ahead.system != ahead.system or overlap.prefix < line.head:
        return "system_changed"
    return _rewritten(line.digests, new, overlap) if overlap.prefix < len(line.digests) else None


def _differ(one: str | None, other: str | None) -> bool:
    """Markers say nothing about what they stand for."""
    return one != other and not any(digest is not None and is_marker(digest) for digest in (one, other))


def _rewritten(old: Sequence[bytes], new: Sequence[bytes], overlap: Overlap) -> PrefixBreak:
    if Counter(new[: len(old)]) == Counter(old):
        return "reordered"
    vanished = len(old) - overlap.prefix - overlap.survivors
    if vanished >= 2 and (len(new) < len(old) or (overlap.survivors > 0 and _inserted(old, new, overlap.prefix) < vanished)):
        return "summarised"
    return "edited"


def _inserted(old: Sequence[bytes], new: Sequence[bytes], prefix: int) -> int:
    """How many messages of ``new`` stand between the common prefix and the last surviving one without being old."""
    earlier = set(old[prefix:])
    last = max(at for at in range(prefix, len(new)) if new[at] in earlier)
    return sum(new[at] not in earlier for at in range(prefix, last))
