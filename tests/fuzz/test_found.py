"""What the generated cases found once, in its smallest form."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

import otel_agent
from otel_agent.testing import capture

from .wires import Wire, client, stream_of

ASK: Any = {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": [{"role": "user", "content": "Where?"}], "stream": True}


@pytest.mark.parametrize("kind", [["ping"], {"type": "ping"}, None, 7], ids=repr)
def test_an_event_whose_type_is_no_word(kind: Any) -> None:
    """Inside a run, an event type that cannot be hashed failed the look at it."""
    event = b'event: message_delta\ndata: {"type":%b,"delta":{},"usage":{}}\n\n' % json.dumps(kind).encode()
    made: anthropic.Anthropic = client("anthropic", Wire(stream_of([event])), is_async=False)
    with capture() as telemetry, otel_agent.agent_run("keeper"):
        list(made.messages.create(**ASK))
    assert len(telemetry.turns) == 1


@pytest.mark.parametrize("status", [["error"], {"is": "error"}, None, 7, "failure"], ids=repr)
def test_a_tool_result_whose_status_is_no_word(status: Any) -> None:
    """A framework's result with a status that cannot be hashed failed the look at it."""
    weigh = otel_agent.tool("weigh")(lambda: {"toolUseId": "1", "status": status})
    with capture() as telemetry:
        assert weigh() == {"toolUseId": "1", "status": status}
    assert telemetry.tools[0]["otel_agent.tool.outcome"] == ("error" if status == "failure" else "ok")
