"""Repeated tool calls in a run: the same call again, the same result again, cycles of two and three calls.

A call's key is its tool and the digest of its arguments, so three files attached one after the other are three calls. Markers
(``uncanonical:...``) and absent digests never count as equal. A cycle has come round when its calls were made twice over (``A B A B``);
it is reported at the call that completes the second round, and again at the end of each further round.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, Literal, NamedTuple

from otel_agent.canonical import is_marker
from otel_agent.tally import tally

MAX_CALLS: Final = 4096
"""How many distinct calls a run remembers; the one not made for the longest time goes first, and the loss is counted."""

CYCLES: Final = (2, 3)

Cycle = Literal[2, 3]
Key = tuple[str, str]


class CallFacts(NamedTuple):
    """Names as in :class:`otel_agent.records.ToolExecution`; both counts include the call itself."""

    repeat: int
    consecutive: int
    cycle: Cycle | None = None


@dataclass(slots=True)
class _Seen:
    calls: int = 0
    result: str | None = None
    same_result: int = 0


class Repeats:
    """The tool calls of one run. Threads may share it: calls count in the order in which they are observed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: OrderedDict[Key, _Seen] = OrderedDict()
        self._last: deque[object] = deque(maxlen=2 * max(CYCLES))
        self._consecutive = 0
        self._since_cycle = 0
        self._cycle: Cycle | None = None
        self.max_repeat = 0
        self.repeats = 0
        self.cycles = 0

    def observe(self, tool: str, arguments_digest: str | None) -> CallFacts:
        """Count a call about to be made."""
        key = _key(tool, arguments_digest)
        with self._lock:
            calls = 1 if key is None else self._count(key)
            consecutive = self._follow(object() if key is None else key)
            cycle = self._round()
            if calls > 1:
                self.repeats += 1
            if cycle is not None:
                self.cycles += 1
        return CallFacts(calls, consecutive, cycle)

    def result(self, tool: str, arguments_digest: str | None, result_digest: str | None) -> int | None:
        """How often in a row this same call has given this same result, this time included; ``None`` when that cannot be known.

        A result that is not known ends the row: it may have been another one.
        """
        key = _key(tool, arguments_digest)
        if key is None:
            return None
        with self._lock:
            seen = self._entry(key)
            if result_digest is None or is_marker(result_digest):
                seen.result, seen.same_result = None, 0
                return None
            seen.same_result = seen.same_result + 1 if seen.result == result_digest else 1
            seen.result = result_digest
            return seen.same_result

    def _count(self, key: Key) -> int:
        seen = self._entry(key)
        seen.calls += 1
        return seen.calls

    def _entry(self, key: Key) -> _Seen:
        seen = self._seen.get(key)
        if seen is None:
            seen = self._seen[key] = _Seen()
            if len(self._seen) > MAX_CALLS:
                self._seen.popitem(last=False)
                tally("dropped", "repeats")
        else:
            self._seen.move_to_end(key)
        return seen

    def _follow(self, call: object) -> int:
        last = self._last
        self._consecutive = self._consecutive + 1 if last and last[-1] == call else 1
        self.max_repeat = max(self.max_repeat, self._consecutive)
        last.append(call)
        return self._consecutive

    def _round(self) -> Cycle | None:
        """The length of the cycle that has just come round. The calls inside a further round are turns of the same cycle, not new ones."""
        self._since_cycle += 1
        found = _cycle(self._last)
        if found is None or (found == self._cycle and self._since_cycle < found):
            return None
        self._cycle, self._since_cycle = found, 0
        return found


def _key(tool: str, digest: str | None) -> Key | None:
    return None if digest is None or is_marker(digest) else (tool, digest)


def _cycle(calls: Sequence[object]) -> Cycle | None:
    if len(calls) < 4 or calls[-1] not in (calls[-3], calls[-4]):  # nearly always
        return None
    if _twice(calls, 2):
        return 2
    return 3 if _twice(calls, 3) else None


def _twice(calls: Sequence[object], length: int) -> bool:
    """True when the last ``length`` calls repeat those before them and are not all one call."""
    last = list(calls)[-2 * length :]
    once = last[length:]
    return last[:length] == once and any(call != once[0] for call in once)
