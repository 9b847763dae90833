"""The ``jsonschema`` library with a limit to what it does: each step is counted, and no text is matched by Python's own engine.

Imported only where the library is installed. Its validator class is extended, not copied: what differs here is what a keyword costs,
who matches a pattern, and how unique items are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, cached_property, partial
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import UndefinedTypeCheck, UnknownType
from jsonschema.validators import extend, validator_for
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from otel_agent.instrument.patterns import Matcher, matcher
from otel_agent.instrument.quiet import Object, Text, Unfit

MAX_STEPS: Final = 50_000
"""Steps of one check, of a few microseconds at the most."""
MAX_REFERENCES: Final = 64
"""References that are followed one inside another."""
_AT_ONCE: Final = 256
"""Steps of a pattern that count as one: the engine makes them in nanoseconds."""
_EVOLVED: Final = 4
"""Steps in which the library makes a validator for a schema inside a schema."""
_COMPARED: Final = 32
"""Members that are walked or compared in the time of a step."""
_START: Final = 16
"""Characters that a match counts beside those of the text."""

Check = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]
"""A keyword of the library: ``(validator, value of the keyword, instance, schema)`` → violations."""


class Allowance:
    """What one check may still do.

    ``checking``: the schema. ``unit``: steps that a question of the library's counts. ``references``: how many are being followed.
    """

    __slots__ = ("checking", "left", "references", "unit")

    def __init__(self, checking: Checking) -> None:
        self.checking, self.left, self.references, self.unit = checking, MAX_STEPS, 0, 1

    def spend(self, steps: int) -> None:
        """Count ``steps``. Raises :class:`Unfit` when they are too many."""
        self.left -= steps
        if self.left < 0:
            raise Unfit

    def found(self, pattern: str, text: str) -> bool:
        """Whether ``pattern`` matches in ``text``. Raises :class:`Unfit` where that cannot be said in time."""
        made = self.checking.matcher(pattern)
        if made is None:
            raise Unfit
        self.spend(made.size * (len(text) + _START) // _AT_ONCE)
        if not text.isascii() and _surrogate.search(text) is not None:
            raise Unfit
        return made.found(text)


_STUMBLES: Final = (TypeError, AttributeError, LookupError, ValueError, UndefinedTypeCheck, UnknownType)
"""What the library raises over a keyword whose value is none (``{"type": 5}``)."""
_READABLE: Final = 256
"""Values of a schema that are held against the schema of schemas, at some 80 us each, while the caller waits."""
_extend: Final[Any] = extend
_surrogate: Final = re.compile("[\ud800-\udfff]")
_allowance: ContextVar[Allowance] = ContextVar("otel_agent_validation_allowance")


class Checking:
    """One schema, checked against. ``names_patterns``: whether it tells properties by patterns. ``weight``: values in it."""

    def __init__(self, schema: Object) -> None:
        headroom()
        self._validator = _limited(validator_for(schema, default=Draft202012Validator))(schema, registry=EMPTY_REGISTRY)
        self._matchers: dict[str, Matcher | None] = {}
        self.names_patterns = _names_patterns(schema)
        self.weight = schema.weight

    def violations(self, arguments: Any, most: int) -> int:
        """How many there are, counted up to ``most``. Raises :class:`Unfit` where there can be no verdict."""
        token = _allowance.set(Allowance(self))
        try:
            return sum(1 for _ in islice(self._validator.iter_errors(arguments), most))
        except Unresolvable:  # another document
            raise Unfit from None
        except _STUMBLES:
            if self.weight > _READABLE or self._is_schema:
                raise
            raise Unfit from None
        finally:
            _allowance.reset(token)

    @cached_property
    def _is_schema(self) -> bool:
        """Whether the schema is one, by its dialect's own schema. Only who stumbles asks, once, and of a small one."""
        schema = self._validator.schema
        dialect: Any = validator_for(schema, default=Draft202012Validator)
        return bool(dialect(dialect.META_SCHEMA).is_valid(schema))

    def matcher(self, pattern: str) -> Matcher | None:
        """``pattern`` made ready, once for the schema."""
        if pattern not in self._matchers:
            self._matchers[pattern] = matcher(pattern)
        return self._matchers[pattern]


