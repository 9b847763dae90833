"""A chat completion put together from the chunks of a stream, so that its message goes back as if it had come whole.

The SDK's own helper gives a message that no server takes back (its calls keep ``index`` and ``parsed_arguments``), raises where a limit cut
the answer off, and gives up on lists without an ``index``. So the rule is written out here, with the habits of compatible servers: text is
joined, words that only identify are taken once though they are repeated, a null erases nothing, and reasoning comes back in the member and
in the entries it came in.
"""

from __future__ import annotations

from typing import Any, Final

ONCE: Final = frozenset({"role", "id", "type", "index", "format", "signature"})
"""Members that are no running text: the newest stands, not the sum."""
RUNNING: Final = ("text", "summary", "thinking")
"""Where an entry of a list (a content part, a piece of reasoning) has running text. An entry without is whole."""


class Completion:
    """The first choice of one completion: the loop asks for one."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: list[dict[str, Any]] = []
        self._open: dict[int, dict[str, Any]] = {}
        self._reason: str | None = None
        self._usage: dict[str, Any] | None = None

    def take(self, event: Any) -> None:
        """One chunk."""
        chunk = event.to_dict(warnings=False)
        self._head = self._head or {name: chunk.get(name) for name in ("id", "created", "model")}
        self._usage = chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            if not choice.get("index"):
                self._choose(choice)

    def _choose(self, choice: dict[str, Any]) -> None:
        self._reason = choice.get("finish_reason") or self._reason
        delta = choice.get("delta") or {}
        for position, piece in enumerate(delta.pop("tool_calls", None) or ()):
            self._call(piece, position)
        join(self._message, delta)

    def _call(self, piece: dict[str, Any], position: int) -> None:
        """A piece belongs to the call of its index; since some servers number every call 0, a new id opens a new call as well."""
        index, found = piece.pop("index", None), piece.get("id")
        key = position if index is None else index
        call = self._open.get(key)
        if call is None or (found and call.get("id") not in {None, "", found}):
            call = self._open[key] = {}
            self._calls.append(call)
        join(call, piece)

    def whole(self) -> Any:
        """The SDK's ``ChatCompletion``; ``None`` before a finish reason came."""
        from openai.types.chat import ChatCompletion

        if self._reason is None:
            return None
        message = {**self._message, **({"tool_calls": self._calls} if self._calls else {})}
        choice = {"index": 0, "finish_reason": self._reason, "logprobs": None, "message": message}
        return ChatCompletion.construct(object="chat.completion", **self._head, choices=[choice], usage=self._usage)


def join(into: dict[str, Any], piece: dict[str, Any]) -> None:
    """Add a piece of an object."""
    for name, value in piece.items():
        into[name] = _joined(name, into.get(name), value)


def _joined(name: str, before: Any, value: Any) -> Any:
    if value is None or before is None:
        return before if value is None else value
    if isinstance(before, str) and isinstance(value, str):
        return _text(name, before, value)
    if isinstance(before, dict) and isinstance(value, dict):
        join(before, value)
        return before
    if isinstance(before, list) or isinstance(value, list):
        return _extended(_entries(before), _entries(value))
    return value


def _text(name: str, before: str, value: str) -> str:
    if name in ONCE:
        return value or before
    if name == "name" and value == before:  # repeated with each piece of the arguments
        return before
    return before + value


def _entries(value: Any) -> list[Any]:
    """As a list: content that is text in one chunk may be a list of parts in the next (Mistral)."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else []
    return value if isinstance(value, list) else [value]


def _extended(entries: list[Any], pieces: list[Any]) -> list[Any]:
    for piece in pieces:
        if entries and _goes_on(entries[-1], piece):
            join(entries[-1], piece)
        else:
            entries.append(piece)
    return entries


def _goes_on(entry: Any, piece: Any) -> bool:
    """Whether a piece continues an entry. A signature closes one, and what is sealed altogether comes whole."""
    if not isinstance(entry, dict) or not isinstance(piece, dict) or entry.get("signature") or "data" in piece:
        return False
    same = all(entry.get(name) == piece.get(name) for name in ("type", "index"))
    return same and any(name in entry for name in RUNNING)
