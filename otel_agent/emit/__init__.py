"""The one door to OpenTelemetry: records in, spans, metrics and log records out. Nothing else in this package sets an attribute."""

from __future__ import annotations

from otel_agent.emit.emitter import Emitter, Started

__all__ = ["Emitter", "Started"]
