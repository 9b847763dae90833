"""What the history costs: a turn on 256 messages against a turn on one, by shape of the conversation.

Run ``python -m tests.benchmarks.history``. Prints microseconds per observation (both add the same two messages), what the old
messages add, and the ratio this means for a whole observed call. A call is taken as 6.5 spans of 30 attributes, measured in the same
run (130 us and 20 us on the idle machine that the budget was set on), so that a busy machine does not change the ratio much. Times are
of the thread's own work, not of its waiting.
"""

from __future__ import annotations

import gc
import time
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock
from opentelemetry.sdk.trace import TracerProvider

from otel_agent.digest import AnswerDigest, Digester
from otel_agent.history import History
from otel_agent.protocol import Conversation
from otel_agent.repeats import Repeats
from otel_agent.replay import Replay

SPANS_PER_CALL = 6.5
TOOLS = [
    {"name": f"tool_{at}", "description": "x" * 200, "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    for at in range(5)
]
DIGESTER = Digester.ephemeral()


def plain(at: int) -> dict[str, Any]:
    """Text in both directions."""
    return {"role": ("user", "assistant")[at % 2], "content": f"message {at} " * 20}


def result(at: int) -> dict[str, Any]:
    """A tool result as callers write it."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"tu_{at - 1}", "content": f"row {at} " * 50}]}


def dictionaries(at: int) -> dict[str, Any]:
    """A tool loop whose turns are dictionaries."""
    if at % 2 == 0:
        return result(at)
    blocks = [{"type": "text", "text": f"step {at}"}, {"type": "tool_use", "id": f"tu_{at}", "name": "f", "input": {"a": at, "b": "x"}}]
    return {"role": "assistant", "content": blocks}


def objects(at: int) -> dict[str, Any]:
    """A tool loop that appends ``response.content`` as it came."""
    if at % 2 == 0:
        return result(at)
    blocks = [TextBlock(type="text", text=f"step {at}"), ToolUseBlock(type="tool_use", id=f"tu_{at}", name="f", input={"a": at, "b": "x"})]
    return {"role": "assistant", "content": blocks}


def thinking(at: int) -> dict[str, Any]:
    """The same with a thinking block in each turn."""
    message = objects(at)
    if at % 2:
        message["content"].insert(0, ThinkingBlock(type="thinking", thinking="hm " * 200, signature=f"sig {at} " * 20))
    return message


def turn_cost(shape: Callable[[int], dict[str, Any]], old: int, repeat: int = 120) -> float:
    """Best time of one observation that finds ``old`` messages known and two new ones, in microseconds."""
    best = float("inf")
    for _ in range(repeat):
        items = [shape(at) for at in range(old)]
        history = History(DIGESTER)
        history.observe(Conversation(items, system="You are helpful. " * 20, tools=TOOLS))
        items = [*items, shape(old), shape(old + 1)]
        conversation = Conversation(items, system="You are helpful. " * 20, tools=TOOLS)
        best = min(best, _once(partial(history.observe, conversation)))
    return best


def _once(run: Callable[[], Any]) -> float:
    gc.disable()
    try:
        return timeit.timeit(run, number=1, timer=time.thread_time) * 1e6
    finally:
        gc.enable()


def each(run: Callable[[], Any], number: int = 2000, repeat: int = 15) -> float:
    """Best mean time of ``run`` in microseconds."""
    return min(timeit.repeat(run, number=number, repeat=repeat, timer=time.thread_time)) / number * 1e6


def replay_cost() -> float:
    """A check in a loop of 64 reasoning turns."""
    items = [thinking(at) for at in range(128)] + [result(128)]
    replay = Replay()
    for item in items:
        if item["role"] == "assistant":
            replay.remember(item["content"])
    return each(lambda: replay.check(Conversation(items), "messages"))


def call_cost() -> float:
    """A whole observed call on this machine now, by the cost of a span."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("bench")
    attributes = {f"name.{at}": "value" for at in range(30)}
    return SPANS_PER_CALL * each(lambda: tracer.start_span("chat", attributes=attributes).end(), 500)


def main() -> None:
    """Print the table."""
    whole = call_cost()
    print(f"a whole call: {whole:.0f} us")
    print(f"{'conversation':<16}{'1 old':>9}{'256 old':>9}{'added':>9}{'ratio':>9}")
    for shape in (plain, dictionaries, objects, thinking):
        short, long = turn_cost(shape, 1), turn_cost(shape, 256)
        print(f"{shape.__name__:<16}{short:>9.1f}{long:>9.1f}{long - short:>9.1f}{1 + (long - short) / whole:>9.2f}")
    arguments, answer, repeats = {"path": "/a/b", "limit": 20, "deep": True}, AnswerDigest(DIGESTER), Repeats()
    print(f"digest of small arguments      {each(lambda: DIGESTER.digest(arguments)):.2f} us")
    print(f"  with one digest per argument {each(lambda: DIGESTER.arguments(arguments, ('path', 'limit', 'deep'))):.2f} us")
    print(f"answer, per piece              {each(lambda: answer.update('and so on')):.2f} us")
    print(f"replay check                   {replay_cost():.2f} us")
    print(f"repeats, per call              {each(lambda: repeats.observe('f', 'hmac-sha256:k:00')):.2f} us")


if __name__ == "__main__":
    main()
