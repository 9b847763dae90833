"""``python -m dashboards.pictures URL``: draws every board from its own queries over a real Prometheus, without Grafana.

The pictures show what the boards say, not how Grafana looks: same titles, queries, legends, units and thresholds.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from dashboards import thresholds
from dashboards.boards import boards
from dashboards.panels import Board, Logs, Metrics, Panel, Row, Trace
from dashboards.results import Line, Range, Servers, Span, Variables, columns, logs, metrics, trace
from otel_agent import semconv as s

FOLDER: Final = Path(__file__).with_name("pictures")
WIDTH: Final = 3
"""Panels beside each other; tables and traces take the whole width."""
_HEIGHTS: Final[Mapping[str, float]] = {"table": 1.8, "trace": 2.4}
_HEIGHT: Final = 2.8
_NAMED: Final = 6
"""Series named under a panel; the rest are drawn and counted."""
_SPANS: Final = 16
"""Spans of a trace that are drawn."""
_COLOURS: Final = ("#3274d9", "#e0752d", "#37872d", "#a352cc", "#c4162a", "#0f8f8f", "#b8860b", "#7c7c7c", "#d6336c", "#5c940d")
_STYLE: Final[dict[Any, Any]] = {
    "font.size": 7, "axes.titlesize": 8, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": "#888888", "axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.6,
    "xtick.color": "#555555", "ytick.color": "#555555", "legend.frameon": False, "legend.fontsize": 6, "svg.hashsalt": "otel-agent",
    "svg.fonttype": "none",
}  # fmt: skip
_UNITS: Final[Mapping[str, Callable[[float], str]]] = {
    "percentunit": lambda value: f"{value * 100:.3g} %",
    "s": lambda value: f"{value:.3g} s",
    "bytes": lambda value: f"{value / 2**20:.0f} MiB",
    "cpm": lambda value: f"{_plain(value)} /min",
}


def label(unit: str, value: float) -> str:
    """A value as text in its panel's unit."""
    return _UNITS.get(unit, _plain)(value)


