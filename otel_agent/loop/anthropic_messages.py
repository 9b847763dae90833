"""Anthropic Messages for the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from otel_agent.loop.streaming import Last, Streaming
from otel_agent.loop.turns import Call, Declared, Result, Turn


def _final(event: Any) -> Any:
    """The message, which the SDK puts into the last event."""
    return getattr(event, "message", None) if getattr(event, "type", None) == "message_stop" else None


class AnthropicMessages:
    """``client``: an ``anthropic.Anthropic`` or ``AsyncAnthropic``. ``options``: of ``messages.create``, such as model.

    ``stream``: ask for streams, as long turns need; ``on_event`` is shown each event of the SDK's ``messages.stream``.
    """

    def __init__(self, client: Any, *, stream: bool = False, on_event: Callable[[Any], object] | None = None, **options: Any) -> None:
        self._messages = client.messages
        self._streaming = Streaming(lambda: Last(_final), on_event) if stream else None
        self._options = options

    def opening(self, task: str) -> list[Any]:
        """The task as the user's message."""
        return [{"role": "user", "content": task}]

    def send(self, transcript: list[Any], tools: Sequence[Declared]) -> Any:
        """One request."""
        offered = [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools]
        request = {"messages": transcript, "tools": offered, **self._options}
        return self._messages.create(**request) if self._streaming is None else self._streaming.reply(self._messages.stream(**request))

    def read(self, reply: Any) -> Turn:
        """The content blocks go back as the objects that came."""
        usage = reply.usage
        return Turn(
            items=[{"role": "assistant", "content": reply.content}],
            text="".join(block.text for block in reply.content if block.type == "text"),
            calls=[Call(block.id, block.name, block.input) for block in reply.content if block.type == "tool_use"],
            input_tokens=usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0),
            output_tokens=usage.output_tokens,
            cut_off=reply.stop_reason in {"max_tokens", "model_context_window_exceeded"},
            paused=reply.stop_reason == "pause_turn",
        )

    def answers(self, results: Sequence[Result]) -> list[Any]:
        """All results of a turn in one message."""
        blocks = [
            {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text, "is_error": result.failed} for result in results
        ]
        return [{"role": "user", "content": blocks}]
