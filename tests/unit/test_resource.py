"""Who sends: the resource of the providers that are set up for a host that has none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from otel_agent.sdk import resource


def test_each_process_is_an_instance_of_its_own() -> None:
    """Under one name, the counters of two processes would be one series that jumps."""
    asked = "from otel_agent.sdk import resource; print(resource().attributes['service.instance.id'])"
    first, second = (subprocess.check_output([sys.executable, "-c", asked], text=True).strip() for _ in range(2))
    assert first
    assert first != second


def test_an_instance_that_is_given_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard variables decide."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=pod-7,deployment.environment.name=test")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    found = resource().attributes
    assert ("pod-7", "shop", "test") == (found["service.instance.id"], found["service.name"], found["deployment.environment.name"])


def test_no_command_line_is_in_it() -> None:
    """It may hold secrets."""
    assert not [name for name in resource().attributes if name.startswith("process.")]
