"""A script for poking at the stand-in by hand: think, call the first tool offered once, then answer."""

from __future__ import annotations

from typing import Any

from otel_agent.testing.standin.request import Request, as_dict, as_list
from otel_agent.testing.standin.script import Reply, Text, Thinking, ToolUse

_SAMPLES = {"string": "example", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def think_call_answer(request: Request) -> Reply:
    """A reply that fits any request."""
    if request.tool_names and not request.answers_tools:
        call = ToolUse(request.tool_names[0], _sample_arguments(as_list(request.sent("tools"))[0]))
        return Reply([Thinking("A tool can tell; I shall ask it first."), call])
    said = request.last_user_text or "nothing"
    return Reply([Thinking("There is enough to answer with."), Text(f"You said: {said[:200]}")])


def _sample_arguments(tool: Any) -> dict[str, Any]:
    function = as_dict(as_dict(tool).get("function")) or as_dict(tool)
    schema = as_dict(function.get("input_schema") or function.get("parameters"))
    properties = as_dict(schema.get("properties"))
    return {name: _SAMPLES.get(str(as_dict(kind).get("type")), "example") for name, kind in properties.items()}
