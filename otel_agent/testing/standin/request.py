"""A recorded request: exactly what came over the wire, and the few views of it that scripts decide by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

DIALECTS = (
    (re.compile(r"/v1/messages$"), "anthropic"),
    (re.compile(r"/chat/completions$"), "openai.chat"),
    (re.compile(r"/responses$"), "openai.responses"),
)
"""Which wire format a generation route speaks."""

_SCRIPT_SEGMENT = re.compile(r"^/s/([^/]+)(/.*)$")
SCRIPT_HEADER = "x-standin-script"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returned, as the request sends it back."""

    call_id: str
    content: Any
    is_error: bool = False


@dataclass(frozen=True)
class Request:
    """One HTTP request. `headers` keep order and spelling; `body` is what was sent, byte for byte."""

    number: int
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    at: float
    """`time.monotonic()` when the body had arrived."""
    held_messages: tuple[Mapping[str, Any], ...] = ()
    """What the server had kept of the conversation that this request continues."""
    held_fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of earlier requests that still hold."""

    def header(self, name: str) -> str | None:
        """The first header of that name, in any spelling."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @cached_property
    def _segment(self) -> tuple[str | None, str]:
        path = urlsplit(self.target).path
        found = _SCRIPT_SEGMENT.match(path)
        return (unquote(found[1]), found[2]) if found else (None, path)

    @property
    def route(self) -> str:
        """The path without the segment that chooses a script."""
        return self._segment[1]

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The query's last value for each name."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @cached_property
    def dialect(self) -> str | None:
        """`anthropic`, `openai.chat`, `openai.responses`, or None for a route that generates nothing."""
        return next((name for pattern, name in DIALECTS if pattern.search(self.route)), None)

    @cached_property
    def json(self) -> Any:
        """The parsed body, or None where it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def sent(self, name: str) -> Any:
        """A top-level field of the body, or None."""
        return self.json.get(name) if isinstance(self.json, dict) else None

    def setting(self, name: str) -> Any:
        """A field as it holds for this turn: sent now, or before."""
        now = self.sent(name)
        return self.held_fields.get(name) if now is None else now

    @property
    def model(self) -> str:
        """The model asked for; empty when there is none."""
        model = self.sent("model")
        return model if isinstance(model, str) else ""

    @property
    def stream(self) -> bool:
        """Whether the answer is to be an event stream."""
        return self.sent("stream") is True or self.query.get("stream") == "true"

    @property
    def script_keys(self) -> tuple[str, ...]:
        """The keys under which a script for this request may be filed, the most particular first."""
        keys = (self.header(SCRIPT_HEADER), self._segment[0], self.route, self.model, "*")
        return tuple(key for key in keys if key)

    @cached_property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """What was sent: `messages`, or Responses' `input` with a plain string made into a message."""
        listed = self.sent("input" if self.dialect == "openai.responses" else "messages")
        if isinstance(listed, str):
            return ({"role": "user", "content": listed},)
        return tuple(item for item in as_list(listed) if isinstance(item, dict))

    @property
    def conversation(self) -> tuple[Mapping[str, Any], ...]:
        """What was sent, after what the server had kept."""
        return (*self.held_messages, *self.messages)

    @property
    def continues(self) -> str | None:
        """The id of the answer that this request goes on from, where the server keeps the conversation."""
        thread = as_dict(self.sent("thread"))
        named = self.sent("previous_response_id") or thread.get("previous_message_id")
        return named if isinstance(named, str) else None

    @cached_property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """Every tool result in the conversation, oldest first."""
        return tuple(result for message in self.conversation for result in _results(message))

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools offered, in order."""
        tools = [tool for tool in as_list(self.setting("tools")) if isinstance(tool, dict)]
        names = (tool.get("name") or as_dict(tool.get("function")).get("name") for tool in tools)
        return tuple(name for name in names if isinstance(name, str))

    @property
    def turn(self) -> int:
        """1 for the first model turn of this conversation, 2 for the next, ..."""
        written = [is_from_model(message) for message in self.conversation]
        return 1 + sum(here and not before for here, before in zip(written, [False, *written], strict=False))

    @property
    def answers_tools(self) -> bool:
        """Whether the conversation ends in tool results, so that the model is to go on."""
        return bool(self.messages) and any(_results(self.messages[-1]))

    @property
    def last_user_text(self) -> str:
        """The newest text that a user wrote; empty when there is none."""
        texts = (text_of(message.get("content")) for message in reversed(self.conversation) if message.get("role") == "user")
        return next((text for text in texts if text), "")

    @property
    def attempt(self) -> int:
        """0 for a first try, counting up with the SDK's own retries."""
        return int(self.header("x-stainless-retry-count") or 0)


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def is_from_model(message: Mapping[str, Any]) -> bool:
    """Whether a message or a Responses item was written by a model."""
    if "role" in message:
        return message.get("role") == "assistant"
    kind = str(message.get("type") or "")
    return bool(kind) and not kind.endswith("_output") and kind not in {"message", "item_reference"}


def text_of(content: Any) -> str:
    """The text in a message's content, which may be a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in as_list(content) if isinstance(part, dict))
    return " ".join(part for part in parts if isinstance(part, str))


def _results(message: Mapping[str, Any]) -> Iterator[ToolResult]:
    if message.get("type") == "function_call_output":
        yield ToolResult(str(message.get("call_id")), message.get("output"))
    elif message.get("role") == "tool":
        yield ToolResult(str(message.get("tool_call_id")), message.get("content"))
    for block in as_list(message.get("content")):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield ToolResult(str(block.get("tool_use_id")), block.get("content"), block.get("is_error") is True)
