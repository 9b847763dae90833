"""No adapter touches a member that carries thinking: objects that raise when one is read pass through all of them.

What raises is built from the recordings, so whatever shape a recording has is tried. A mutant that reads such a member must trip.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from recordings import Recording, flat, read, recordings

from otel_agent import adapters, protocol, stored
from otel_agent.adapters import ADAPTERS, anthropic_messages, members
from otel_agent.fields import get
from otel_agent.protocol import Phase

NEVER: Final = frozenset({
    "thinking", "signature", "data", "encrypted_content", "estimated_tokens",
    "reasoning_content", "reasoning_text", "reasoning_details", "reasoning_opaque", "thinking_blocks", "thought", "analysis",
    "cot_summary", "tool_plan", "summary", "cited_text", "explanation", "message_text", "obfuscation", "logprobs",
    "arguments", "partial_json", "input", "description",
})  # fmt: skip
"""Thinking, its sealed forms, and what may quote it. ``reasoning`` is one as a member of a message, and a setting elsewhere."""

DELIBERATING: Final = frozenset({
    "thinking", "redacted_thinking", "compaction", "reasoning", "reasoning_text", "summary_text", "thinking_delta",
    "signature_delta", "compaction_delta", "citations_delta", "hologram", "novelty", "advisor_result",
})  # fmt: skip
"""Types of objects of which nothing but the type may be read."""

ALLOWED_THERE: Final = frozenset({
    "type", "index", "id", "phase", "action", "input_tokens", "output_tokens", "cache_read_input_tokens",
    "cache_creation_input_tokens",
})  # fmt: skip
"""``action`` is what the provider did with a replayed item; the counts are those of a compaction."""


class Touched(AssertionError):
    """A member that carries thinking was read."""


def _is_never(body: dict[str, Any], name: str) -> bool:
    if str(body.get("type")) in DELIBERATING and name not in ALLOWED_THERE:
        return True
    in_message = "role" in body or "content" in body or "refusal" in body
    return name in NEVER or (name == "reasoning" and ("output" not in body and (in_message or set(body) <= {"reasoning"})))


LITERALS: Final = frozenset(
    node.value
    for path in (Path(protocol.__file__), *Path(adapters.__file__).parent.glob("*.py"))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
)
"""Every name an adapter could ask for: they read by names of their own tables alone."""


class Wire(str):
    """A key that raises when a look-up compares with it, however it is looked up; but whether it is there may be asked (``has_any``)."""

    there = False
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        """Raise; only equal hashes are compared."""
        if sys._getframe(1).f_code is members.has_any.__code__:
            return self.there
        raise Touched(str.__str__(self))


def _wires(body: dict[str, Any]) -> list[Wire]:
    """Where there may be forbidden members, in the body or not."""
    names = NEVER | {"reasoning"} | body.keys() | (LITERALS if str(body.get("type")) in DELIBERATING else frozenset())
    wires = {name: Wire(name) for name in names if _is_never(body, name)}
    for name, each in wires.items():
        each.there = name in body
    return [*wires.values()]


class WiredDict(dict):  # type: ignore[type-arg]
    """Parsed JSON whose forbidden members, iteration and printing raise; its forbidden members also where its methods are passed by."""

    def __init__(self, body: dict[str, Any]) -> None:
        allowed = {name: wire(value, WiredDict) for name, value in body.items() if not _is_never(body, name)}
        super().__init__(allowed | dict.fromkeys(_wires(body)))
        self.plain = body

    def _check(self, name: Any) -> None:
        if isinstance(name, str) and _is_never(self.plain, name):
            raise Touched(name)

    def __getitem__(self, name: Any) -> Any:
        """Raise for a forbidden member."""
        self._check(name)
        return super().__getitem__(name)

    def get(self, name: Any, default: Any = None) -> Any:
        """Raise for a forbidden member."""
        self._check(name)
        return super().get(name, default)

    def _refuse(self, *_: object) -> Any:
        raise Touched("the whole of it")

    __iter__ = items = values = copy = __repr__ = __str__ = __reduce__ = _refuse


class WiredObject:
    """An SDK's model whose forbidden members, dumping and printing raise; members outside the interface are in ``model_extra``."""

    __slots__ = ("_body", "_extra")

    def __init__(self, body: dict[str, Any]) -> None:
        object.__setattr__(self, "_body", body)
        object.__setattr__(self, "_extra", WiredDict(body))

    def __getattribute__(self, name: str) -> Any:
        """Raise for a forbidden member, whether it is there or not."""
        body = object.__getattribute__(self, "_body")
        if name in ("__class__", "__pydantic_fields_set__", "model_fields_set"):
            return set(body) if name != "__class__" else WiredObject
        if name in ("__pydantic_extra__", "model_extra"):
            return object.__getattribute__(self, "_extra")
        if name.startswith("model_") or name in ("__dict__", "dict", "json", "copy", "to_dict") or _is_never(body, name):
            raise Touched(name)
        if name not in body:
            raise AttributeError(name)
        return wire(body[name], WiredObject)

    def __repr__(self) -> str:
        """Never."""
        raise Touched("repr")

    __str__ = __repr__

    def __iter__(self) -> Iterator[Any]:
        """Never."""
        raise Touched("iteration")


def wire(value: Any, kind: type) -> Any:
    """A JSON value with every object in it wired, lazily."""
    if type(value) is dict:
        return kind(value)
    if type(value) is list:
        return [wire(each, kind) for each in value]
    return value


def wired(recording: Recording, kind: type) -> Recording:
    """A recording whose response or events are wired."""
    copy = Recording(**vars(recording))
    copy.response = wire(recording.response, kind)
    copy.events = None if recording.events is None else [wire(event, kind) for event in recording.events]
    return copy


