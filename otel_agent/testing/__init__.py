"""Test kit: capture what is emitted, stand in for the providers, plant canaries.

``with capture() as telemetry, Standin() as provider: ...`` needs no network, no key and no extra package beyond the SDK under test.
With pytest, ``pytest_plugins = ["otel_agent.testing.plugin"]`` gives both as fixtures.
"""

from __future__ import annotations

from otel_agent.testing.canaries import Canaries
from otel_agent.testing.capture import TEST_KEY, Capture, capture
from otel_agent.testing.standin import Standin

__all__ = ["TEST_KEY", "Canaries", "Capture", "Standin", "capture"]
