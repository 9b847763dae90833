"""Thousands of runs, a third failing, a third cancelled; says what is left of them. Arguments: number of runs."""

import asyncio
import gc
import json
import resource
import sys
import threading
from pathlib import Path

import otel_agent
from otel_agent.instrument import raw, state, streams


@otel_agent.tool
async def weigh(parcel: str) -> str:
    """A tool that fails or waits to be cancelled, when told to."""
    if parcel == "wait":
        await asyncio.sleep(600)
    if parcel == "fail":
        raise ValueError("no such parcel")
    return parcel


def resident() -> int:
    """Resident bytes now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


async def one(kind: str) -> None:
    """One run."""
    async with otel_agent.agent_run("keeper"):
        await weigh(kind)


async def many(count: int) -> list[int]:
    """All of them, in handfuls; resident bytes after each tenth."""
    sizes = []
    for number in range(0, count, 30):
        tasks = [asyncio.create_task(one(("ok", "fail", "wait")[n % 3])) for n in range(30)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks[2::3]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if number % (count // 10) < 30:
            gc.collect()
            sizes.append(resident())
    return sizes


otel_agent.instrument()
before = threading.active_count()
sizes = asyncio.run(many(int(sys.argv[1])))
gc.collect()
left = {
    "runs": sum(isinstance(thing, state.Run) for thing in gc.get_objects()),
    "waiting": len(state._WAITING),
    "taps": len(streams._taps),
    "raw": len(raw._waiting),
    "threads": threading.active_count() - before,
}
print(json.dumps({"left": left, "sizes": sizes}))
