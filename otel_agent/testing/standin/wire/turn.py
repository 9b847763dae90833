"""What a renderer knows about the turn that it renders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import Reply, Thinking, ToolUse
from otel_agent.testing.standin.wire.flavours import Flavour


@dataclass(frozen=True, slots=True)
class Ids:
    """Made-up identifiers: the same for the same seed, script and position, so that two runs can be compared."""

    seed: str
    key: str
    position: int

    def __call__(self, prefix: str, index: int = 0) -> str:
        """An identifier with a provider's prefix."""
        source = "/".join((self.seed, self.key, str(self.position), prefix, str(index)))
        return prefix + blake2b(source.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class Counted:
    """Usage with every number settled, in the normal form of `script.Usage`."""

    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    cache_write_1h: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer in the making."""

    request: Request
    ids: Ids
    model: str
    flavour: Flavour
    usage: Counted | None
    created: int


def arguments_text(call: ToolUse) -> str:
    """The arguments as the JSON text that a stream sends."""
    return call.args if isinstance(call.args, str) else json.dumps(dict(call.args), ensure_ascii=False)


def seal(thinking: Thinking, turn: Turn, index: int) -> str:
    """The signature given, or a made-up one."""
    return turn.ids("EqQBCkYIB", index) if thinking.signature is None else thinking.signature


def extra(reply: Reply, dialect: str) -> dict[str, Any]:
    """The fields that a reply adds to the body of that dialect."""
    return dict(reply.extra.get(dialect, {}))
