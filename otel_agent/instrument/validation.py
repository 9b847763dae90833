"""Arguments against a tool's declared JSON Schema: a verdict and a count, never the validator's message."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from otel_agent.records.closed import Validation

MAX_ERRORS: Final = 100


class Verdict(NamedTuple):
    """``errors`` is ``None`` unless validation failed; counting stops at :data:`MAX_ERRORS`."""

    validation: Validation
    errors: int | None = None


class Validator:
    """Checks arguments against one schema. Skips when there is no schema, or no ``jsonschema`` package (extra ``validation``)."""

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        library = _library() if schema is not None else None
        self._validator = None if library is None else library.validators.validator_for(schema)(schema)

    def check(self, arguments: Any) -> Verdict:
        """The verdict on ``arguments``."""
        if self._validator is None:
            return Verdict("skipped")
        errors = sum(1 for _, _error in zip(range(MAX_ERRORS), self._validator.iter_errors(arguments), strict=False))
        return Verdict("failed", errors) if errors else Verdict("passed")


@cache
def _library() -> Any:
    try:
        import_module("jsonschema.validators")
        return import_module("jsonschema")
    except ImportError:
        return None
