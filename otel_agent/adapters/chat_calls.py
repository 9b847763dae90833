"""Tool calls of one chat choice, put together from pieces."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from otel_agent.adapters import offers
from otel_agent.adapters.members import member
from otel_agent.fields import OTHER, dig, get, identifier, items
from otel_agent.protocol import ToolCall


class Calls:
    """The calls made so far, in order.

    A piece belongs to the call of its index. Some servers number every call 0, so a new id opens a new call as well; some repeat
    name and id in each piece.
    """

    __slots__ = ("_executed", "_open", "made")

    def __init__(self) -> None:
        self.made: list[ToolCall] = []
        self._executed: set[int] = set()
        self._open: dict[int, ToolCall] = {}

    @property
    def count(self) -> int:
        """Calls of the application's tools and of those the server ran itself (Groq)."""
        return len(self.made) + len(self._executed)

    def read(self, message: Any, offered: Collection[str] | None) -> bool:
        """Take the calls of a message or a piece of one; whether there were any."""
        pieces = items(get(message, "tool_calls"))
        for position, piece in enumerate(pieces):
            self._take(piece, position, offered)
        legacy = get(message, "function_call")
        if legacy is not None:
            self._take({"function": legacy}, -1, offered)
        executed = items(member(message, "executed_tools"))
        for position, tool in enumerate(executed):
            index = get(tool, "index")
            self._executed.add(index if type(index) is int else position)
        return bool(pieces or executed) or legacy is not None

    def _take(self, piece: Any, position: int, offered: Collection[str] | None) -> None:
        index = get(piece, "index")
        key = index if type(index) is int else position
        call_id = identifier(get(piece, "id"))
        call = self._open.get(key)
        if call is None or (call_id is not None and call.call_id not in (None, call_id)):
            call = self._open[key] = ToolCall(OTHER)
            self.made.append(call)
        if call_id is not None:
            call.call_id = call_id
        name = dig(piece, "function", "name") or dig(piece, "custom", "name")
        if name:
            call.name = offers.called(name, offered)
