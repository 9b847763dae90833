"""The boards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dashboards.boards import cost, models, pipeline, quality, run
from dashboards.panels import Board
from dashboards.thresholds import Thresholds

_BOARDS: Final[tuple[Callable[[Thresholds], Board], ...]] = (quality.board, cost.board, models.board, run.board, pipeline.board)


def boards(thresholds: Thresholds) -> tuple[Board, ...]:
    """All boards, with the thresholds drawn in."""
    return tuple(board(thresholds) for board in _BOARDS)


def find_panel(found: tuple[Board, ...], path: str) -> tuple[str, int]:
    """A board's uid and a panel's id for ``board/panel``. Raises ``LookupError`` when there is none."""
    for board in found:
        for number, panel in board.panels():
            if f"{board.key}/{panel.key}" == path:
                return board.uid, number
    raise LookupError(f"no panel {path}")
