"""``otel-agent economics [RUN]``: what a recorded run's tokens went for, or what a planned one's will."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from otel_agent.analysis import economics
from otel_agent.analysis.economics import Plan, RunEconomics
from otel_agent.analysis.economics_tables import tables
from otel_agent.analysis.prices import Price, Prices, PricesError, load
from otel_agent.analysis.tables import show

RunsReader = Callable[[argparse.Namespace], Mapping[str, Any] | None]
"""Gives the run that the arguments name as the local store shows it (turns under ``turn_records``), or ``None``."""

HELP = "tokens and money of a run: read off a recorded one, or planned from --prefix, --growth and --turns"

DESCRIPTION = (
    "What the tokens of a run went for, turn by turn, and what a loop costs that sends everything again each turn. With a RUN: a recorded "
    "one. Without: a plan from --prefix, --growth and --turns. Money only with --prices."
)


class _Refused(Exception):
    """A question that cannot be answered; ``text`` says why."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def positive(text: str) -> int:
    """A whole number above zero."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """A whole number, zero included."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) >= least):
        raise argparse.ArgumentTypeError(f"must be a whole number, {least} or more")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="a recorded run's id, or the beginning of one; leave it out to plan one")
    parser.add_argument("--prefix", type=natural, help="tokens of the first request (plan)")
    parser.add_argument("--growth", type=natural, help="tokens that each turn adds (plan)")
    parser.add_argument("--turns", type=positive, help="turns of the plan, or of the projection of a recorded run")
    parser.add_argument("--output", type=natural, metavar="TOKENS", help="output tokens of each turn (plan)")
    parser.add_argument(
        "--prices",
        type=Path,
        metavar="FILE",
        help="TOML file with [models.NAME] input, cached_input, cache_write, output",
    )
    parser.add_argument("--model", help="model whose prices a plan takes, when the file lists several")
    parser.add_argument("--store", type=Path, help="the store's file (default: in the user's data folder)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, runs_reader: RunsReader) -> int:
    """Answer; 0, or 2 with the reason on standard error."""
    try:
        report = _recorded(arguments, runs_reader) if arguments.run else _planned(arguments)
    except PricesError as error:
        return _refuse(f"{arguments.prices}: {error.problem}")
    except _Refused as problem:
        return _refuse(problem.text)
    if arguments.json:
        print(json.dumps(economics.as_json(report)))
    else:
        show(tables(report), sys.stdout)
    return 0


def _refuse(reason: str) -> int:
    print(f"otel-agent economics: {reason}", file=sys.stderr)
    return 2


def _recorded(arguments: argparse.Namespace, runs_reader: RunsReader) -> RunEconomics:
    if arguments.prefix is not None or arguments.growth is not None or arguments.output is not None:
        raise _Refused("--prefix, --growth and --output plan a run; leave them out to read a recorded one")
    found = runs_reader(arguments)
    if found is None:
        raise _Refused(f"there is no run {arguments.run}; otel-agent runs lists them")
    prices = None if arguments.prices is None else load(arguments.prices)
    report = economics.of_run(found["turn_records"], project_to=arguments.turns, prices=prices)
    if prices is not None and report.bill is None:
        raise _Refused(f"{arguments.prices} lists no model of this run whose usage is known")
    return report


def _planned(arguments: argparse.Namespace) -> Plan:
    needed = {f"--{name}": getattr(arguments, name) for name in ("prefix", "growth", "turns")}
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise _Refused(f"give a RUN, or all of --prefix, --growth and --turns (missing: {', '.join(missing)})")
    prices = None if arguments.prices is None else load(arguments.prices)
    price = None if prices is None else _price(prices, arguments.model)
    currency = None if prices is None else prices.currency
    if arguments.turns > economics.MOST_TURNS:
        raise _Refused(f"--turns of a plan is at most {economics.MOST_TURNS:,}")
    return economics.plan(arguments.prefix, arguments.growth, arguments.turns, arguments.output, price=price, currency=currency)


def _price(prices: Prices, model: str | None) -> Price:
    if model is None and len(prices.models) == 1:
        return next(iter(prices.models.values()))
    found = prices.find(model)
    if found is None:
        raise _Refused(f"--model must be one that the file lists: {', '.join(sorted(prices.models))}")
    return found
