"""OpenAI Chat Completions for the loop; compatible servers too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from otel_agent.instrument.tools import mapping_of
from otel_agent.loop.turns import Call, Declared, Result, Turn


class OpenAIChat:
    """``client``: an ``openai.OpenAI`` or ``AsyncOpenAI``. ``options``: of ``chat.completions.create``, such as model.

    It does not stream: what the SDK accumulates from chunks is not the message as a server takes it back (its tool calls keep ``index``
    and ``parsed_arguments``), and the oldest supported SDK has no such helper.
    """

    def __init__(self, client: Any, **options: Any) -> None:
        if options.get("stream"):
            raise TypeError("the loop does not stream chat completions; leave stream out, or take OpenAIResponses")
        self._create = client.chat.completions.create
        self._options = options

    def opening(self, task: str) -> list[Any]:
        """The task as the user's message."""
        return [{"role": "user", "content": task}]

    def send(self, transcript: list[Any], tools: Sequence[Declared]) -> Any:
        """One request."""
        offered = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in tools
        ]
        return self._create(messages=transcript, tools=offered, **self._options)

    def read(self, reply: Any) -> Turn:
        """The message goes back as the object that came, with what compatible servers add to it."""
        choice = reply.choices[0]
        message, usage = choice.message, reply.usage
        return Turn(
            items=[message],
            text=message.content or "",
            calls=[Call(call.id, call.function.name, mapping_of(call.function.arguments or "{}")) for call in message.tool_calls or ()],
            input_tokens=usage.prompt_tokens if usage else 0,
            output_tokens=usage.completion_tokens if usage else 0,
            cut_off=choice.finish_reason == "length",
        )

    def answers(self, results: Sequence[Result]) -> list[Any]:
        """One message for each result."""
        return [{"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in results]
