"""The state of one agent run: counts, history, repeats, budgets. Knows no spans; :mod:`otel_agent.instrument.runs` gives it one."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from otel_agent.budget import NO_LIMIT, REASONS, Budget, BudgetExceeded, OnExceed, left, overdrawn
from otel_agent.digest import Digester
from otel_agent.fields import get, items, present
from otel_agent.guard import run as guarded
from otel_agent.history import History
from otel_agent.instrument.resent import Resent, Sent
from otel_agent.protocol import DUE_MEMBERS, ToolCall
from otel_agent.records.closed import Budget as BudgetName
from otel_agent.records.closed import EndReason, ToolOutcome
from otel_agent.repeats import Repeats
from otel_agent.replay import CALL, CALLS, REASONING, Replay, Seal

RUN_KEY: Final = "otel-agent-run"
"""Context key of the run in force. It lives in the OpenTelemetry context, so whatever carries that carries the run."""

MAX_PENDING: Final = 1024

RESPONSE_ITEMS: Final[dict[str, Callable[[Any], Any]]] = {
    "messages": lambda response: get(response, "content"),
    "responses": lambda response: get(response, "output"),
    "chat_completions": lambda response: [get(choice, "message") for choice in items(get(response, "choices"))[:1]],
}
"""Where a response has the items that go back in the next request."""


@dataclass(slots=True)
class Totals:
    """Sums over a run. Token sums are ``None`` until a turn reports one: absent is not zero."""

    turns: int = 0
    tool_calls: int = 0
    tool_failures: int = 0
    truncated_turns: int = 0
    usage_missing_turns: int = 0
    prefix_breaks: int = 0
    denied: int = 0
    conflicting_writes: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    reasoning_tokens: int | None = None
    resent_tokens: int | None = None


TOKEN_SUMS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens")


@dataclass(slots=True, weakref_slot=True, eq=False)
class Run:
    """One run. All methods are safe to call from several threads."""

    run_id: str
    agent_name: str | None
    conversation_id: str | None
    budget: Budget
    on_exceed: OnExceed
    clock: Callable[[], float]
    started: float
    history: History | None
    replay: Replay
    repeats: Repeats = field(default_factory=Repeats)
    totals: Totals = field(default_factory=Totals)
    models: set[str] = field(default_factory=set)
    exceeded: BudgetName | None = None
    context: Context | None = None
    last_turn: Mapping[str, Any] | None = None
    _pending: dict[str, list[str]] = field(default_factory=dict)
    identity: dict[str, str] = field(init=False)
    _limited: bool = field(init=False)
    _writes: int = 0
    _untold: bool = False
    _resent: Resent = field(default_factory=Resent)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._limited = self.budget != NO_LIMIT
        self.identity = present({"run_id": self.run_id, "agent_name": self.agent_name, "conversation_id": self.conversation_id})

    def begin_turn(self) -> int:
        """Number of the turn that begins. Raises :class:`BudgetExceeded` when the budget is used up and the run enforces it."""
        with self._lock:
            number = self.totals.turns + 1
            self._spend(turns=number)
            self.totals.turns = number
        self._tell()
        return number

    def end_turn(self, model: str | None, turn: Mapping[str, Any], calls: list[ToolCall], sent: Sent | None) -> None:
        """Take the facts of a finished turn into the sums, and keep the ids of the tool calls it asked for.

        ``sent``: what its request sent; ``None`` for one that reads no conversation, or that is not of this run.
        """
        totals, find = self.totals, turn.get
        with self._lock:
            self.last_turn = turn
            totals.truncated_turns += turn["truncated"]
            totals.usage_missing_turns += turn["usage_state"] == "missing"
            totals.prefix_breaks += find("prefix_break") is not None
            if model is not None:
                self.models.add(model)
            for name in TOKEN_SUMS:
                _add(totals, name, find(name))
            if sent is not None and (tokens := find("input_tokens")) is not None:
                _add(totals, "resent_tokens", self._resent.of(sent, tokens))
            for call in calls:
                self._expect(call)
            self._note_overdraft(totals.turns)
        self._tell()

    def end_fetch(
        self, model: str | None, turn: Mapping[str, Any], calls: list[ToolCall], sent: Sent | None, *, known_missing: bool
    ) -> None:
        """Take the end of a background turn into the sums. It began no turn; ``known_missing``: one of this run had no usage till now."""
        with self._lock:
            self.totals.usage_missing_turns -= known_missing
        self.end_turn(model, turn, calls, sent)

    def remember(self, api: str, response: Any) -> None:
        """Keep what a response obliges the caller to send back: seals of its reasoning items, never their text."""
        source = RESPONSE_ITEMS.get(api)
        if source is not None and response is not None:
            self.replay.remember(source(response))

    def remember_stream(self, announced: list[tuple[str, str | None]]) -> None:
        """The same for a stream, which told types and ids only: a dropped item shows, a changed one does not."""
        owed = [(kind, found) for kind, found in announced if kind in CALLS or kind in REASONING or kind in DUE_MEMBERS]
        seals = [Seal(CALL, found) if kind in CALLS else Seal(kind, None) for kind, found in owed]
        if seals:
            self.replay.remember(seals)

    def _expect(self, call: ToolCall) -> None:
        if call.call_id is None or sum(map(len, self._pending.values())) >= MAX_PENDING:
            return
        self._pending.setdefault(call.name, []).append(call.call_id)
        _WAITING[call.call_id] = self

    def call_id_for(self, tool: str) -> str | None:
        """The id of the call of ``tool`` that the model last asked for, when only one is waiting; else it would be a guess."""
        with self._lock:
            waiting = self._pending.get(tool, ())
            return waiting[0] if len(waiting) == 1 else None

    def settle(self, tool: str, call_id: str) -> None:
        """A waiting call has been taken up."""
        with self._lock:
            waiting = self._pending.get(tool)
            if waiting is not None and call_id in waiting:
                waiting.remove(call_id)
            _WAITING.pop(call_id, None)

    def awaits(self, tool: str) -> bool:
        """Whether the model has asked for ``tool`` and no execution has answered yet."""
        with self._lock:
            return bool(self._pending.get(tool))

    def begin_tool(self, write: bool) -> bool:
        """Note that a tool begins; whether another write is going on. Raises as :meth:`begin_turn` does."""
        with self._lock:
            number = self.totals.tool_calls + 1
            self._spend(tool_calls=number)
            self.totals.tool_calls = number
            overlap = write and self._writes > 0
            self._writes += write
        self._tell()
        return overlap

    def end_tool(self, outcome: ToolOutcome, write: bool, overlap: bool) -> None:
        """Take a finished execution into the sums."""
        with self._lock:
            self._writes -= write
            self.totals.tool_failures += outcome != "ok"
            self.totals.denied += outcome == "denied"
            self.totals.conflicting_writes += overlap

    def _note_overdraft(self, turns: int, tool_calls: int | None = None) -> BudgetName | None:
        if not self._limited:
            return None
        totals = self.totals
        used = totals.tool_calls if tool_calls is None else tool_calls
        name = overdrawn(self.budget, turns, totals.input_tokens or 0, totals.output_tokens or 0, self.clock() - self.started, used)
        if name is not None and self.exceeded is None:
            self.exceeded = name
            self._untold = True
        return name

    def _tell(self) -> None:
        """Tell the application of the budget that ran out, once. Outside the lock: it may call a tool or wait for one."""
        if not self._untold:
            return
        with self._lock:
            due, self._untold = self._untold, False
        if due and self.exceeded is not None and callable(self.on_exceed):
            guarded("budget.on_exceed", self.on_exceed, self.exceeded)

    def _spend(self, turns: int | None = None, tool_calls: int | None = None) -> None:
        name = self._note_overdraft(self.totals.turns if turns is None else turns, tool_calls)
        if name is not None and self.on_exceed == "raise":
            raise BudgetExceeded(name)

    def end_reason(self) -> EndReason:
        """Why the run ended, when neither the caller nor an exception says so.

        Without an answer (the last turn still asked for tools, or was cut off before anything visible came) the budget that ran
        out is the reason; where none was set, the loop's own cap stopped it, which is a turn limit too. A response that goes on in
        the background is waited for.
        """
        turn = self.last_turn
        if turn is not None and turn["finish_reason"] == "pending":
            return "waiting"
        if turn is None or (turn["finish_reason"] != "tool_call" and not turn["empty_truncated"]):
            return "answered"
        self._note_overdraft(self.totals.turns)
        self._tell()
        if self.exceeded is not None:
            return REASONS[self.exceeded]
        return "token_limit" if turn["empty_truncated"] else "turn_limit"

    def left(self) -> dict[str, int | None]:
        """What remains of each counted budget, by record field."""
        budget, totals = self.budget, self.totals
        return {
            "turns_left": left(budget.turns, totals.turns),
            "input_tokens_left": left(budget.input_tokens, totals.input_tokens or 0),
            "output_tokens_left": left(budget.output_tokens, totals.output_tokens or 0),
            "tool_calls_left": left(budget.tool_calls, totals.tool_calls),
        }

    def forget(self) -> None:
        """The run is over: drop what waits, and the history with its references into the caller's messages.

        Contexts outlive a run, in log records that wait for an exporter and in tasks that go on; through them the run does too. The run
        in turn lets go of its own, so that both go when the last of these does, without waiting for the garbage collector.
        """
        self.context = None
        self.history, self.replay, self.repeats, self._resent = None, Replay(), Repeats(), Resent()
        with self._lock:
            for waiting in self._pending.values():
                for call_id in waiting:
                    _WAITING.pop(call_id, None)
            self._pending.clear()


_WAITING: Final[weakref.WeakValueDictionary[str, Run]] = weakref.WeakValueDictionary()
"""Runs by the ids of tool calls they wait for: how a tool in a bare thread pool, which carries no context, finds its run."""


def new_history(digester: Digester | None) -> History | None:
    """A history that digests with ``digester``; ``None`` when digests are switched off."""
    return None if digester is None else History(digester)


def current_run(context: Context | None = None) -> Run | None:
    """The run in force in ``context`` (the current one when not given)."""
    found = otel_context.get_value(RUN_KEY, context)
    return found if isinstance(found, Run) else None


def run_waiting_for(tool: str, call_id: str | None) -> Run | None:
    """The one run that waits for this call; ``None`` when there is none, or more than one could be meant."""
    if call_id is not None:
        return _WAITING.get(call_id)
    waiting = {id(run): run for run in list(_WAITING.values()) if run.awaits(tool)}
    return next(iter(waiting.values())) if len(waiting) == 1 else None


def _add(totals: Totals, name: str, amount: int | None) -> None:
    if amount is not None:
        setattr(totals, name, (getattr(totals, name) or 0) + amount)
