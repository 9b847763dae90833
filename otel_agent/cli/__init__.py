"""The command line: ``otel-agent VERB``. Each verb is a module with ``add(parsers)`` and a function that returns the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from otel_agent.cli import demo, digests, doctor, economics, launch, local, prune, runs, verify
from otel_agent.cli.extras import MissingExtra
from otel_agent.instrument.runtime import package_version
from otel_agent.settings import SettingsError

VERBS: Final = (demo, launch, local, runs, prune, economics, doctor, verify, digests)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    made = argparse.ArgumentParser(
        prog="otel-agent",
        description="Observability for LLM agents: facts, never thinking text.",
        epilog="Where records go is set by the standard OTEL_EXPORTER_OTLP_* variables.",
    )
    made.add_argument("--version", action="version", version=package_version())
    parsers = made.add_subparsers(required=True, metavar="VERB")
    for verb in VERBS:
        verb.add(parsers)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Exit codes: 0 done, 1 the answer is bad news, 2 it could not be asked (with the remedy on standard error)."""
    chosen = parser().parse_args(arguments)
    try:
        return int(chosen.act(chosen))
    except (SettingsError, MissingExtra) as error:
        print(f"otel-agent: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
