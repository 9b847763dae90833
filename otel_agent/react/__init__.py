r"""The text protocol (Thought, Action, Action Input, Observation, Final Answer) as facts, for agents that speak it.

```python
parser = StepParser({"search": {"properties": {"query": {"type": "string"}}, "required": ["query"]}})
step = parser.parse(reply)
if step.tool is not None:
    history += reply[: step.end] + f"\nObservation: {tools[step.tool](**step.arguments)}\n"
```

Each step is recorded: its outcome, its tool, whether the input fits the declared schema, how much text around it is
sent again with every later request. The thought is dropped. :mod:`otel_agent.analysis.migration` reports on the records.
"""

from __future__ import annotations

from otel_agent.react.steps import Step, StepParser

__all__ = ["Step", "StepParser"]