CASES: Final = [
    pytest.param(recording, kind, id=f"{recording.id}-{kind.__name__}")
    for recording in recordings(*ADAPTERS)
    for kind in (WiredDict, WiredObject)
]


@pytest.mark.parametrize(("recording", "kind"), CASES)
def test_nothing_forbidden_is_read(recording: Recording, kind: type) -> None:
    """The facts are the same, and no wire trips."""
    facts, text, phases = read(ADAPTERS[recording.api], wired(recording, kind))  # type: ignore[index]

    assert recording.facts == flat(facts)
    assert recording.answer == text
    assert recording.phases == [phase.name for phase in phases]


READS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "fields.get": get, "stored.read": stored.read, "member": members.member, "finder": lambda body, name: members.finder(body)(name),
    "dict.get": dict.get, "dict.__getitem__": dict.__getitem__, "in": lambda body, name: name in body, "get": WiredDict.get,
    "itemgetter": lambda body, name: itemgetter(name)(body),
}  # fmt: skip


@pytest.mark.parametrize("look", READS.values(), ids=READS)
def test_a_wire_trips_however_it_is_read(look: Callable[[Any, str], Any]) -> None:
    """Also past the dictionary's own methods, and where the member is absent; in objects inside it too."""
    body = WiredDict({"type": "x", "thinking": "t", "inner": [{"type": "reasoning", "summary": []}]})
    assert look(body, "type")
    (inner,) = body.get("inner")
    for wired_body, names in ((body, ("thinking", "signature")), (inner, ("summary", "content", "text", "status"))):
        for name in names:
            with pytest.raises(Touched):
                look(wired_body, name)


def test_whether_thinking_is_there_may_be_asked() -> None:
    """As it is asked of servers' own members."""
    body = WiredDict({"role": "assistant", "reasoning_content": "t"})
    assert members.has_any(body, ("reasoning_content",))
    assert not members.has_any(body, ("reasoning_details", "reasoning"))


THINKING_CASES: Final = [each for each in CASES if "CANARY" in str(vars(each.values[0]))]  # type: ignore[arg-type]


def test_the_recordings_carry_thinking() -> None:
    """Enough of the recordings hold something to trip over."""
    assert len(THINKING_CASES) >= 40


class _Bad:
    """An adapter that reads one forbidden member in passing."""

    def __init__(self, path: str) -> None:
        self.path = path

    def spoil(self, body: Any) -> None:
        """Read it wherever it may be."""
        for block in body if isinstance(body, list) else [body]:
            if isinstance(block, dict):
                block.get(self.path)
            elif block is not None:
                getattr(block, self.path, None)


@pytest.mark.parametrize("kind", [WiredDict, WiredObject])
@pytest.mark.parametrize("path", ["thinking", "signature"])
def test_a_mutant_trips(kind: type, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that reads a thinking block's text is caught, so the wires are live."""
    bad, original = _Bad(path), anthropic_messages.MessagesStream.open_block

    def open_block(self: Any, index: int, block: Any) -> Phase:
        bad.spoil(block)
        return original(self, index, block)

    monkeypatch.setattr(anthropic_messages.MessagesStream, "open_block", open_block)
    recording = next(each for each in recordings("messages") if each.name == "anthropic/thinking_text")

    with pytest.raises(Touched):
        read(anthropic_messages, wired(recording, kind))


@pytest.mark.parametrize("kind", [WiredDict, WiredObject])
@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_details"])
def test_a_mutant_of_the_chat_adapter_trips(kind: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the members of compatible servers."""
    module: ModuleType = __import__("otel_agent.adapters.chat_stream", fromlist=["ChatStream"])
    original = module.ChatStream.read_choice

    def read_choice(self: Any, source: Any, holder: str, position: int) -> Phase:
        _Bad(name).spoil(get(source, holder))
        return original(self, source, holder, position)

    monkeypatch.setattr(module.ChatStream, "read_choice", read_choice)
    recording = next(each for each in recordings("chat_completions") if each.name == "openrouter/reasoning_details")

    with pytest.raises(Touched):
        read(ADAPTERS["chat_completions"], wired(recording, kind))


@pytest.mark.parametrize("act", [repr, str, list, lambda body: body.items()])
def test_a_wired_object_gives_itself_away_to_no_one(act: Any) -> None:
    """Printing, dumping and walking trip as well."""
    for kind in (WiredDict, WiredObject):
        with pytest.raises((Touched, AttributeError)):
            act(kind({"type": "thinking", "thinking": "x"}))


REQUEST: Final = {
    "messages": {
        "model": "claude-opus-4-6",
        "messages": [
            WiredDict({"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]}),
            WiredDict({"role": "system", "content": "Be brief.", "output_config": {"effort": "low"}}),
        ],
    },
    "chat_completions": {"model": "m", "messages": [WiredDict({"role": "assistant", "content": "a", "reasoning_content": "x"})]},
    "responses": {
        "model": "m",
        "input": [
            WiredDict({"type": "reasoning", "summary": [], "encrypted_content": "x"}),
            WiredDict({"type": "configuration_update", "reasoning": {"effort": "low"}, "output": None}),
        ],
    },
}


@pytest.mark.parametrize("api", sorted(REQUEST))
def test_replayed_thinking_is_not_read(api: str) -> None:
    """Thinking sent back in a request is passed by, and settings beside it are found."""
    adapter = ADAPTERS[api]  # type: ignore[index]

    facts = adapter.read_request(REQUEST[api])
    adapter.conversation(REQUEST[api])

    assert (None if api == "chat_completions" else "low") == facts.reasoning_level
