"""One text, read: its outcome, its action or answer, and how much of it is neither. Knows no telemetry."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from otel_agent.react.inputs import json_value, read_input
from otel_agent.react.labels import Label, labels
from otel_agent.records.closed import StepOutcome

Resolve = Callable[[str], str | None]
"""The declared tool that a written name means, or ``None``."""

MAX_LABELS: Final = 256
"""Labels looked at: the first action counts, and a text of nothing but labels must not cost more than it says."""

_CALL: Final = re.compile(r"(?P<name>[\w .-]{1,64}?)[ \t]*[\[(](?P<input>.*)[\])]", re.DOTALL)
_NO_ACTION: Final = frozenset({"none", "n/a", "na", "no action", ""})
_FINISHING: Final = frozenset({"finish", "final answer", "final_answer"})
_NAME_KEYS: Final = ("action", "tool", "tool_name", "name")
_INPUT_KEYS: Final = ("action_input", "tool_input", "arguments", "args", "parameters", "input")
_ROUND: Final = " \t\r\n*_`'\"<>"


@dataclass(frozen=True, slots=True)
class Action:
    """What an action says. ``state`` is that of its input (:class:`otel_agent.react.inputs.Input`)."""

    written: str = field(repr=False)
    state: str
    value: Any = field(repr=False)
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """``end``: how far the text is to be kept. ``dead``: bytes up to there that are neither action nor answer."""

    outcome: StepOutcome
    end: int
    dead: int
    action: Action | None = None
    final: str | None = field(default=None, repr=False)


def read(text: str, resolve: Resolve) -> Reading:
    """Read one turn of the model. Never raises: what cannot be read is ``malformed``."""
    found = list(islice(labels(text), MAX_LABELS))
    observed = _observed(found)
    kept = found if observed is None else [label for label in found if label.begin < observed.begin]
    limit = len(text) if observed is None else observed.begin
    # A server may leave the stop string in the text: a bare label invents nothing.
    invented = observed is not None and bool(text[observed.end :].strip())
    action = _action(text, kept, limit, resolve)
    if action is not None and action.written.lower() in _FINISHING and resolve(action.written) is None:
        return _finished(text, action)
    final = next((label for label in kept if label.kind == "final"), None)
    if action is not None:
        outcome = _outcome(action, invented=invented, final=final is not None)
        end = action.spans[-1][1]
        return Reading(outcome, end, _size(text[:end]) - _covered(text, action.spans), action)
    if invented:
        return Reading("invented_observation", limit, _size(text[:limit]))
    if final is not None:
        return Reading("final", limit, _size(text[: final.begin]), final=text[final.end : limit].strip())
    return Reading("malformed", limit, _size(text[:limit]))


def _outcome(action: Action, *, invented: bool, final: bool) -> StepOutcome:
    if invented:
        return "invented_observation"
    if action.state == "broken":
        return "malformed"
    return "both" if final else "action"


def _observed(found: Sequence[Label]) -> Label | None:
    """The first observation that the model wrote itself. Inside a final answer the word is content."""
    acted = answered = False
    for label in found:
        if label.kind == "observation" and (acted or not answered):
            return label
        acted = acted or label.kind == "action"
        answered = answered or label.kind == "final"
    return None


def _action(text: str, found: Sequence[Label], limit: int, resolve: Resolve) -> Action | None:
    """The first action that is one."""
    answered = any(label.kind == "final" for label in found)
    for place, label in enumerate(found):
        if label.kind == "action":
            action = _read_action(text, found, place, limit)
            if resolve(action.written) is not None or not _is_none(action, answered=answered):
                return action
    return None


def _is_none(action: Action, *, answered: bool) -> bool:
    """Whether it says in words that there is no action: "None", or, before an answer, anything that takes no input."""
    name = action.written.lower()
    return name in _NO_ACTION or (answered and action.state == "missing" and name not in _FINISHING)


def _read_action(text: str, found: Sequence[Label], place: int, limit: int) -> Action:
    label, following = found[place], [*found[place + 1 :], Label("final", limit, limit)]
    blob = json_value(text[:limit], label.end)
    if blob is not None and isinstance(blob[0], dict):
        return _from_object(blob[0], (label.begin, blob[1]))
    behind = text[label.end : following[0].begin]
    line = behind.lstrip().split("\n", 1)[0]
    line_end = label.end + (len(behind) - len(behind.lstrip())) + len(line)
    given = next((other for other in following if other.kind in {"input", "action", "final"}), None)
    if given is not None and given.kind == "input":
        ends = next(other.begin for other in following if other.begin > given.begin or other is following[-1])
        value = read_input(text, given.end, ends)
        return Action(line.strip(_ROUND), value.state, value.value, ((label.begin, line_end), (given.begin, value.end)))
    return _from_line(line, (label.begin, line_end))


def _from_line(line: str, span: tuple[int, int]) -> Action:
    """``search[query]`` and ``search(query)``, as the first agents wrote it; else a name without an input."""
    call = _CALL.fullmatch(line.strip(_ROUND))
    if call is None:
        return Action(line.strip(_ROUND), "missing", None, (span,))
    value = read_input(call["input"], 0, len(call["input"]))
    return Action(call["name"].strip(_ROUND), value.state, value.value, (span,))


def _from_object(given: dict[str, Any], span: tuple[int, int]) -> Action:
    """An action written as one JSON object, name and input inside."""
    name = next((given[key] for key in _NAME_KEYS if isinstance(given.get(key), str)), "")
    key = next((key for key in _INPUT_KEYS if key in given), None)
    if not name:
        return Action("?", "broken", None, (span,))
    state = "missing" if key is None else "read"
    return Action(name.strip(_ROUND), state, given.get(key or ""), (span,))


def _finished(text: str, action: Action) -> Reading:
    """An answer that is written as an action called "Final Answer" or "Finish"."""
    end = action.spans[-1][1]
    answer = action.value if isinstance(action.value, str) else json.dumps(action.value, ensure_ascii=False)
    return Reading("final", end, _size(text[:end]) - _covered(text, action.spans), final="" if action.value is None else answer)


def _covered(text: str, spans: Sequence[tuple[int, int]]) -> int:
    return sum(_size(text[begin:end]) for begin, end in spans)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