def _names_patterns(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "patternProperties" in schema or any(map(_names_patterns, schema.values()))
    return isinstance(schema, list) and any(map(_names_patterns, schema))


@cache
def _limited(base: Any) -> Any:
    """The library's class for one dialect, limited."""
    keywords = {**base.VALIDATORS, **{name: check for name, check in _OURS.items() if name in base.VALIDATORS}}
    keywords.update({name: _unevaluated(keywords[name]) for name in ("unevaluatedProperties", "unevaluatedItems") if name in keywords})
    made = _extend(base, {name: _counted(name, check) for name, check in keywords.items()})
    made.evolve, made.is_type = _evolving(made.evolve), _typing(base)
    return made


def _counted(name: str, check: Check) -> Check:
    cost, refers = _COSTS.get(name, _own_size), name in _REFERENCES

    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _allowance.get().spend(1 + cost(value, instance))
        violations = check(validator, value, instance, schema)
        return _followed(violations) if refers else violations

    return counted


def _followed(violations: Iterator[ValidationError]) -> Iterator[ValidationError]:
    """A reference may lead back to itself: what it leads to is only looked at so far."""
    allowance = _allowance.get()
    allowance.references += 1
    if allowance.references > MAX_REFERENCES:
        raise Unfit
    try:
        yield from violations
    finally:
        allowance.references -= 1


def _evolving(evolve: Any) -> Any:
    """The library goes over to its own class where a schema inside a schema names its dialect; that is limited too."""

    def limited(self: Any, **changes: Any) -> Any:
        allowance = _allowance.get()
        allowance.spend(_EVOLVED * allowance.unit)
        made = evolve(self, **changes)
        kind: Any = type(made)
        if kind is type(self):
            return made
        return _limited(kind)(made.schema, registry=made._registry, _resolver=made._resolver)  # noqa: SLF001 - as its own `evolve` does

    return limited


def _typing(base: Any) -> Any:
    """The library's own table is a map in Rust, which panics where the interpreter's stack ends; what is asked here are copies."""
    kinds = {**_KINDS, "integer": _is_whole if base.TYPE_CHECKER.is_type(1.0, "integer") else _is_integer}

    def limited(self: Any, instance: Any, kind: str) -> bool:
        allowance = _allowance.get()
        allowance.spend(allowance.unit)
        if allowance.unit > 1:
            headroom()
        known = kinds.get(kind)
        return bool(base.TYPE_CHECKER.is_type(instance, kind)) if known is None else known(instance)

    return limited


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_integer(value) or (isinstance(value, float) and value.is_integer())


_KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, float) or _is_integer(value),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def headroom(levels: int = 64) -> None:
    """Raise ``RecursionError`` here where the stack would soon end: in the library's maps that is a panic, which is no ``Exception``."""
    if levels:
        headroom(levels - 1)


# What a keyword costs beside the one step: of its own value's members, or of the instance's.


def _weight(value: Any) -> int:
    if isinstance(value, Text):
        return len(value.text) // _AT_ONCE
    return getattr(value, "weight", 1)


def _own_size(value: Any, instance: Any) -> int:
    return len(value) if isinstance(value, (dict, list)) else 0


def _own_weight(value: Any, instance: Any) -> int:
    return _weight(value)


def _own_violations(value: Any, instance: Any) -> int:
    """Each name may be missing, and a violation takes as long to make as a validator."""
    return _EVOLVED * _weight(value)


def _members(value: Any, instance: Any) -> int:
    return len(instance) if isinstance(instance, (dict, list)) else 0


def _all_members(value: Any, instance: Any) -> int:
    return _weight(instance)


def _each_with_each(value: Any, instance: Any) -> int:
    return _own_size(value, instance) * _members(value, instance)


def _looked_up(value: Any, instance: Any) -> int:
    """A pointer is followed; for an anchor or an address the library goes through the whole schema. Both by its maps."""
    headroom()
    return _EVOLVED if isinstance(value, str) and (value == "#" or value.startswith("#/")) else _allowance.get().checking.weight


_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_COSTS: Final[Mapping[str, Callable[[Any, Any], int]]] = {
    **dict.fromkeys(("enum", "const"), _own_weight),
    **dict.fromkeys(("required", "dependentRequired", "dependencies"), _own_violations),
    **dict.fromkeys(_REFERENCES, _looked_up),
    "additionalProperties": _members,
    "uniqueItems": _all_members,
    "patternProperties": _each_with_each,
}


# The keywords that match patterns, and the one that would compare each item with each.


def _matched(pattern: str, text: str) -> bool:
    return _allowance.get().found(pattern, text.text if isinstance(text, Text) else text)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matched(pattern, instance):
        yield ValidationError("pattern")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, inner in patterns.items():
            for name in filter(partial(_matched, pattern), instance):
                yield from validator.descend(instance[name], inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    more = [name for name in instance if name not in named and not any(_matched(pattern, name) for pattern in patterns)]
    if validator.is_type(allowed, "object"):
        for name in more:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and more:
        yield ValidationError("additionalProperties")


def _unevaluated(check: Check) -> Check:
    """The library looks through a list of members for each member, walks all of them for each schema, and matches with Python's engine."""

    def limited(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        allowance, members = _allowance.get(), _members(value, instance)
        if allowance.checking.names_patterns:
            raise Unfit
        allowance.spend(members * members // _COMPARED)
        before, allowance.unit = allowance.unit, allowance.unit + 1 + members // _COMPARED
        try:
            yield from check(validator, value, instance, schema)
        finally:
            allowance.unit = before

    return limited


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if unique and validator.is_type(instance, "array") and len({_comparable(item) for item in instance}) < len(instance):
        yield ValidationError("uniqueItems")


def _comparable(value: Any) -> Any:
    """Equal for what JSON Schema calls equal: ``1`` and ``1.0`` are, ``1`` and ``true`` are not."""
    if isinstance(value, dict):
        return frozenset((name, _comparable(member)) for name, member in value.items())
    if isinstance(value, list):
        return tuple(map(_comparable, value))
    return _BOOLEANS[value] if isinstance(value, bool) else value


_BOOLEANS: Final = (object(), object())


_OURS: Final[Mapping[str, Check]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
