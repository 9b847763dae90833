"""The allow-list: which names and values may leave the process and enter a store.

Read from ``schema_data/allowlist.json``, which is generated from the records. A *spec* says what one attribute's value may be; a
*check* is a spec compiled to a predicate over plain Python values. Nothing here knows OTLP or the SDK: the guards that do
(:mod:`otel_agent.local.guard`, the export guard) ask this module and do the removing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from otel_agent.fields import ERROR

Check = Callable[[object], bool]
Checks = Mapping[str, Check]

VERSION: Final = 1
MAX_LENGTH: Final = 256
MAX_ITEMS: Final = 64
MAX_INTEGER: Final = 2**63
CACHE_SIZE: Final = 4096

OTHER_SCOPE: Final = "other"
OTHER_SPAN: Final = "span"
REDACTED: Final = "redacted"

SEVERITIES: Final = frozenset(
    f"{word}{number}" for word in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL") for number in ("", "2", "3", "4")
)
EVENT_NAMES: Final = frozenset({"exception"})
"""Span events that may stay; all others are dropped."""

_SCHEMA_URL: Final = r"^https://opentelemetry\.io/schemas/[A-Za-z0-9./_-]{1,64}$"
_SCOPE_VERSION: Final = r"^[0-9A-Za-z.+_-]{0,32}$"
_UNIT: Final = r"^[A-Za-z0-9{}/%._-]{0,32}$"


def matcher(pattern: str) -> Check:
    """A check for strings: at most 256 characters, and the whole of them matches. Remembers what passed, never what failed."""
    matches = re.compile(pattern, re.ASCII).fullmatch
    passed: set[str] = set()

    def fits(value: object) -> bool:
        if type(value) is not str or len(value) > MAX_LENGTH:
            return False
        if value in passed:
            return True
        if matches(value) is None:
            return False
        if len(passed) >= CACHE_SIZE:
            passed.clear()
        passed.add(value)
        return True

    return fits


def member(values: frozenset[str]) -> Check:
    """A check for strings of a closed set."""
    return lambda value: type(value) is str and value in values


def _is_int(value: object) -> bool:
    return type(value) is int and -MAX_INTEGER <= value < MAX_INTEGER


def _is_double(value: object) -> bool:
    return (type(value) is float and math.isfinite(value)) or _is_int(value)


def _is_bool(value: object) -> bool:
    return type(value) is bool


def _string(spec: Mapping[str, Any]) -> Check:
    if "enum" in spec:
        return member(frozenset(spec["enum"]))
    return matcher(spec["pattern"])


def _strings(spec: Mapping[str, Any]) -> Check:
    each = _string(spec)
    most = int(spec.get("max_items", MAX_ITEMS))
    return lambda value: isinstance(value, list | tuple) and len(value) <= most and all(each(item) for item in value)


_COMPILERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Check]]] = {
    "string": _string,
    "string[]": _strings,
    "int": lambda _: _is_int,
    "double": lambda _: _is_double,
    "bool": lambda _: _is_bool,
}


def check(spec: Mapping[str, Any]) -> Check:
    """Compile one spec. Raises ``KeyError`` or ``re.error`` for a spec of unknown shape: an allow-list must not be half read."""
    return _COMPILERS[spec["type"]](spec)


def checks(section: Mapping[str, Any]) -> Checks:
    """Compile the ``attributes`` table of one section."""
    return {key: check(spec) for key, spec in section["attributes"].items()}


@dataclass(frozen=True, slots=True)
class OwnRules:
    """What the project's own scope may carry: closed names, listed attributes."""

    span_name: Check
    span: Checks
    event_name: Check
    log: Checks
    metric_name: Check
    metric: Checks


@dataclass(frozen=True, slots=True)
class ForeignRules:
    """What every other scope may carry: structure, numbers, and listed attributes."""

    span_heads: frozenset[str]
    span: Checks
    log: Checks
    metric_name: Check
    metric: Checks


@dataclass(frozen=True, slots=True)
class Allowlist:
    """All rules, compiled. ``metric_text`` maps a metric's name to its unit and description."""

    own_scopes: frozenset[str]
    foreign_name: Check
    resource: Checks
    own: OwnRules
    foreign: ForeignRules
    metric_text: Mapping[str, tuple[str, str]]
    schema_url: Check
    scope_version: Check
    unit: Check
    exception_type: Check

    def is_own(self, scope: str) -> bool:
        """Whether ``scope`` is the project's own; a foreign sender may claim so, and is then held to the stricter rules."""
        return scope in self.own_scopes

    def foreign_scope(self, scope: str) -> str:
        """The scope's name when it looks like a module path, else ``other``."""
        return scope if self.foreign_name(scope) else OTHER_SCOPE

    def foreign_span(self, name: str) -> str:
        """First word of a foreign span's name when that is a known operation, else ``span``: the rest may quote anything."""
        head = name[:MAX_LENGTH].partition(" ")[0]
        return head if head in self.foreign.span_heads else OTHER_SPAN

    def own_span(self, name: str, operation: object) -> str:
        """``name`` when it fits, else the operation it should have begun with."""
        if self.own.span_name(name):
            return name
        return operation if isinstance(operation, str) else REDACTED


def _own(section: Mapping[str, Any]) -> OwnRules:
    return OwnRules(
        span_name=matcher(section["span"]["name"]),
        span=checks(section["span"]),
        event_name=member(frozenset(section["log"]["event_names"])),
        log=checks(section["log"]),
        metric_name=member(frozenset(section["metric"]["names"])),
        metric=checks(section["metric"]),
    )


def _foreign(section: Mapping[str, Any]) -> ForeignRules:
    return ForeignRules(
        span_heads=frozenset(section["span"]["name_heads"]),
        span=checks(section["span"]),
        log=checks(section["log"]),
        metric_name=matcher(section["metric"]["name"]),
        metric=checks(section["metric"]),
    )


def parse(document: Mapping[str, Any]) -> Allowlist:
    """Compile the generated document. Raises at once on a version or shape this code does not know."""
    if document["version"] != VERSION:
        raise ValueError(f"allow-list version {document['version']!r} is not {VERSION}")
    return Allowlist(
        own_scopes=frozenset(document["scopes"]["own"]),
        foreign_name=matcher(document["scopes"]["foreign_pattern"]),
        resource=checks(document["resource"]),
        own=_own(document["own"]),
        foreign=_foreign(document["foreign"]),
        metric_text={name: (text["unit"], text["description"]) for name, text in document["metric_text"].items()},
        schema_url=matcher(_SCHEMA_URL),
        scope_version=matcher(_SCOPE_VERSION),
        unit=matcher(_UNIT),
        exception_type=matcher(ERROR),
    )


@cache
def load() -> Allowlist:
    """The allow-list that ships with the package; read once per process."""
    text = files("otel_agent").joinpath("schema_data", "allowlist.json").read_text(encoding="utf-8")
    return parse(json.loads(text))
