"""The arguments of a call by the names of the signature, which is read once, when a tool is declared."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Parameter
from typing import Any, Final

from otel_agent import guard

RECEIVERS: Final = frozenset({"self", "cls"})


class Binding:
    """How one callable's arguments are named.

    The receiver of a method is no argument. What ``*rest`` takes stands under its name, as a list. What ``**more`` takes stands among
    the others, or, where a positional-only argument has the name already, under the name of ``**more``.
    """

    __slots__ = ("_by_keyword", "_is_bound", "_more", "_positional", "_rest")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._is_bound = guard.run("tool.signature", getattr, function, "__self__", None) is not None
        parameters = _parameters(function)
        self._positional = None if parameters is None else _of_kind(parameters, Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self._by_keyword = frozenset(_of_kind(parameters or (), Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY))
        self._rest = next(iter(_of_kind(parameters or (), Parameter.VAR_POSITIONAL)), None)
        self._more = next(iter(_of_kind(parameters or (), Parameter.VAR_KEYWORD)), None)

    def of(self, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[str, Any] | None:
        """Arguments by name; ``args`` are without ``instance``. ``None`` when they do not fit: the call itself will then say so."""
        if not args:
            return kwargs
        if self._positional is None:
            return None
        names = self._positional
        if instance is not None and not self._is_bound:
            names = names[1:]
        elif names and names[0] in RECEIVERS:  # a method called as the function it is
            names, args = names[1:], args[1:]
        given: dict[str, Any] = dict(zip(names, args, strict=False))
        if len(args) > len(names):
            if self._rest is None:
                return None
            given[self._rest] = args[len(names) :]
        return self._joined(given, kwargs)

    def _joined(self, given: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        if self._more is None or given.keys().isdisjoint(kwargs):
            return {**given, **kwargs}
        named = {name: value for name, value in kwargs.items() if name in self._by_keyword}
        more = {name: value for name, value in kwargs.items() if name not in self._by_keyword}
        return {**given, **named, self._more: more}


def declared(function: Callable[..., Any]) -> frozenset[str] | None:
    """Argument names that the signature declares; ``None`` when it cannot be read."""
    parameters = _parameters(function)
    if parameters is None:
        return None
    return frozenset(each.name for each in parameters if each.kind is not Parameter.VAR_KEYWORD) - RECEIVERS


def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...] | None:
    """``None`` where there is no signature, or the callable raises when it is asked for one: its call may work all the same."""
    return guard.run("tool.signature", _read, function)


def _read(function: Callable[..., Any]) -> tuple[Parameter, ...] | None:
    try:
        return tuple(inspect.signature(function, **_AS_WRITTEN).parameters.values())
    except (TypeError, ValueError):
        return None


# Annotations are not looked at, so from 3.14 on, which evaluates them when they are asked for, none is: it may name what is not there.
_AS_WRITTEN: Final[dict[str, Any]] = (
    {"annotation_format": import_module("annotationlib").Format.STRING} if sys.version_info >= (3, 14) else {}
)


def _of_kind(parameters: tuple[Parameter, ...], *kinds: Any) -> tuple[str, ...]:
    return tuple(each.name for each in parameters if each.kind in kinds)
