"""An agent on both SDKs, sync, async and streamed, in which nothing is ours. Arguments: the provider's address."""

from __future__ import annotations

import asyncio
import sys

import anthropic
import openai

ROOT = sys.argv[1]
ASK = [{"role": "user", "content": "Where is order A1?"}]
TOOL = {"name": "find_order", "input_schema": {"type": "object", "properties": {"order": {"type": "string"}}}}


def loop() -> None:
    """Two turns with a tool between them."""
    client = anthropic.Anthropic(base_url=ROOT, api_key="none")
    history = [*ASK]
    for _ in range(3):
        answer = client.messages.create(model="claude-sonnet-4-6", max_tokens=64, messages=history, tools=[TOOL])
        uses = [block for block in answer.content if block.type == "tool_use"]
        if not uses:
            return
        results = [{"type": "tool_result", "tool_use_id": use.id, "content": "A1 is in Oslo"} for use in uses]
        history = [*history, {"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]


async def streams() -> None:
    """The async SDKs, streamed and not."""
    async with (
        anthropic.AsyncAnthropic(base_url=ROOT, api_key="none") as client,
        client.messages.stream(model="claude-sonnet-4-6", max_tokens=64, messages=ASK) as stream,
    ):
        await stream.get_final_message()
    async with openai.AsyncOpenAI(base_url=f"{ROOT}/v1", api_key="none") as client:
        chunks = await client.chat.completions.create(model="gpt-5.5", messages=ASK, stream=True, stream_options={"include_usage": True})
        async for _ in chunks:
            pass
        await client.responses.create(model="gpt-5.5", input="Where is order A1?", reasoning={"effort": "high"})


loop()
asyncio.run(streams())
with openai.OpenAI(base_url=f"{ROOT}/v1", api_key="none") as plain:
    plain.chat.completions.create(model="gpt-5.5", messages=ASK)
print("done")
