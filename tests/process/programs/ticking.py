"""Calls a model while a task ticks; says how the loop fared. Arguments: provider, number of calls, ``hot`` to leave out the first call."""

import asyncio
import json
import sys
import time

import anthropic

import otel_agent

if sys.argv[3] == "observed":
    otel_agent.instrument()
ASK = {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": [{"role": "user", "content": "Where?"}]}


async def tick(gaps: list[float]) -> None:
    """Note how late each tick of five milliseconds is."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        gaps.append(time.perf_counter() - began - 0.005)


async def main() -> None:
    gaps: list[float] = []
    took: list[float] = []
    async with anthropic.AsyncAnthropic(base_url=sys.argv[1], api_key="none") as client:
        await client.messages.create(**ASK)
        ticking = asyncio.create_task(tick(gaps))
        for _ in range(int(sys.argv[2])):
            began = time.perf_counter()
            await client.messages.create(**ASK)
            took.append(time.perf_counter() - began)
        ticking.cancel()
    print(json.dumps({"took": sum(took), "median": sorted(took)[len(took) // 2], "late": max(gaps), "end": time.monotonic()}), flush=True)


asyncio.run(main())
