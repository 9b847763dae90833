"""Names that the application gives its agents and tools, looked at where they are given: what is recorded of them is an identifier."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from otel_agent.fields import OTHER, TOOL
from otel_agent.guard import log

_fits: Final = re.compile(TOOL).fullmatch


def look_at(name: Any, place: str) -> None:
    """Say once for each ``place`` that a name given there does not fit. The name itself is not said: it may be a sentence."""
    if isinstance(name, str) and name and _fits(name) is None:
        _say(place)


@cache
def _say(place: str) -> None:
    log.warning(
        "a name given to %s does not fit and is recorded as %s; at most 128 ASCII letters, digits and _.:/- fit, the first of them a "
        "letter, a digit or _; further ones are not said",
        place,
        OTHER,
    )
