"""``python -m dashboards.pictures URL``: draws every board from its own queries over a real Prometheus, without Grafana.

The pictures show what the boards say, not how Grafana looks: same titles, queries, legends, units and thresholds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from dashboards import thresholds
from dashboards.boards import boards
from dashboards.panels import Board, Logs, Metrics, Panel, Row, Trace
from dashboards.results import Line, Range, Servers, Span, Variables, columns, logs, metrics, trace
from otel_agent import semconv as s

FOLDER: Final = Path(__file__).with_name("pictures")
WIDTH: Final = 3
"""Panels beside each other; tables and traces take the whole width."""
_HEIGHT: Final = 2.6
_COLOURS: Final = ("#3274d9", "#e0752d", "#37872d", "#a352cc", "#c4162a", "#0f8f8f", "#b8860b", "#7c7c7c", "#d6336c", "#5c940d")
_STYLE: Final = {
    "font.size": 7, "axes.titlesize": 8, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": "#888888", "axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.6,
    "xtick.color": "#555555", "ytick.color": "#555555", "legend.frameon": False, "legend.fontsize": 6, "svg.hashsalt": "otel-agent",
    "svg.fonttype": "none",
}  # fmt: skip
_UNITS: Final[Mapping[str, Callable[[float], str]]] = {
    "percentunit": lambda value: f"{value * 100:.3g} %",
    "s": lambda value: f"{value:.3g} s",
    "bytes": lambda value: f"{value / 2**20:.4g} MiB",
    "cpm": lambda value: f"{value:.3g} /min",
}


def label(unit: str, value: float) -> str:
    """A value as text in its panel's unit."""
    return _UNITS.get(unit, lambda plain: f"{plain:,.4g}" if plain < 10_000 else f"{plain:,.0f}")(value)


def draw(board: Board, servers: Servers, shown: Range, variables: Variables) -> tuple[Figure, list[str]]:
    """The board as one figure, and the panels (``board/panel``) that had nothing to show."""
    places = _places(board.rows)
    height = max(bottom for _, (_, _, bottom) in places)
    figure = Figure(figsize=(15, _HEIGHT * height), layout="constrained")
    grid = figure.add_gridspec(height, WIDTH)
    empty = []
    for panel, (row, columns_taken, _) in places:
        axes = figure.add_subplot(grid[row, columns_taken])
        axes.set_title(panel.title)
        if not _panel(axes, panel, servers, shown, variables):
            empty.append(f"{board.key}/{panel.key}")
            axes.text(0.5, 0.5, "no data in this range", ha="center", va="center", color="#999999", transform=axes.transAxes)
            axes.set_axis_off()
    figure.suptitle(f"{board.title}    {_clock(shown.start)} to {_clock(shown.end)} UTC", x=0.01, ha="left", weight="bold")
    return figure, empty