def _plain(value: float) -> str:
    """A bare number: whole and large ones with separators, others with three digits that count."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"


def draw(board: Board, servers: Servers, shown: Range, variables: Variables) -> tuple[Figure, list[str]]:
    """The board as one figure, and the panels (``board/panel``) that had nothing to show."""
    places = _places(board.rows)
    heights = _heights(places)
    figure = Figure(figsize=(15, sum(heights) + 0.6))
    grid = figure.add_gridspec(
        len(heights), WIDTH, height_ratios=heights, hspace=0.75, wspace=0.25, left=0.07, right=0.98, bottom=0.6 / (sum(heights) + 0.6),
        top=1 - 0.7 / (sum(heights) + 0.6),
    )  # fmt: skip
    empty = []
    for panel, line, taken in places:
        axes = figure.add_subplot(grid[line, taken])
        axes.set_title(panel.title)
        if not _panel(axes, panel, servers, shown, variables):
            empty.append(f"{board.key}/{panel.key}")
            axes.text(0.5, 0.5, "no data in this range", ha="center", va="center", color="#999999", transform=axes.transAxes)
            axes.set_axis_off()
    title = f"{board.title}    {_clock(shown.start)} to {_clock(shown.end)} UTC"
    figure.suptitle(title, x=0.01, y=1 - 0.1 / (sum(heights) + 0.6), ha="left", va="top", weight="bold")
    return figure, empty


def _clock(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")


def _places(rows: Sequence[Row]) -> list[tuple[Panel, int, slice]]:
    """Where each panel goes: its line and its columns. Every row of the board begins a new line."""
    places, line = [], 0
    for row in rows:
        column = 0
        for panel in row.panels:
            width = WIDTH if panel.kind in _HEIGHTS else 1
            if column + width > WIDTH:
                line, column = line + 1, 0
            places.append((panel, line, slice(column, column + width)))
            column += width
        line += 1
    return places


def _heights(places: Sequence[tuple[Panel, int, slice]]) -> list[float]:
    """The height of each line in inches: that of its tallest panel."""
    heights = [0.0] * (1 + max(line for _, line, _ in places))
    for panel, line, _ in places:
        heights[line] = max(heights[line], _HEIGHTS.get(panel.kind, _HEIGHT))
    return heights


def _panel(axes: Any, panel: Panel, servers: Servers, shown: Range, variables: Variables) -> bool:
    """Draws one panel; false when its queries found nothing."""
    lines: list[Line] = []
    for query in panel.queries:
        match query:
            case Trace():
                return _trace(axes, trace(servers, query, shown, variables))
            case Logs():
                return _table(axes, logs(servers, query, shown, variables))
            case Metrics():
                lines += metrics(servers, query, shown, variables)
    if lines:
        _KINDS[panel.kind](axes, panel, lines, shown)
    return bool(lines)


def _times(line: Line) -> list[datetime]:
    return [datetime.fromtimestamp(moment, UTC) for moment in line.times]


def _named(line: Line) -> str:
    """The label for a legend. One that begins with an underscore, as ``_OTHER`` does, would be left out."""
    return f" {line.label}" if line.label.startswith("_") else line.label


def _with_gaps(line: Line, step: int) -> Line:
    """A point that is no number wherever a step is missing, so that nothing is drawn across a gap."""
    points = list(zip(line.times, line.values, strict=True))
    holes = [(before + step, float("nan")) for (before, _), (after, _) in pairwise(points) if after - before > 1.5 * step]
    filled = sorted(points + holes, key=lambda point: point[0])
    return Line(line.label, tuple(time for time, _ in filled), tuple(value for _, value in filled))


def _ranked(lines: Sequence[Line]) -> list[int]:
    """Which series has the highest last value, the second highest, and so on."""
    return sorted(range(len(lines)), key=lambda number: -lines[number].values[-1])


def _lines(axes: Any, panel: Panel, lines: Sequence[Line], shown: Range) -> None:
    """The series that the legend names in colours, the others in grey behind them."""
    ranks = {number: rank for rank, number in enumerate(_ranked(lines))}
    for number, line in enumerate(lines):
        whole, named = _with_gaps(line, shown.step), ranks[number] < _NAMED
        axes.plot(
            _times(whole), whole.values, label=_named(line), marker="." if len(line.times) == 1 else "",
            color=_COLOURS[ranks[number]] if named else "#d0d0d0", linewidth=1.2 if named else 0.7, zorder=3 if named else 2,
        )  # fmt: skip
    if panel.limit is not None:
        axes.axhline(panel.limit, color="#c4162a", linewidth=0.9, linestyle="--", zorder=4)
    _finish(axes, panel, lines, shown)


def _bars(axes: Any, panel: Panel, lines: Sequence[Line], shown: Range) -> None:
    floor: dict[float, float] = {}
    for number, line in enumerate(lines):
        bottoms = [floor.get(moment, 0.0) for moment in line.times]
        colour = _COLOURS[number % len(_COLOURS)]
        axes.bar(_times(line), line.values, width=shown.step / 86400, bottom=bottoms, color=colour, label=_named(line))
        floor.update((moment, below + value) for moment, below, value in zip(line.times, bottoms, line.values, strict=True))
    _finish(axes, panel, lines, shown)


def _states(axes: Any, _: Panel, lines: Sequence[Line], shown: Range) -> None:
    for number, line in enumerate(lines):
        active = [moment for moment, value in zip(_times(line), line.values, strict=True) if value > 0]
        widths = [shown.step / 86400] * len(active)
        axes.barh([-number] * len(active), widths, left=active, height=0.35, color=_COLOURS[number % len(_COLOURS)])
    _name_bars(axes, [line.label for line in lines])
    _ticks(axes, shown)


def _name_bars(axes: Any, labels: Sequence[str]) -> None:
    """Names each bar above it, inside the panel: beside it there is no room for a long name."""
    for number, name in enumerate(labels):
        axes.text(0.005, 0.22 - number, name, va="bottom", size=6, color="#333333", transform=axes.get_yaxis_transform())
    axes.set_yticks([])
    axes.set_ylim(-len(labels) + 0.6, 0.9)


def _finish(axes: Any, panel: Panel, lines: Sequence[Line], shown: Range) -> None:
    axes.set_ylim(bottom=min(0.0, *(min(line.values) for line in lines)))
    axes.yaxis.set_major_formatter(lambda value, _: label(panel.unit, value))
    _ticks(axes, shown)
    _legend(axes, lines)


def _legend(axes: Any, lines: Sequence[Line]) -> None:
    """Names the series with the highest last values, under the panel as Grafana does."""
    handles, labels = axes.get_legend_handles_labels()
    order = _ranked(lines)[:_NAMED]
    more = f"and {len(lines) - _NAMED} more" if len(lines) > _NAMED else None
    axes.legend(
        [handles[number] for number in order], [_short(labels[number], 44) for number in order], title=more, title_fontsize=6,
        loc="upper left", bbox_to_anchor=(-0.03, -0.1), ncols=2, columnspacing=1, handlelength=1, alignment="left",
    )  # fmt: skip


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
        cells = [[_cell(row.get(name, "")) for name in names] for row in rows[:8]]
        drawn = axes.table(cells, colLabels=_heads(names), loc="upper left", cellLoc="left", colLoc="left", edges="horizontal",
                           colWidths=[0.98 / len(names)] * len(names))  # fmt: skip
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(5.5)
    return bool(rows)


def _heads(names: Sequence[str]) -> list[str]:
    """The last word of each field's name, with the word before where two would be the same."""
    last = [name.rpartition(".")[2] for name in names]
    return [".".join(name.split(".")[-2:]) if last.count(word) > 1 else word for name, word in zip(names, last, strict=True)]


