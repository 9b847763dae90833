"""Arguments against a tool's declared JSON Schema: a verdict and a count, never the validator's message."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from otel_agent import guard
from otel_agent.records.closed import Validation

MAX_ERRORS: Final = 100


class Verdict(NamedTuple):
    """``errors`` is ``None`` unless validation failed; counting stops at :data:`MAX_ERRORS`."""

    validation: Validation
    errors: int | None = None


class Validator:
    """Checks arguments against one schema. Skips when there is no schema, or no ``jsonschema`` package (extra ``validation``).

    Also skipped is what a schema leaves open: a reference to another document is never fetched. Raises ``TypeError`` for a schema that
    is no mapping.
    """

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        if schema is not None and not isinstance(schema, Mapping):
            raise TypeError(f"a tool's schema is a mapping, not {type(schema).__name__}")
        library = _library() if schema is not None else None
        self._validator = None if library is None else library.validators.validator_for(schema)(schema, registry=_nothing_else())

    def check(self, arguments: Any) -> Verdict:
        """The verdict on ``arguments``."""
        errors = None if self._validator is None else guard.run("tool.validation", _violations, self._validator, arguments)
        if errors is None:
            return Verdict("skipped")
        return Verdict("failed", errors) if errors else Verdict("passed")


def _violations(validator: Any, arguments: Any) -> int:
    return sum(1 for _, _error in zip(range(MAX_ERRORS), validator.iter_errors(arguments), strict=False))


def _nothing_else() -> Any:
    """A registry without documents, and without a way to get any: by default the library asks the network."""
    return import_module("referencing.jsonschema").EMPTY_REGISTRY


@cache
def _library() -> Any:
    try:
        import_module("jsonschema.validators")
        return import_module("jsonschema")
    except ImportError:
        return None
