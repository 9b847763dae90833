"""Counting blocks by what their announced type says they are."""

from __future__ import annotations

from typing import Final

from otel_agent.protocol import Blocks, Phase
from otel_agent.tally import tally

_UNKNOWN: Final = len(Phase)


def counted(kinds: list[Phase | None]) -> Blocks:
    """Counts of blocks. ``None`` is a type nobody told us of; silent ones count nowhere.

    A visible block is counted like any other, so leave out those without text: "empty" must mean that nobody saw anything.
    """
    totals = [0] * (len(Phase) + 1)
    for kind in kinds:
        totals[_UNKNOWN if kind is None else kind] += 1
    if totals[_UNKNOWN]:
        tally("unknown", "block", totals[_UNKNOWN])
    return Blocks(
        visible=totals[Phase.VISIBLE],
        action=totals[Phase.ACTION],
        result=totals[Phase.RESULT],
        deliberation=totals[Phase.DELIBERATION],
        unknown=totals[_UNKNOWN],
    )
