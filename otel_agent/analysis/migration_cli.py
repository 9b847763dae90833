"""``otel-agent migration RUN...``: text protocol and typed calls side by side, from recorded runs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from otel_agent.analysis import migration
from otel_agent.analysis.economics_cli import RunsReader
from otel_agent.analysis.migration_tables import tables
from otel_agent.analysis.tables import show

HELP = "compare stages of a migration from Thought/Action/Observation to typed tool calls"

DESCRIPTION = (
    "Compares stages of a migration from Thought/Action/Observation to typed tool calls, side by side: requests, tokens, inputs that "
    "do not fit, tool failures. Runs of one stage are taken together."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "runs", nargs="+", metavar="[STAGE=]RUN",
        help="a recorded run's id, or the beginning of one; the stage is by default the one its text steps name, or typed",
    )  # fmt: skip
    parser.add_argument("--store", type=Path, help="the store's file (default: in the user's data folder)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, runs_reader: RunsReader) -> int:
    """Answer; 0, or 2 with the reason on standard error. ``runs_reader`` is asked once for each run, as ``arguments.run``."""
    found: list[migration.Run] = []
    seen: set[str] = set()
    for named in arguments.runs:
        stage, _, run_id = named.rpartition("=")
        recorded = runs_reader(argparse.Namespace(**{**vars(arguments), "run": run_id}))
        if recorded is None:
            print(f"otel-agent migration: there is no run {run_id}; otel-agent runs lists them", file=sys.stderr)
            return 2
        if (identity := _identity(recorded, run_id)) in seen:
            print(f"otel-agent migration: {run_id} is a run that is named already; name each run once", file=sys.stderr)
            return 2
        seen.add(identity)
        found.append(_run(recorded, run_id, stage or None))
    report = migration.report(found)
    if arguments.json:
        print(json.dumps(migration.as_json(report)))
    else:
        show(tables(report), sys.stdout)
    return 0


def _identity(recorded: Any, named: str) -> str:
    """Which run it is, since each may be named by more or fewer letters of its id; what is outside any run is known by its trace."""
    return str(recorded.get("run_id") or recorded.get("trace_id") or named)


def _run(recorded: Any, run_id: str, stage: str | None) -> migration.Run:
    """A run as the local store shows it: executions hang on the turn that asked for them, or on none."""
    turns = recorded["turn_records"]
    tools = [tool for turn in turns for tool in turn.get("executions", ())] + list(recorded.get("executions", ()))
    gathered = migration.runs_of(recorded.get("steps", ()), turns, tools)
    return migration.Run(
        run_id,
        [step for run in gathered for step in run.steps],
        [turn for run in gathered for turn in run.turns],
        [tool for run in gathered for tool in run.tools],
        stage,
    )
