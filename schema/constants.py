"""``otel_agent/semconv.py``: one constant per name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from otel_agent.records import RECORDS
from schema import names

HEAD: Final = '''"""Names of attributes, events and metrics, generated from :mod:`otel_agent.records`; do not edit."""

from __future__ import annotations

from typing import Final
'''


WIDTH: Final = 140


def constant(name: str, prefix: str = "") -> str:
    """``gen_ai.request.model`` as ``GEN_AI_REQUEST_MODEL``."""
    return prefix + re.sub(r"[^A-Z0-9]+", "_", name.upper())


def _lines(found: Iterable[str], prefix: str = "") -> Iterator[str]:
    for name in sorted(found):
        line = f'{constant(name, prefix)}: Final = "{name}"'
        yield line if len(line) <= WIDTH else line.replace('= "', '= (\n    "') + "\n)"


def lines() -> list[str]:
    """Every assignment; two names that would share a constant are a ``ValueError``."""
    blocks = (
        (f'SCOPE_NAME: Final = "{names.SCOPE_NAME}"', f'SCHEMA_URL: Final = "{names.SCHEMA_URL}"'),
        _lines(names.own_attributes()),
        _lines(names.RESOURCE),
        _lines((record.event_name for record in RECORDS), "EVENT_"),
        _lines((metric.name for metric in names.all_metrics()), "METRIC_"),
    )
    found = [line for block in blocks for line in ("", *block)]
    assigned = [line.partition(":")[0] for line in found if line]
    if len(assigned) != len(set(assigned)):
        raise ValueError("two names share a constant")
    return found


def text() -> str:
    """The module's source."""
    return HEAD + "\n".join(lines()) + "\n"
