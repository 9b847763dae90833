"""Reports as tables: plain text by itself, through ``rich`` where a terminal and the package are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TextIO


@dataclass(frozen=True, slots=True)
class Table:
    """One table; without ``columns`` a list of facts (name, value). The first column is text, the others numbers."""

    title: str
    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    note: str = ""


def cell(value: Any) -> str:
    """A value as a person reads it; nothing for an absent one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.1f}"
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)


def counted(number: int, noun: str, more: str = "") -> str:
    """A number and its noun. ``more``: the noun of several, by default with an s."""
    return f"{number:,} {noun if number == 1 else more or noun + 's'}"


def percent(value: float | None) -> str:
    """A share in percent."""
    return "" if value is None else f"{value * 100:.1f} %"


def facts(title: str, pairs: Iterable[tuple[str, Any]], note: str = "") -> Table:
    """A list of facts without the absent ones."""
    return Table(title, [(name, cell(value)) for name, value in pairs if value is not None and value != ""], note=note)


def plain(tables: Iterable[Table]) -> str:
    """All tables as text."""
    return "\n\n".join(_plain(table) for table in tables if table.rows)


def _plain(table: Table) -> str:
    lines = [table.columns, *table.rows] if table.columns else table.rows
    widths = [max(len(row[place]) for row in lines) for place in range(len(lines[0]))]
    body = ["  " + "  ".join(_aligned(text, widths, place) for place, text in enumerate(row)).rstrip() for row in lines]
    return "\n".join([table.title, *body, *([f"  {table.note}"] if table.note else [])])


def _aligned(text: str, widths: Sequence[int], place: int) -> str:
    return text.rjust(widths[place]) if place else text.ljust(widths[place])


def show(tables: Iterable[Table], out: TextIO) -> None:
    """Print to ``out``: with ``rich`` on a terminal, else as plain text."""
    if out.isatty() and find_spec("rich") is not None:
        _show_rich(tables, out)
    else:
        out.write(plain(tables) + "\n")


def _show_rich(tables: Iterable[Table], out: TextIO) -> None:
    console = import_module("rich.console").Console(file=out)
    for table in tables:
        if table.rows:
            console.print(_rich(table))


def _rich(table: Table) -> Any:
    """The cells as text objects, so that nothing in them is read as markup."""
    text = import_module("rich.text").Text
    made = import_module("rich.table").Table(
        title=text(table.title, style="bold"), title_justify="left", box=None, show_header=bool(table.columns),
        caption=text(table.note) if table.note else None, caption_justify="left",
    )  # fmt: skip
    for place, name in enumerate(table.columns or table.rows[0]):
        made.add_column(text(name), justify="right" if place else "left")
    for row in table.rows:
        made.add_row(*map(text, row))
    return made
