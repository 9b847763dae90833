"""The agent with the one line. Arguments: the provider's address."""

import runpy
from pathlib import Path

import otel_agent

otel_agent.instrument()
runpy.run_path(str(Path(__file__).with_name("agent.py")), run_name="__main__")
