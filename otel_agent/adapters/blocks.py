"""Counting blocks by what their announced type says they are."""

from __future__ import annotations

from otel_agent.protocol import Blocks, Phase
from otel_agent.tally import tally


def counted(kinds: list[Phase | None]) -> Blocks:
    """Counts of blocks. ``None`` is a type nobody told us of; silent ones count nowhere.

    A visible block is counted like any other, so leave out those without text: "empty" must mean that nobody saw anything.
    """
    unknown = kinds.count(None)
    if unknown:
        tally("unknown", "block", unknown)
    return Blocks(
        visible=kinds.count(Phase.VISIBLE),
        action=kinds.count(Phase.ACTION),
        result=kinds.count(Phase.RESULT),
        deliberation=kinds.count(Phase.DELIBERATION),
        unknown=unknown,
    )
