"""``otel-agent runs`` and ``otel-agent show RUN``: look into the store."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from otel_agent.cli import numbers
from otel_agent.cli.extras import need
from otel_agent.settings import data_home


def add(parsers: Any) -> None:
    """Mount both verbs."""
    listing = parsers.add_parser(
        "runs",
        help="list recorded runs, marked where something went wrong",
        description="Lists recorded runs, newest first, with flags and a few reasons of each run, and below them the calls that were made "
        "outside any run. A narrow terminal gets fewer columns; --json has everything.",
    )
    listing.add_argument("--limit", type=numbers.count, default=50, help="how many, newest first (default: %(default)s)")
    listing.add_argument("--agent", help="only runs of this agent")
    listing.set_defaults(act=list_runs)
    one = parsers.add_parser(
        "show",
        help="one run as a tree of turns and tools",
        description="Shows one run, or one trace outside any run, as a tree: flags, turns with their tool executions, then what belongs to "
        "no turn.",
    )
    one.add_argument("run", metavar="RUN", help="a run's id, or the beginning of one")
    one.set_defaults(act=show_run)
    for verb in (listing, one):
        verb.add_argument("--store", type=Path, help="the file (default: in the user's data folder)")
        verb.add_argument("--json", action="store_true", help="print JSON")


def store_path(arguments: argparse.Namespace) -> Path:
    """The store that was named, or the usual one."""
    from otel_agent.local.settings import default_path

    return arguments.store or default_path(data_home())


def list_runs(arguments: argparse.Namespace) -> int:
    """``otel-agent runs``."""
    need("local")
    from otel_agent.local import reader, render
    from otel_agent.local.store import StoreError

    try:
        found = reader.runs(store_path(arguments), limit=arguments.limit, agent=arguments.agent)
    except StoreError as error:
        return _cannot(error)
    _print(found, arguments.json, partial(render.render_runs, agent=arguments.agent))
    return 0


def show_run(arguments: argparse.Namespace) -> int:
    """``otel-agent show RUN``."""
    need("local")
    from otel_agent.local import reader, render
    from otel_agent.local.store import StoreError

    try:
        path = store_path(arguments)
        found = reader.show(path, arguments.run)
        why = "" if found is not None else reader.why_none(path, arguments.run)
    except StoreError as error:
        return _cannot(error)
    if found is None:
        print(f"otel-agent show: {why}", file=sys.stderr)
        return 1
    _print(found, arguments.json, render.render_run)
    return 0


def _print(found: Any, as_json: bool, render: Any) -> None:
    if as_json:
        print(json.dumps(found, indent=2, default=str))
        return
    from rich.console import Console

    class Piped(Console):
        """Leaves a closed pipe to the command line, which tells it from bad news."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    Piped().print(render(found))


def _cannot(error: Exception) -> int:
    print(f"otel-agent: {error}", file=sys.stderr)
    return 2
