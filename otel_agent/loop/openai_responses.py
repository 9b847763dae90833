"""OpenAI Responses for the loop, the conversation held here and not at the provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from otel_agent.instrument.tools import mapping_of
from otel_agent.loop.streaming import Last, Streaming
from otel_agent.loop.turns import Call, Declared, Result, Turn

LAST_EVENTS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


def _final(event: Any) -> Any:
    """The response, whole or cut off, as it came.

    Not by the SDK's ``responses.stream``: its items hold ``parsed_arguments``, which older SDKs send back and the provider rejects.
    """
    return getattr(event, "response", None) if getattr(event, "type", None) in LAST_EVENTS else None


class OpenAIResponses:
    """``client``: an ``openai.OpenAI`` or ``AsyncOpenAI``. ``options``: of ``responses.create``, such as model.

    ``stream``: ask for streams; ``on_event`` is shown each event. A response in the background has to be streamed: nothing here polls.
    """

    def __init__(self, client: Any, *, stream: bool = False, on_event: Callable[[Any], object] | None = None, **options: Any) -> None:
        if options.get("background") and not stream:
            raise TypeError("the loop does not poll: ask for background responses with stream=True")
        self._create = client.responses.create
        self._streaming = Streaming(lambda: Last(_final), on_event) if stream else None
        self._options = {"store": False, "include": ["reasoning.encrypted_content"], **options}

    def opening(self, task: str) -> list[Any]:
        """The task as the user's message."""
        return [{"role": "user", "content": task}]

    def send(self, transcript: list[Any], tools: Sequence[Declared]) -> Any:
        """One request."""
        offered = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in tools
        ]
        request = {"input": transcript, "tools": offered, **self._options}
        return self._create(**request) if self._streaming is None else self._streaming.reply(self._create(stream=True, **request))

    def read(self, reply: Any) -> Turn:
        """All output items go back as the objects that came, sealed reasoning before its call."""
        usage = reply.usage
        return Turn(
            items=list(reply.output),
            text=reply.output_text,
            calls=[
                Call(item.call_id, item.name, mapping_of(item.arguments or "{}")) for item in reply.output if item.type == "function_call"
            ],
            input_tokens=usage.input_tokens if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
            cut_off=getattr(reply.incomplete_details, "reason", None) == "max_output_tokens",
            failed=reply.status in {"failed", "cancelled"},
        )

    def answers(self, results: Sequence[Result]) -> list[Any]:
        """One item for each result."""
        return [{"type": "function_call_output", "call_id": result.call_id, "output": result.text} for result in results]
