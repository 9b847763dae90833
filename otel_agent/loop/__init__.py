"""A small reference loop: optional, provider-neutral, and meant to be read.

```python
loop = Loop(
    AnthropicMessages(anthropic.Anthropic(), model="claude-sonnet-4-6", max_tokens=4096),
    Toolbox([Tool("find_order", find_order, effect="read"), Tool("issue_refund", issue_refund, effect="write")]),
    budget=Budget(turns=10, input_tokens=200_000, seconds=120),
)
outcome = loop.run("Where is order 4711?")
```

What it shows: a turn goes back exactly as it came; reads run together and writes one at a time, in the order given;
phase, policy and approval are the executor's business and come back as error results; a failing tool is an observation;
a long result is cut with a mark; a budget ends the run with its own reason; nothing that a tool returns opens a gate.
"""

from __future__ import annotations

from otel_agent.loop.anthropic_messages import AnthropicMessages
from otel_agent.loop.loop import BUDGET, Loop, Outcome
from otel_agent.loop.openai_chat import OpenAIChat
from otel_agent.loop.openai_responses import OpenAIResponses
from otel_agent.loop.toolbox import Executor, InvalidArguments, Tool, Toolbox, UnknownTool
from otel_agent.loop.turns import Call, Declared, ModelAdapter, Result, Turn

__all__ = [
    "BUDGET", "AnthropicMessages", "Call", "Declared", "Executor", "InvalidArguments", "Loop", "ModelAdapter",
    "OpenAIChat", "OpenAIResponses", "Outcome", "Result", "Tool", "Toolbox", "Turn", "UnknownTool",
]  # fmt: skip
