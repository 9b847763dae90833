"""Runs at the start of every interpreter under ``otel-agent run``: observe the SDKs, then let the host's own start-up code run."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

_here = str(Path(__file__).parent)


def _host_customization() -> None:
    """Load the ``sitecustomize`` that this one hides, if there is one."""
    elsewhere = [entry for entry in sys.path if entry and Path(entry).resolve() != Path(_here).resolve()]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _observe() -> None:
    """Telemetry must not keep the program from starting: an unusable installation or setting is reported and that is all."""
    try:
        from otel_agent.instrument.setup import instrument
        from otel_agent.settings import SettingsError
    except ImportError:
        print("otel-agent run: otel_agent is not installed in this interpreter; it is not observed", file=sys.stderr)
        return
    try:
        instrument()
    except SettingsError:
        print("otel-agent run: a setting cannot be used, so this process is not observed; otel-agent doctor says which", file=sys.stderr)


try:
    _observe()
finally:  # whatever it raises, Python says so and goes on: the host's code must have run by then
    _host_customization()
