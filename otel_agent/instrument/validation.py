"""Arguments against a tool's declared JSON Schema: a verdict and a count, never the validator's message."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from otel_agent import guard
from otel_agent.instrument.quiet import Copying, Unfit
from otel_agent.records.closed import Validation

MAX_ERRORS: Final = 100
MAX_VALUES: Final = 2048
"""Values that are checked while the caller waits: the library takes microseconds for each."""
MAX_SCHEMA: Final = 20_000
"""Values in a schema."""
SCHEMA_DEPTH: Final = 128
"""Levels of a schema, in which an object inside another is two levels down."""


class Verdict(NamedTuple):
    """``errors`` is ``None`` unless validation failed; counting stops at :data:`MAX_ERRORS`."""

    validation: Validation
    errors: int | None = None


class Validator:
    """Checks arguments against one schema. Skips when there is no schema, or no ``jsonschema`` package (extra ``validation``).

    Also skipped is what a schema leaves open: a reference to another document is never fetched. So is what would hold up the caller:
    arguments of more than :data:`MAX_VALUES` values, more work than :data:`otel_agent.instrument.keywords.MAX_STEPS`, and a ``pattern``
    that takes more than linear time (see :mod:`otel_agent.instrument.patterns`) where it would have to be matched. What is no JSON
    (a tuple, a date, a model) is judged in the form in which it is digested. Raises ``TypeError`` for a schema that is no mapping.
    """

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        if schema is not None and not isinstance(schema, Mapping):
            raise TypeError(f"a tool's schema is a mapping, not {type(schema).__name__}")
        self._checking: Any = None if schema is None else guard.run("tool.schema", _checking, schema)

    def check(self, arguments: Any) -> Verdict:
        """The verdict on ``arguments``."""
        errors = None if self._checking is None else guard.run("tool.validation", self._violations, arguments)
        if errors is None:
            return Verdict("skipped")
        return Verdict("failed", errors) if errors else Verdict("passed")

    def _violations(self, arguments: Any) -> int | None:
        try:
            found: int = self._checking.violations(Copying(MAX_VALUES).of(arguments), MAX_ERRORS)
        except (Unfit, RecursionError):
            return None
        return found


def _checking(schema: Mapping[str, Any]) -> Any:
    """The schema ready for checking, as it is now; ``None`` for one that is too large or too deep, or is no JSON."""
    check = _library()
    try:
        return None if check is None else check(Copying(MAX_SCHEMA, SCHEMA_DEPTH).of(schema if isinstance(schema, dict) else dict(schema)))
    except (Unfit, RecursionError):
        return None


@cache
def _library() -> Any:
    """What checks, where the package is installed."""
    try:
        import_module("jsonschema.validators")
    except ImportError:
        return None
    return import_module("otel_agent.instrument.keywords").Checking
