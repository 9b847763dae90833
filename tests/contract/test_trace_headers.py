"""Trace headers of requests: those that would be there without us, and no others."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import anthropic
import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from otel_agent import agent_run
from otel_agent.testing import Standin, capture
from otel_agent.testing.standin import Reply, Text

HOST = SpanContext(0x1234567890ABCDEF1234567890ABCDEF, 0x1234567890ABCDEF, is_remote=False, trace_flags=TraceFlags(1))
TRACE = {"traceparent", "tracestate", "baggage"}
CALLERS = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01"


def sent(observe: bool, host_span: bool, headers: dict[str, str], in_run: bool = False) -> list[tuple[str, str]]:
    """Trace headers of one request."""
    with Standin() as standin:
        standin.script("claude-sonnet-4-6", [Reply([Text("x")])])
        client = anthropic.Anthropic(base_url=standin.anthropic_url, api_key="none")

        def call() -> None:
            messages: Any = [{"role": "user", "content": "x"}]
            with trace.use_span(NonRecordingSpan(HOST)) if host_span else trace.use_span(trace.INVALID_SPAN):
                client.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=messages, extra_headers=headers)

        if observe:
            with capture() as seen, agent_run("headers") if in_run else nullcontext():
                call()
            assert len(seen.turns) == 1
        else:
            call()
        return [(name.lower(), value) for name, value in standin.requests[0].headers if name.lower() in TRACE]


@pytest.mark.parametrize("in_run", [False, True], ids=["no run", "in a run"])
@pytest.mark.parametrize("host_span", [False, True], ids=["no host span", "host span"])
@pytest.mark.parametrize("headers", [{}, {"traceparent": CALLERS}], ids=["no header", "the caller's header"])
def test_trace_headers_are_those_without_us(host_span: bool, headers: dict[str, str], in_run: bool) -> None:
    """Newer anthropic SDKs put the current trace context into requests: it must be the host's, never ours."""
    assert sent(observe=True, host_span=host_span, headers=headers, in_run=in_run) == sent(
        observe=False, host_span=host_span, headers=headers
    )