def _clock(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")


def _places(rows: Sequence[Row]) -> list[tuple[Panel, tuple[int, slice, int]]]:
    """Where each panel goes: its line, its columns, and the line below it. Every row of the board begins a new line."""
    places, line = [], 0
    for row in rows:
        column = 0
        for panel in row.panels:
            width = WIDTH if panel.kind in ("table", "trace") else 1
            if column + width > WIDTH:
                line, column = line + 1, 0
            places.append((panel, (line, slice(column, column + width), line + 1)))
            column += width
        line += 1
    return places


def _panel(axes: Any, panel: Panel, servers: Servers, shown: Range, variables: Variables) -> bool:
    if panel.kind == "trace":
        return _trace(axes, [span for query in panel.queries if isinstance(query, Trace) for span in trace(servers, query, shown, variables)])
    if panel.kind == "table":
        return _table(axes, [row for query in panel.queries if isinstance(query, Logs) for row in logs(servers, query, shown, variables)])
    lines = [line for query in panel.queries if isinstance(query, Metrics) for line in metrics(servers, query, shown, variables)]
    if lines:
        _KINDS[panel.kind](axes, panel, lines, shown)
    return bool(lines)


def _times(line: Line) -> list[datetime]:
    return [datetime.fromtimestamp(moment, UTC) for moment in line.times]


def _lines(axes: Any, panel: Panel, lines: Sequence[Line], shown: Range) -> None:
    for number, line in enumerate(lines):
        marker = "." if len(line.times) == 1 else ""
        axes.plot(_times(line), line.values, color=_COLOURS[number % len(_COLOURS)], linewidth=1.2, label=line.label, marker=marker)
    if panel.limit is not None:
        axes.axhline(panel.limit, color="#c4162a", linewidth=0.9, linestyle="--")
    _finish(axes, panel, lines, shown)


def _bars(axes: Any, panel: Panel, lines: Sequence[Line], shown: Range) -> None:
    floor: dict[float, float] = {}
    for number, line in enumerate(lines):
        bottoms = [floor.get(moment, 0.0) for moment in line.times]
        colour = _COLOURS[number % len(_COLOURS)]
        axes.bar(_times(line), line.values, width=shown.step / 86400, bottom=bottoms, color=colour, label=line.label)
        floor.update((moment, below + value) for moment, below, value in zip(line.times, bottoms, line.values, strict=True))
    _finish(axes, panel, lines, shown)


def _states(axes: Any, panel: Panel, lines: Sequence[Line], shown: Range) -> None:
    for number, line in enumerate(lines):
        active = [moment for moment, value in zip(_times(line), line.values, strict=True) if value > 0]
        axes.barh([number] * len(active), [shown.step / 86400] * len(active), left=active, height=0.7, color=_COLOURS[number % len(_COLOURS)])
    axes.set_yticks(range(len(lines)), [line.label for line in lines])
    _ticks(axes, shown)


def _finish(axes: Any, panel: Panel, lines: Sequence[Line], shown: Range) -> None:
    axes.set_ylim(bottom=min(0.0, *(min(line.values) for line in lines)))
    axes.yaxis.set_major_formatter(lambda value, _: label(panel.unit, value))
    _ticks(axes, shown)
    axes.legend(loc="upper left", ncols=2 if len(lines) > 4 else 1)


def _ticks(axes: Any, shown: Range) -> None:
    moments = [datetime.fromtimestamp(shown.start + (shown.end - shown.start) * part / 4, UTC) for part in range(5)]
    axes.set_xlim(moments[0], moments[-1])
    axes.set_xticks(moments, [moment.strftime("%H:%M") for moment in moments])


def _stat(axes: Any, panel: Panel, lines: Sequence[Line], _: Range) -> None:
    axes.set_axis_off()
    for number, line in enumerate(lines):
        height = 0.9 - number * 0.9 / max(len(lines), 1)
        axes.text(0.02, height, line.label, va="top", color="#555555", transform=axes.transAxes)
        axes.text(0.95, height, label(panel.unit, line.values[-1]), va="top", ha="right", size=11, transform=axes.transAxes)


_KINDS: Final[Mapping[str, Callable[[Any, Panel, Sequence[Line], Range], None]]] = {
    "lines": _lines, "bars": _bars, "states": _states, "stat": _stat,
}  # fmt: skip


def _table(axes: Any, rows: Sequence[Mapping[str, str]]) -> bool:
    axes.set_axis_off()
    if rows:
        names = columns(rows, 12)
        cells = [[_short(row.get(name, "")) for name in names] for row in rows[:8]]
        heads = [name.rpartition(".")[2] for name in names]
        drawn = axes.table(cells, colLabels=heads, loc="upper left", cellLoc="left", edges="horizontal")
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(5.5)
    return bool(rows)


def _short(text: str) -> str:
    return text if len(text) <= 22 else f"{text[:14]}…{text[-6:]}"


def _trace(axes: Any, spans: Sequence[Span]) -> bool:
    for number, span in enumerate(spans[:30]):
        axes.barh(-number, span.end - span.start, left=span.start - spans[0].start, height=0.7, color=_COLOURS[number % 2])
    if spans:
        axes.set_yticks([-number for number in range(len(spans[:30]))], [span.name for span in spans[:30]])
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.3g} s")
    return bool(spans)


def latest_run(servers: Servers, shown: Range) -> Variables:
    """The latest run with its trace, for the Run board."""
    query = Logs(f'event_name:="{s.EVENT_OTEL_AGENT_AGENT_RUN}" {s.OTEL_AGENT_RUN_TOOL_CALLS}:>1 | sort by (_time) desc | limit 1')
    found = logs(servers, query, shown, Variables())
    return Variables({"run": found[0][s.OTEL_AGENT_RUN_ID], "trace": found[0].get("trace_id", "")} if found else {})


def main(arguments: list[str] | None = None) -> int:
    """Draws the boards and names the panels that had nothing to show."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.pictures", description="Draws the boards over real data.")
    parser.add_argument("metrics", help="address of Prometheus")
    parser.add_argument("--logs", default="", help="address of VictoriaLogs, for the Run board")
    parser.add_argument("--traces", default="", help="address of Jaeger's query service, for the Run board")
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the time range that ends now")
    parser.add_argument("--rate", default="2m", help="what $__rate_interval stands for")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    now = time.time()
    shown = Range(now - options.minutes * 60, now, options.rate)
    servers = Servers(*(address.rstrip("/") for address in (options.metrics, options.logs, options.traces)))
    _draw_all(servers, shown, options.out, options.format)
    return 0


def _draw_all(servers: Servers, shown: Range, out: Path, kind: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    variables = latest_run(servers, shown)
    with mpl.rc_context(_STYLE):
        for board in boards(thresholds.load()):
            figure, empty = draw(board, servers, shown, variables)
            # No date inside, so that the same data give the same file.
            figure.savefig(out / f"{board.key}.{kind}", metadata={"Date": None} if kind == "svg" else None, dpi=110)
            print(f"{out / board.key}.{kind}: {len(empty)} panels without data {' '.join(empty)}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
