"""Arguments against a tool's declared JSON Schema: a verdict and a count, never the validator's message."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from otel_agent import guard
from otel_agent.records.closed import Validation

MAX_ERRORS: Final = 100
MAX_VALUES: Final = 2048
"""Values that are checked while the caller waits: the library takes microseconds for each, and compares unique ones pair by pair."""
MAX_TEXT: Final = 4096
"""Characters that are matched with a ``pattern``: the time some patterns take grows with the square of the text and worse."""


class Verdict(NamedTuple):
    """``errors`` is ``None`` unless validation failed; counting stops at :data:`MAX_ERRORS`."""

    validation: Validation
    errors: int | None = None


class Validator:
    """Checks arguments against one schema. Skips when there is no schema, or no ``jsonschema`` package (extra ``validation``).

    Also skipped is what a schema leaves open: a reference to another document is never fetched. So is what would hold up the caller:
    arguments of more than :data:`MAX_VALUES` values, and texts of more than :data:`MAX_TEXT` characters under a schema with a
    ``pattern``. (A pattern that explodes on short texts is the schema's own affair.) Raises ``TypeError`` for a schema that is no mapping.
    """

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        if schema is not None and not isinstance(schema, Mapping):
            raise TypeError(f"a tool's schema is a mapping, not {type(schema).__name__}")
        library = _library() if schema is not None else None
        self._validator: Any = None if library is None else library.validators.validator_for(schema)(schema, registry=_nothing_else())
        self._max_text = MAX_TEXT if self._validator is not None and _matches(schema) else sys.maxsize

    def check(self, arguments: Any) -> Verdict:
        """The verdict on ``arguments``."""
        errors = None if self._validator is None else guard.run("tool.validation", self._violations, arguments)
        if errors is None:
            return Verdict("skipped")
        return Verdict("failed", errors) if errors else Verdict("passed")

    def _violations(self, arguments: Any) -> int | None:
        if not _modest(arguments, self._max_text):
            return None
        return sum(1 for _ in islice(self._validator.iter_errors(arguments), MAX_ERRORS))


def _inside(value: Any) -> Iterable[Any]:
    """Names and values in an object, values in an array."""
    if isinstance(value, dict):
        return chain(value, value.values())
    return value if isinstance(value, list) else ()


def _modest(arguments: Any, max_text: int) -> bool:
    """Whether the arguments are small enough to be checked. Looks at no more of them than that takes."""
    waiting = [arguments]
    for _ in range(MAX_VALUES):
        if not waiting:
            return True
        value = waiting.pop()
        if isinstance(value, str) and len(value) > max_text:
            return False
        waiting += islice(_inside(value), MAX_VALUES)
    return False


def _matches(schema: Any) -> bool:
    """Whether anything in a schema is matched with a regular expression."""
    if isinstance(schema, Mapping):
        return "pattern" in schema or "patternProperties" in schema or any(map(_matches, schema.values()))
    return isinstance(schema, (list, tuple)) and any(map(_matches, schema))


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
