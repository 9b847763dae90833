"""Where a text has its labels (Thought, Action, Action Input, Observation, Final Answer), in models' spellings.

Positions only; no text is kept. The patterns are bounded, so that a text costs in proportion to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from otel_agent.react.inputs import json_end

Kind = Literal["thought", "action", "input", "observation", "final"]


class Label(NamedTuple):
    """``begin``: where its line begins. ``end``: where what it labels begins."""

    kind: Kind
    begin: int
    end: int


_WORDS: Final = (
    r"(?P<final>final[ _-]{0,2}answer)|(?P<input>action[ _-]{0,2}(?:input|arguments?))|(?P<action>action)"
    r"|(?P<observation>observations?)|(?P<thought>thoughts?)"
)
_COLON: Final = r"[ \t]{0,2}\d{0,3}[*_`]{0,3}[ \t]{0,4}[:\uff1a](?:\*\*|__)?"
_START: Final = r"(?:^|(?<=</think>)|(?<=</thinking>))"
_AT_LINE_START: Final = rf"{_START}[ \t>#*_`\-\u2022]{{0,16}}(?:\d{{1,3}}[.)][ \t]{{0,4}})?[*_`]{{0,3}}(?:{_WORDS}){_COLON}"
_IN_LINE: Final = (
    r"(?<=[.!?])[ \t]{1,4}(?:(?P<late_final>(?-i:Final Answer))|(?P<late_action>(?-i:Action)))[:\uff1a]"
    r"|(?P<late_input>(?-i:Action Input))[:\uff1a]"
)
LABEL: Final = re.compile(rf"{_AT_LINE_START}|{_IN_LINE}", re.IGNORECASE | re.MULTILINE)
"""A label stands at the start of a line. Some are met inside one: an action or answer after a sentence, an input."""

_KINDS: Final[dict[str, Kind]] = {
    "thought": "thought", "action": "action", "input": "input", "observation": "observation", "final": "final",
    "late_final": "final", "late_input": "input", "late_action": "action",
}  # fmt: skip

OPENING: Final = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
CLOSING: Final = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def labels(text: str) -> Iterator[Label]:
    """Labels in order. What a tagged deliberation or a JSON input holds is no label."""
    place = after_deliberation(text)
    while (found := LABEL.search(text, place)) is not None:
        label = Label(_KINDS[found.lastgroup or ""], found.start(), found.end())
        yield label
        place = (json_end(text, label.end) if label.kind in {"action", "input"} else None) or label.end


def after_deliberation(text: str) -> int:
    """Where the answer begins after a deliberation in tags; the end of the text when the tag was never closed.

    Some servers cut the opening tag off, so a closing one alone counts as well.
    """
    closed = CLOSING.search(text)
    if OPENING.match(text) is not None:
        return len(text) if closed is None else closed.end()
    opened_later = closed is not None and re.search(r"<think", text[: closed.start()], re.IGNORECASE) is not None
    return 0 if closed is None or opened_later else closed.end()
