"""A small reference loop: optional, provider-neutral, and meant to be read.

```python
loop = Loop(
    AnthropicMessages(anthropic.Anthropic(), model="claude-sonnet-4-6", max_tokens=4096),
    Toolbox([Tool("find_order", find_order, effect="read"), Tool("issue_refund", issue_refund, effect="write")]),
    budget=Budget(turns=10, input_tokens=200_000, seconds=120),
)
outcome = loop.run("Where is order 4711?")
```

With an asynchronous client, and tools of both kinds: ``AsyncLoop(...)`` and ``await loop.run(...)``. What a loop does next is decided in
one place (:mod:`otel_agent.loop.decisions`), which does nothing itself; the two loops are its drivers.

What it shows: a turn goes back exactly as it came; reads run together and writes one at a time, in the order given;
phase, policy and approval are the executor's business and come back as error results; a failing tool is an observation;
a long result is cut with a mark; a budget ends the run with its own reason; nothing that a tool returns opens a gate;
an interrupt leaves no call without an answer, so that the transcript can be gone on with.
"""

from __future__ import annotations

from otel_agent.loop.anthropic_messages import AnthropicMessages
from otel_agent.loop.decisions import BUDGET, Outcome
from otel_agent.loop.loop import AsyncLoop, Loop
from otel_agent.loop.openai_chat import OpenAIChat
from otel_agent.loop.openai_responses import OpenAIResponses
from otel_agent.loop.toolbox import InvalidArguments, Tool, Toolbox, UnknownTool
from otel_agent.loop.turns import Call, Declared, ModelAdapter, Result, Turn

__all__ = [
    "BUDGET", "AnthropicMessages", "AsyncLoop", "Call", "Declared", "InvalidArguments", "Loop", "ModelAdapter",
    "OpenAIChat", "OpenAIResponses", "Outcome", "Result", "Tool", "Toolbox", "Turn", "UnknownTool",
]  # fmt: skip
