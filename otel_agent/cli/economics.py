"""``otel-agent economics``: what a loop costs, planned or recorded."""

from __future__ import annotations

from typing import Any

from otel_agent.analysis import economics_cli


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser("economics", help="tokens a loop re-sends: a plan, or a recorded run")
    economics_cli.add_arguments(verb)
    verb.set_defaults(act=act)


def act(arguments: Any) -> int:
    """Answer."""
    return economics_cli.run(arguments, _turns)


def _turns(arguments: Any) -> Any:
    """Turns of the run that was named, as recorded."""
    from otel_agent.cli.extras import need

    need("local")
    from otel_agent.cli.runs import store_path
    from otel_agent.local import reader

    return reader.show(store_path(arguments), arguments.run)
