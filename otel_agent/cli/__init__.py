"""The command line: ``otel-agent VERB``. Each verb is a module with ``add(parsers)`` and a function that returns the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

from otel_agent.cli import demo, digests, doctor, economics, launch, local, prune, runs, verify
from otel_agent.cli.extras import MissingExtra
from otel_agent.instrument.runtime import package_version
from otel_agent.settings import SettingsError

VERBS: Final = (demo, launch, local, runs, prune, economics, doctor, verify, digests)
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


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
    """Run one verb. Exit codes: 0 done, 1 the answer is bad news, 2 it could not be asked (with the remedy on standard error).

    Also 130 after Ctrl-C, and 141 where the reader of a pipe left, as a shell says it of other programs.
    """
    _say_anything()
    try:
        chosen = parser().parse_args(arguments)
        code = int(chosen.act(chosen))
        sys.stdout.flush()
    except (SettingsError, MissingExtra) as error:
        print(f"otel-agent: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more at its end; what is left over goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return code


def _say_anything() -> None:
    """A path or a name that the terminal's encoding lacks is written with escapes; it is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
