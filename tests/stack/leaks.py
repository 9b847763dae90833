"""Starts the application that leaks, with a text of its own for each place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from otel_agent.testing.canaries import Canaries
from otel_agent.testing.standin import Failure, Redacted, Reply, Standin, Text, Thinking, ToolUse
from tests.stack.addresses import Stack
from tests.stack.build import ROOT
from tests.stack.stage import LIMIT, environment

LEAKS = {
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_and_event",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}


def scripts(standin: Standin, canaries: Canaries) -> None:
    def think(place: str) -> Thinking:
        return Thinking(canaries[place], summary=canaries[f"{place}.summary"])

    standin.script("leaky", [
        Reply([think("first"), Redacted(canaries["sealed"]), ToolUse("look_up", {"number": 1})]),
        Reply([think("second"), Text(canaries["anthropic.text"])]),
    ])  # fmt: skip
    standin.script("refused", [Failure(400, message=canaries["error.body"])])
    standin.script("leaky-openai", [
        Reply([think("stream"), Text(canaries["chat.content"])]),
        Reply([Text(f"Thought: {canaries['thought']}\nFinal Answer: {canaries['answer']}")]),
        Reply([think("responses"), Text(canaries["responses.output_text"])]),
    ], flavour="deepseek")  # fmt: skip


def leak(stack: Stack, standin: Standin, control: Path) -> None:
    """Run it to its end. ``scripts`` must have been given to the stand-in just before."""
    command = [sys.executable, "-m", "tests.stack.leaky_host", standin.url(), str(control)]
    subprocess.run(command, cwd=ROOT, env=environment(stack, "leaky", **LEAKS), timeout=LIMIT, check=True)
