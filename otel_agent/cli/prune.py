"""``otel-agent prune``: remove old records from the store and give the space back."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from otel_agent.cli import numbers
from otel_agent.cli.extras import need
from otel_agent.cli.runs import store_path


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser(
        "prune",
        help="remove old records from the store",
        description="Removes what was received longer ago than so many days, but for what belongs to a run with younger records, and gives "
        "the space back. A receiver that runs uses the space again, and the file keeps its size. Without this verb, and without otel-agent "
        "local --keep, everything is kept.",
    )
    verb.add_argument("--keep", type=numbers.days, required=True, metavar="DAYS", help="keep the records of so many days")
    verb.add_argument("--store", type=Path, help="the file (default: in the user's data folder)")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(act=act)


def act(arguments: argparse.Namespace) -> int:
    """Prune, here or in the receiver that holds the file, and say what came of it."""
    need("local")
    from otel_agent.local import reader, retention
    from otel_agent.local.store import StoreError, exists

    path = store_path(arguments)
    try:
        if sys.stderr.isatty() and exists(path):
            print(f"pruning {path} ({retention.size(path) / 1_000_000:,.1f} MB) ...", file=sys.stderr)
        found = reader.prune(path, arguments.keep)
    except StoreError as error:
        print(f"otel-agent prune: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2) if arguments.json else retention.summary(found, arguments.keep))
    return 0
