"""Counting blocks by what their announced type says they are."""

from __future__ import annotations

from typing import Final

from otel_agent.protocol import ACTION, DELIBERATION, RESULT, VISIBLE, Blocks, Phase
from otel_agent.tally import tally

_COUNTED: Final = (VISIBLE, ACTION, RESULT, DELIBERATION)


def counted(kinds: list[Phase | None]) -> Blocks:
    """Counts of blocks. ``None`` is a type nobody told us of; silent ones count nowhere.

    A visible block is counted like any other, so leave out those without text: "empty" must mean that nobody saw anything.
    """
    unknown = kinds.count(None)
    if unknown:
        tally("unknown", "block", unknown)
    visible, action, result, deliberation = map(kinds.count, _COUNTED)
    return Blocks(visible, action, result, deliberation, unknown)
