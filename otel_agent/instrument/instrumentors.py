"""Entry points for ``opentelemetry-instrument``, one per SDK. Needs the extra ``auto``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

from otel_agent.instrument.setup import OLDEST, instrument, uninstrument


class _SdkInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    sdk: ClassVar[str]

    def instrumentation_dependencies(self) -> Collection[str]:
        """Versions it is loaded for."""
        return (f"{self.sdk} >= {OLDEST[self.sdk]}",)

    def _instrument(self, **kwargs: Any) -> None:
        names = ("tracer_provider", "meter_provider", "logger_provider")
        instrument(*(kwargs.get(name) for name in names), sdks=(self.sdk,))

    def _uninstrument(self, **kwargs: Any) -> None:
        uninstrument((self.sdk,))


class AnthropicInstrumentor(_SdkInstrumentor):
    """Observes the anthropic SDK."""

    sdk = "anthropic"


class OpenAIInstrumentor(_SdkInstrumentor):
    """Observes the openai SDK."""

    sdk = "openai"