def _cell(text: str) -> str:
    return f"{float(text):.3g}" if re.fullmatch(r"\d+\.\d+", text) else _short(text, 22)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 8]}…{text[-6:]}"


def _trace(axes: Any, spans: Sequence[Span]) -> bool:
    drawn = spans[:_SPANS]
    if not drawn:
        return False
    begun = drawn[0].start
    length = max(span.end for span in drawn) - begun
    for number, span in enumerate(drawn):
        axes.barh(-number, span.end - span.start, left=span.start - begun, height=0.7, color=_COLOURS[number % 2])
        _name_span(axes, -number, span.name, (span.start - begun) / length, (span.end - begun) / length)
    axes.set_yticks([])
    axes.set_xlim(0, length)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.3g} s")
    return True


def _name_span(axes: Any, height: int, name: str, start: float, end: float) -> None:
    """Where there is room: inside a long bar, before one that ends late, else behind it. ``start`` and ``end`` are shares of the width."""
    if end - start > 0.5:
        place, side, colour = start + 0.005, "left", "white"
    elif end > 0.75:
        place, side, colour = start - 0.005, "right", "#333333"
    else:
        place, side, colour = end + 0.005, "left", "#333333"
    axes.text(place, height, name, ha=side, va="center", size=5.5, color=colour, transform=axes.get_yaxis_transform())


def latest_run(servers: Servers, shown: Range) -> Variables:
    """The latest run in which a call was denied, else the latest with some tool calls, with its trace: for the Run board."""
    for telling in (f"{s.OTEL_AGENT_RUN_DENIED}:>0", f"{s.OTEL_AGENT_RUN_TOOL_CALLS}:>1"):
        query = Logs(f'event_name:="{s.EVENT_OTEL_AGENT_AGENT_RUN}" {telling} | sort by (_time) desc | limit 1')
        if found := logs(servers, query, shown, Variables()):
            return Variables({"run": found[0][s.OTEL_AGENT_RUN_ID], "trace": found[0].get("trace_id", "")})
    return Variables({})


def main(arguments: list[str] | None = None) -> int:
    """Draws the boards and names the panels that had nothing to show."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.pictures", description="Draws the boards over real data.")
    parser.add_argument("metrics", help="address of Prometheus")
    parser.add_argument("--logs", default="", help="address of VictoriaLogs, for the Run board")
    parser.add_argument("--traces", default="", help="address of Jaeger's query service, for the Run board")
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the time range that ends now")
    parser.add_argument("--rate", default="2m", help="what $__rate_interval stands for")
    parser.add_argument("--format", choices=("svg", "png"), default="png")
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
            _save(figure, out / f"{board.key}.{kind}", kind)
            print(f"{out / board.key}.{kind}: {len(empty)} panels without data {' '.join(empty)}".rstrip())


def _save(figure: Figure, file: Path, kind: str) -> None:
    """No date inside, so that the same data give the same file; a PNG with few colours, since it is kept in the repository."""
    if kind == "svg":
        figure.savefig(file, metadata={"Date": None})
        return
    figure.savefig(file, metadata={"Software": None}, dpi=100)
    with Image.open(file) as drawn:
        few = drawn.convert("RGB").quantize(48)
    few.save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
