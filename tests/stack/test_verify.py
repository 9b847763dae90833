"""``otel-agent verify`` on the whole pipeline: through the shipped gateway clean, straight into a backend a leak."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.stack.build import ROOT
from tests.stack.native import NativeStack
from tests.stack.stage import LIMIT, environment

pytestmark = pytest.mark.stack


def verified(native: NativeStack, *arguments: str, **variables: str) -> tuple[int, Any]:
    """The verb's exit code and its report."""
    command = [sys.executable, "-m", "otel_agent.cli", "verify", "--json", *arguments]
    own = environment(native.stack, "anything", **variables)
    ran = subprocess.run(command, cwd=ROOT, env=own, stdout=subprocess.PIPE, timeout=LIMIT * 2, check=False)
    return ran.returncode, json.loads(ran.stdout)


def test_the_shipped_pipeline_is_clean_at_every_far_end(native: NativeStack) -> None:
    """Every turn arrived at all three; what others leak did not."""
    stack = native.stack
    code, report = verified(native, "--jaeger", stack.jaeger, "--prometheus", stack.prometheus, "--logs", stack.logs)
    assert [finding["found"] for finding in report["findings"]] == [[], [], []]
    assert [finding["arrived"] for finding in report["findings"]] == [finding["expected"] for finding in report["findings"]]
    assert code == 0


def test_backends_without_a_guard_in_front_leak(native: NativeStack) -> None:
    """The control: the same far ends show what is sent to them directly."""
    straight = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{native.ports.jaeger_http}/v1/traces",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{native.stack.prometheus}/api/v1/otlp/v1/metrics",
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": f"{native.stack.logs}/insert/opentelemetry/v1/logs",
    }
    stack = native.stack
    code, report = verified(native, "--jaeger", stack.jaeger, "--prometheus", stack.prometheus, "--logs", stack.logs, **straight)
    jaeger, prometheus, logs = (set(finding["found"]) for finding in report["findings"])
    assert {"anthropic-sdk: anthropic.thinking", "foreign.span.attribute", "foreign.status.message"} <= jaeger
    assert "foreign.metric.label" in prometheus
    assert {"foreign.log.body", "foreign.log.nested_body"} <= logs
    assert code == 1
