"""Tools offered in a request, and the check of what was called against them.

A called tool's name comes from the model, so it is text until it is found among the names the application gave.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

from otel_agent.fields import OTHER, get, items, tool_name

Naming = Callable[[Any], Any]
"""Where a definition's name is. What has none (hosted tools, toolsets) goes by its type, an MCP server by its label."""


class Offer(NamedTuple):
    """Names of the tools on offer, in order and uncut, and how many there are (a tool may lack a name)."""

    names: tuple[str, ...]
    size: int


def messages_name(tool: Any) -> Any:
    """Anthropic."""
    return get(tool, "name") or get(tool, "mcp_server_name") or get(tool, "type")


def chat_name(tool: Any) -> Any:
    """Chat completions, the older ``functions`` included."""
    function = get(tool, "function") or get(tool, "custom")
    return get(tool, "name") or get(tool, "type") if function is None else get(function, "name")


def responses_name(tool: Any) -> Any:
    """Responses."""
    return get(tool, "name") or get(tool, "server_label") or get(tool, "type")


def read(tools: Any, naming: Naming) -> Offer | None:
    """What a list of tool definitions offers; ``None`` when there is no list, or one that can be walked only once."""
    if not issubclass(type(tools), (list, tuple)):
        return None
    defined = items(tools)
    if naming is messages_name and (plain := _plain(defined)) is not None:
        return plain
    given = [naming(tool) for tool in (_leaves(defined) if naming is responses_name else defined)]
    return _offer(tuple([name if type(name) is str else None for name in given]))


_name: Final = itemgetter("name")


def _plain(tools: Iterable[Any]) -> Offer | None:
    """The offer where every definition is a dictionary with a name: nearly always, and found without a step of ours per tool."""
    if not {*map(type, tools)} <= {dict}:  # a subclass may answer for a name as it likes
        return None
    try:
        return _named(tuple(map(_name, tools)))
    except (KeyError, TypeError):
        return None


@lru_cache(maxsize=256)
def _named(names: tuple[Any, ...]) -> Offer | None:
    return _offer(names) if all(type(name) is str and name for name in names) else None


@lru_cache(maxsize=256)
def _offer(given: tuple[str | None, ...]) -> Offer:
    """The names that are names. Remembered, since a run offers the same tools at every turn."""
    names = (tool_name(name) for name in given)
    return Offer(tuple(name for name in names if name is not None), len(given))


def _leaves(tools: Iterable[Any]) -> Iterator[Any]:
    """The tools themselves, those inside a namespace (Responses) included."""
    for tool in tools:
        if get(tool, "type") == "namespace":
            yield from items(get(tool, "tools"))
        else:
            yield tool


def both(one: Offer | None, other: Offer | None) -> Offer | None:
    """Two offers as one."""
    if one is None or other is None:
        return one or other
    return Offer(one.names + other.names, one.size + other.size)


def called(name: Any, offered: Collection[str] | None, own: Collection[str] = ()) -> str:
    """The name of a called tool when it was offered, or is one of the provider's ``own``, else :data:`OTHER`."""
    if not isinstance(name, str):
        return OTHER
    return str.__str__(name) if (offered and name in offered) or name in own else OTHER
