"""What the demo shows at the end: each run with what it was meant to show, what was recorded, and what is marked and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from otel_agent.demo.scripts import SCENARIOS, Scenario

Facts = Mapping[str, Any]

GOOD: Final = "answered"
ROOMY: Final = 120
"""Columns from which on what is marked has room beside the numbers."""
NUMBERS: Final[Mapping[str, str]] = {"turns": "turns", "tools": "tool_calls", "tokens": "input_tokens"}


def summary(found: Mapping[str, Any]) -> RenderableType:
    """In the order of the scenarios. ``found``: what :func:`otel_agent.local.reader.runs` gives."""
    return Summary({str(run.get("agent_name")): run for run in found["runs"]})


class Summary:
    """A table where the terminal has room for it, else what is marked below each run."""

    def __init__(self, runs: Mapping[str, Facts]) -> None:
        self._runs = runs

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= ROOMY:
            yield self._table()
            return
        agents = max(len(scenario.name) for scenario in SCENARIOS)
        ends = max(_ended(self._runs.get(scenario.name)).cell_len for scenario in SCENARIOS)
        for scenario in SCENARIOS:
            run = self._runs.get(scenario.name)
            yield _head(scenario.name.ljust(agents), run, ends)
            yield Padding(_told(scenario, run), (0, 0, 0, 4))

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=True, header_style="bold")
        for name in ("agent", "ended", *NUMBERS):
            table.add_column(name, no_wrap=True, justify="right" if name in NUMBERS else "left")
        table.add_column("what it shows, and what is marked")
        for scenario in SCENARIOS:
            run = self._runs.get(scenario.name)
            numbers = (Text(_number(run, field)) for field in NUMBERS.values())
            table.add_row(Text(scenario.name), _ended(run), *numbers, _told(scenario, run))
        return table


def _head(agent: str, run: Facts | None, ends: int) -> Text:
    ended = _ended(run)
    ended.pad_right(ends - ended.cell_len)
    numbers = ((word, _number(run, field)) for word, field in NUMBERS.items())
    said = ", ".join(f"{number} {word.removesuffix('s') if number == '1' else word}" for word, number in numbers if number)
    return Text.assemble((agent, "bold"), "  ", ended, f"  {said}")


def _number(run: Facts | None, field: str) -> str:
    return "" if run is None or field not in run else f"{run[field]:,}"


def _ended(run: Facts | None) -> Text:
    if run is None:
        return Text("not recorded", style="bold red")
    ended = str(run.get("end_reason", run["state"]))
    return Text(ended, style="green" if ended == GOOD else "yellow")


def _told(scenario: Scenario, run: Facts | None) -> Group:
    return Group(Text(scenario.shows, style="dim", overflow="fold"), *_marks(run))


def _marks(run: Facts | None) -> Iterable[Text]:
    found = [] if run is None else run["flags"]
    return [Text.assemble((f"{flag['flag']}: ", "bold red"), flag["why"], overflow="fold") for flag in found]
