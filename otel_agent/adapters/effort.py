"""How hard the model was told to think, in every spelling a request body has for it.

Three facts: the *level* (a word, exactly as sent), the *budget* (tokens, -1 for automatic) and the *mode* (a word; a switch reads
``enabled`` or ``disabled``). They are kept apart: no provider's form is turned into another's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from otel_agent.fields import dig, get, integer, word


class Effort(NamedTuple):
    """What was asked for; ``None`` where nothing was."""

    level: str | None = None
    budget: int | None = None
    mode: str | None = None


def _switch(value: Any) -> str | None:
    """A mode: a word as sent, or what a switch stands for."""
    if value is True or value is False:
        return "enabled" if value else "disabled"
    return word(value)


def _only_switch(value: Any) -> str | None:
    return _switch(value) if type(value) is bool else None


def _inverse(value: Any) -> str | None:
    return _switch(not value) if type(value) is bool else None


Reader = Callable[[Any], Any]
Row = tuple[str, str | None, Reader]
"""``(fact, member of the root or the root itself, reader)``. The first row that yields a value wins."""

_GOOGLE: Final[tuple[Row, ...]] = (("level", "thinking_level", word), ("budget", "thinking_budget", integer))

ROOTS: Final[tuple[tuple[str, tuple[str, ...], tuple[Row, ...]], ...]] = (
    # Groq's `raw` puts the thinking into the visible text, so no other mode may hide it.
    ("reasoning_format", (), (("mode", None, word),)),
    (
        "reasoning",
        (),
        (
            ("level", "effort", word),
            ("budget", "max_tokens", integer),
            ("mode", "mode", word),
            ("mode", "enabled", _switch),
        ),
    ),
    ("reasoning_effort", (), (("level", None, word), ("level", "effort", word))),
    ("output_config", (), (("level", "effort", word),)),
    ("thinking", (), (("mode", "type", word), ("budget", "budget_tokens", integer), ("budget", "token_budget", integer))),
    ("think", (), (("mode", None, _only_switch), ("level", None, word))),
    ("thinking_level", (), (("level", None, word),)),
    ("thinking_budget", (), (("budget", None, integer),)),
    ("enable_thinking", (), (("mode", None, _switch),)),
    ("disable_reasoning", (), (("mode", None, _inverse),)),
    ("prompt_mode", (), (("mode", None, word),)),
    (
        "chat_template_kwargs",
        (),
        (
            ("level", "reasoning_effort", word),
            ("budget", "thinking_budget", integer),
            ("mode", "enable_thinking", _switch),
            ("mode", "thinking", _switch),
        ),
    ),
    ("google", ("thinking_config",), _GOOGLE),
    ("extra_body", ("google", "thinking_config"), _GOOGLE),
)
"""``(member of the body, path below it, rows)``."""


def read(body: dict[str, Any]) -> Effort:
    """The effort a request body asks for at its top level."""
    if _NAMES.isdisjoint(body):  # nearly always
        return _UNSET
    found: dict[str, Any] = {}
    for name, path, rows in ROOTS:
        if name in body:
            _read_rows(found, dig(body[name], *path) if path else body[name], rows)
    return Effort(found.get("level"), found.get("budget"), found.get("mode")) if found else _UNSET


_UNSET: Final = Effort()
_NAMES: Final = frozenset(name for name, _path, _rows in ROOTS)


def _read_rows(found: dict[str, Any], root: Any, rows: tuple[Row, ...]) -> None:
    for fact, name, reader in rows:
        if fact not in found:
            value = reader(root if name is None else get(root, name))
            if value is not None:
                found[fact] = value


def level_in_force(effort: Effort, updates: Sequence[Any], member: str) -> str | None:
    """The level after updates inside the conversation: the last one that names a level wins over the request's own."""
    for update in reversed(updates) if updates else ():
        level = word(dig(update, member, "effort"))
        if level is not None:
            return level
    return effort.level
