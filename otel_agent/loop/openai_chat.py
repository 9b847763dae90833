"""OpenAI Chat Completions for the loop; compatible servers too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from otel_agent.instrument.tools import mapping_of
from otel_agent.loop.chat_chunks import Completion
from otel_agent.loop.streaming import Streaming
from otel_agent.loop.turns import Call, Declared, Result, Turn


class OpenAIChat:
    """``client``: an ``openai.OpenAI`` or ``AsyncOpenAI``. ``options``: of ``chat.completions.create``, such as model.

    ``stream``: ask for streams, with their usage (a server that knows no ``stream_options`` wants ``stream_options=openai.NOT_GIVEN``);
    ``on_event`` is shown each chunk.
    """

    def __init__(self, client: Any, *, stream: bool = False, on_event: Callable[[Any], object] | None = None, **options: Any) -> None:
        self._create = client.chat.completions.create
        self._streaming = Streaming(Completion, on_event) if stream else None
        self._options = {"stream": True, "stream_options": {"include_usage": True}, **options} if stream else options

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
        opened = self._create(messages=transcript, tools=offered, **self._options)
        return opened if self._streaming is None else self._streaming.reply(opened)

    def read(self, reply: Any) -> Turn:
        """The message goes back as the object that came, with what compatible servers add to it."""
        choice = reply.choices[0]
        message, usage = choice.message, reply.usage
        return Turn(
            items=[message],
            text=_text_of(message.content),
            calls=[Call(call.id, call.function.name, mapping_of(call.function.arguments or "{}")) for call in message.tool_calls or ()],
            input_tokens=usage.prompt_tokens if usage else 0,
            output_tokens=usage.completion_tokens if usage else 0,
            cut_off=choice.finish_reason == "length",
        )

    def answers(self, results: Sequence[Result]) -> list[Any]:
        """One message for each result."""
        return [{"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in results]


def _text_of(content: Any) -> str:
    """Text, or the text among parts (Mistral, beside its thinking)."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""
