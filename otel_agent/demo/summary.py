"""What the demo shows at the end: each run with what it was meant to show, what was recorded, and what is marked and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from otel_agent.demo.scripts import SCENARIOS

Facts = Mapping[str, Any]

GOOD: Final = "answered"


def summary(found: Mapping[str, Any]) -> RenderableType:
    """A table in the order of the scenarios. ``found``: what :func:`otel_agent.local.reader.runs` gives."""
    runs = {str(run.get("agent_name")): run for run in found["runs"]}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=True, header_style="bold")
    for name in ("agent", "ended", "turns", "tools", "tokens"):
        table.add_column(name, no_wrap=True, justify="left" if name in {"agent", "ended"} else "right")
    table.add_column("what it shows, and what is marked")
    for scenario in SCENARIOS:
        run = runs.get(scenario.name)
        table.add_row(*_cells(scenario.name, run), Group(Text(scenario.shows, style="dim"), *_marks(run)))
    return table


def _cells(name: str, run: Facts | None) -> Iterable[Text]:
    if run is None:
        return Text(name), Text("not recorded", style="bold red"), Text(), Text(), Text()
    ended = str(run.get("end_reason", run["state"]))
    numbers = (str(run.get(field, "")) for field in ("turns", "tool_calls", "input_tokens"))
    return Text(name), Text(ended, style="green" if ended == GOOD else "yellow"), *(Text(number) for number in numbers)


def _marks(run: Facts | None) -> list[Text]:
    found = [] if run is None else run["flags"]
    return [Text.assemble((f"{flag['flag']}: ", "bold red"), flag["why"]) for flag in found]
