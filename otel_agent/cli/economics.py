"""``otel-agent economics`` and ``otel-agent migration``: what a loop costs, planned or recorded, and what a change of protocol brought."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from otel_agent.analysis import economics_cli, migration_cli
from otel_agent.cli.extras import need


def add(parsers: Any) -> None:
    """Mount both verbs."""
    for name, module in (("economics", economics_cli), ("migration", migration_cli)):
        verb = parsers.add_parser(name, help=module.HELP, description=module.DESCRIPTION)
        module.add_arguments(verb)
        verb.set_defaults(act=_reading(module.run))


def _reading(run: Callable[[Any, Any], int]) -> Callable[[Any], int]:
    """``run`` with a reader of the store, whose refusals are said and not raised."""

    def act(arguments: Any) -> int:
        try:
            return run(arguments, recorded)
        except Unreadable as refusal:
            print(f"otel-agent: {refusal}", file=sys.stderr)
            return 2

    return act


class Unreadable(RuntimeError):
    """The store cannot be read; the message is the store's own."""


def recorded(arguments: Any) -> Any:
    """The run that was named, as recorded; ``None`` when there is none."""
    need("local")  # a plan needs no store, so this is asked here
    from otel_agent.cli.runs import store_path
    from otel_agent.local import reader
    from otel_agent.local.store import StoreError

    try:
        path = store_path(arguments)
        found = reader.show(path, arguments.run)
        if found is None and reader.which(path, arguments.run):
            raise Unreadable(reader.why_none(path, arguments.run))
    except StoreError as error:
        raise Unreadable(str(error)) from None
    return found
