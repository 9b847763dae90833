"""What a board consists of, as data: rows of panels, each with its queries, its unit and a text for the person on call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["lines", "bars", "stat", "table", "states", "trace"]


@dataclass(frozen=True, slots=True)
class Metrics:
    """A PromQL query. ``exemplar``: fetch the traces behind it. ``instant``: the value at the end of the range only."""

    expr: str
    legend: str = ""
    exemplar: bool = False
    instant: bool = False


@dataclass(frozen=True, slots=True)
class Logs:
    """A LogsQL query over the log records."""

    expr: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace by its id."""

    trace_id: str


Query = Metrics | Logs | Trace


@dataclass(frozen=True, slots=True)
class Link:
    """A link on the cells of a table."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. ``description`` says what is shown, when it is bad and what to look at next. ``limit`` draws a threshold."""

    key: str
    title: str
    description: str
    unit: str
    kind: Kind
    queries: tuple[Query, ...] = ()
    limit: float | None = None
    stacked: bool = False
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A titled group of panels."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A variable typed in by hand or set by a link."""

    name: str
    label: str
    description: str


@dataclass(frozen=True, slots=True)
class Values:
    """A variable offering the values of an attribute that a metric carries."""

    name: str
    label: str
    metric: str
    attribute: str


Variable = Text | Values


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard."""

    key: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def uid(self) -> str:
        """Grafana's name for the board; links and alerts use it."""
        return f"otel-agent-{self.key}"

    def panels(self) -> Iterator[tuple[int, Panel]]:
        """Every panel with its id."""
        return enumerate((panel for row in self.rows for panel in row.panels), start=1)
