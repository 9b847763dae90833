"""Where a running stack listens, whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Stack:
    """Base addresses without a trailing slash; ``otlp_grpc`` is host:port."""

    kind: str  # native or docker
    otlp_grpc: str
    otlp_http: str
    prometheus: str
    alertmanager: str
    jaeger: str
    logs: str
    collector_metrics: str
    collector_health: str

    def lines(self) -> str:
        """One ``name address`` per line, for people and for shells."""
        return "\n".join(f"{field.name} {getattr(self, field.name)}" for field in fields(self))
