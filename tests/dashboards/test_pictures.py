"""The pictures are drawn from the boards' own queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.panels import Board, Kind, Metrics, Panel
from dashboards.results import Line, Range, Servers, Variables, legend, metrics
from tests.dashboards.fake_servers import fake_servers

pictures = pytest.importorskip("dashboards.pictures", reason="pictures need matplotlib")
Figure = pytest.importorskip("matplotlib.figure").Figure


def test_every_board_is_drawn_from_all_of_its_queries(
    tmp_path: Path,
    all_boards: tuple[Board, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One file a board; each query of each panel is asked once, with no variable left in it."""
    with fake_servers() as (address, asked):
        assert 0 == pictures.main([address, "--logs", address, "--traces", address, "--format", "svg", "--out", str(tmp_path)])
    assert {f"{board.key}.svg" for board in all_boards} == {file.name for file in tmp_path.iterdir()}
    wanted = [query for board in all_boards for _, panel in board.panels() for query in panel.queries]
    assert len(asked) == len(wanted) + 1  # and the search for the latest run
    assert not [query for _, query in asked if "$" in query]
    assert capsys.readouterr().out.count(": 0 panels without data") == len(all_boards)
    drawn = (tmp_path / "run.svg").read_text()
    assert "invoke_agent support" in drawn
    assert "run-7" in drawn


def test_a_panel_without_data_says_so(all_boards: tuple[Board, ...]) -> None:
    """Without a log store the Run board is drawn empty, and its panels are named."""
    run = next(board for board in all_boards if board.key == "run")
    with fake_servers() as (address, _):
        _, empty = pictures.draw(run, Servers(address), Range(0, 3600), Variables())
    assert [f"run/{panel.key}" for _, panel in run.panels()] == empty


def test_points_that_are_not_numbers_are_left_out() -> None:
    """0/0 in a quiet minute is a gap, not a zero."""
    with fake_servers() as (address, _):
        (line,) = metrics(Servers(address), Metrics("x", "{{gen_ai_request_model}}"), Range(0, 3600), Variables())
    assert ("m1", (0.0, 1.0, 3.0, 4.0)) == (line.label, line.values)


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_label_that_begins_with_an_underscore_is_named(kind: Kind) -> None:
    """What did not fit is a value like any other; drawing libraries take the underscore for a sign to hide it."""
    panel = Panel("x", "X", "", "short", kind, (Metrics("x", "{{tool}}"),))
    axes = Figure().add_subplot()
    lines = [Line("_OTHER", (0.0, 1.0), (1.0, 2.0)), Line("search", (0.0, 1.0), (1.0, 1.0))]
    pictures._KINDS[kind](axes, panel, lines, Range(0, 60))
    assert ["_OTHER", "search"] == [text.get_text().strip() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("template", "shown"),
    [("{{a}} · {{b}} p95", "x · p95"), ("{{b}}", "(unset)"), ("input", "input"), ("{{a}}", "x")],
)
def test_legends_leave_out_absent_labels(template: str, shown: str) -> None:
    """A call outside a run has no agent, and no stray separator."""
    assert shown == legend(template, {"a": "x"})


def test_variables_are_filled_in() -> None:
    """Grafana's own, the board's, with and without a format; what is not given matches everything."""
    query = 'rate(x{a=~"$agent", b=~"${model:regex}"}[$__rate_interval]) + y[$__range]'
    filled = Variables({"agent": "support"}).fill(query, Range(0, 3600, "2m"))
    assert 'rate(x{a=~"support", b=~".*"}[2m]) + y[3600s]' == filled


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [("percentunit", 0.0525, "5.25 %"), ("s", 1.5, "1.5 s"), ("cpm", 3.0, "3 /min"), ("short", 123456.0, "123,456")],
)
def test_values_carry_their_unit(unit: str, value: float, text: str) -> None:
    """As Grafana would write them."""
    assert text == pictures.label(unit, value)
