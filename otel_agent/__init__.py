"""Observability for LLM agents on OpenTelemetry: the record of what an agent did, with no place for the story it told.

``import otel_agent; otel_agent.instrument()`` observes the installed provider SDKs. See the README for the rest.
"""

from __future__ import annotations

from otel_agent.budget import Budget, BudgetExceeded
from otel_agent.instrument.events import feedback, retrieval
from otel_agent.instrument.runs import ActiveRun, agent_run
from otel_agent.instrument.setup import Report, flush, instrument, shutdown, status, uninstrument
from otel_agent.instrument.tool_spec import Decision, Governance, Principal, ToolCallView, ToolDenied
from otel_agent.instrument.tools import tool, tool_call, wrap_dispatcher, wrap_tools
from otel_agent.settings import Settings, SettingsError

__all__ = [
    "ActiveRun", "Budget", "BudgetExceeded", "Decision", "Governance", "Principal", "Report", "Settings", "SettingsError",
    "ToolCallView", "ToolDenied", "agent_run", "feedback", "flush", "instrument", "retrieval", "shutdown", "status", "tool",
    "tool_call", "uninstrument", "wrap_dispatcher", "wrap_tools",
]  # fmt: skip
