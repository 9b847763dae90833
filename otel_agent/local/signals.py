"""The three signals: where each arrives, how it is guarded, and which rows it becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

from otel_agent.allowlist import Allowlist
from otel_agent.local.guard import Removed, guard_logs, guard_metrics, guard_traces
from otel_agent.local.rows import Rows, log_rows, point_rows, span_rows
from otel_agent.local.wire import Path

RECORDS: Final = (frozenset({1}), frozenset({2}), frozenset({2}))
"""Field numbers from a request over its resource and scope groups to spans, metrics or log records."""
POINTS: Final = (*RECORDS, frozenset({5, 7, 9, 10, 11}), frozenset({1}))
"""The same, and on over each kind of metric to its data points."""

REJECTED: Final = "records without valid ids, or whose names the schema does not have, were not stored"


@dataclass(frozen=True, slots=True)
class Signal:
    """One OTLP service. ``rejected`` names the count in its partial success; ``way`` leads to its records."""

    name: str
    path: str
    service: str
    request: type[Message]
    response: type[Message]
    guard: Callable[[Any, Allowlist, Removed], int]
    rows: Callable[[Any], Rows]
    rejected: str
    way: Path

    def answer(self, rejected: int) -> Message:
        """The response: empty on full success, else how many records were not taken."""
        if not rejected:
            return self.response()
        return self.response(partial_success={self.rejected: rejected, "error_message": REJECTED})


SIGNALS: Final = (
    Signal(
        "traces", "/v1/traces", "opentelemetry.proto.collector.trace.v1.TraceService", ExportTraceServiceRequest,
        ExportTraceServiceResponse, guard_traces, span_rows, "rejected_spans",
        RECORDS,
    ),
    Signal(
        "metrics", "/v1/metrics", "opentelemetry.proto.collector.metrics.v1.MetricsService", ExportMetricsServiceRequest,
        ExportMetricsServiceResponse, guard_metrics, point_rows, "rejected_data_points",
        POINTS,
    ),
    Signal(
        "logs", "/v1/logs", "opentelemetry.proto.collector.logs.v1.LogsService", ExportLogsServiceRequest,
        ExportLogsServiceResponse, guard_logs, log_rows, "rejected_log_records",
        RECORDS,
    ),
)  # fmt: skip
