"""A list, tuple or string of a subclass is read as the plain one underneath, which goes out as JSON; nothing it overrides is called."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
from recordings import Recording, flat, read, recordings

from otel_agent.adapters import ADAPTERS
from otel_agent.digest import Digester
from otel_agent.fields import items
from otel_agent.history import History
from otel_agent.records.closed import Api


def _called(*_: object) -> NoReturn:
    raise RuntimeError("called")


class Rows(list):  # type: ignore[type-arg]
    __iter__ = __len__ = __getitem__ = __bool__ = __eq__ = _called  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Row(tuple):  # type: ignore[type-arg]
    __slots__ = ()
    __iter__ = __len__ = __getitem__ = __bool__ = _called  # type: ignore[assignment]


class Text(str):
    __slots__ = ()
    __len__ = __str__ = __iter__ = __bool__ = _called  # type: ignore[assignment]


MESSAGES = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "Oslo."}, {"role": "user", "content": "Why?"}]
TOOL = {
    "messages": {"name": "find", "input_schema": {}},
    "chat_completions": {"type": "function", "function": {"name": "find"}},
    "responses": {"type": "function", "name": "find"},
}
KINDS = pytest.mark.parametrize("kind", [Rows, Row])


@KINDS
@pytest.mark.parametrize("api", TOOL)
def test_a_history_of_a_subclass_is_a_history(api: Api, kind: type) -> None:
    """Its messages, its tools, and the digest over them are those of the plain list."""
    adapter, member = ADAPTERS[api], "input" if api == "responses" else "messages"
    body: dict[str, Any] = {"model": "m", member: MESSAGES, "tools": [TOOL[api]]}
    odd = {**body, member: kind(MESSAGES), "tools": kind([TOOL[api]])}
    plain, found = adapter.conversation(body), adapter.conversation(odd)
    assert plain is not None
    assert found is not None
    digester = Digester(b"k" * 32, "k")
    assert History(digester).observe(found) == History(digester).observe(plain)
    assert adapter.read_request(odd) == adapter.read_request(body)
    assert adapter.read_request(odd).tool_names == ("find",)


def test_an_input_that_is_a_string_of_a_subclass() -> None:
    """One item, as for a plain one."""
    found = ADAPTERS["responses"].conversation({"input": Text("Where?")})
    assert found is not None
    assert [type(item) for item in found.items] == [str]


@pytest.mark.parametrize("value", [iter(MESSAGES), {}, "text", None, 1])
def test_nothing_else_is_a_list(value: Any) -> None:
    """A one-shot iterable is the caller's to walk."""
    assert items(value) == ()
    assert ADAPTERS["messages"].conversation({"messages": value}) is None
    assert ADAPTERS["chat_completions"].conversation({"messages": value}) is None


@KINDS
def test_what_a_server_sends_may_be_one_too(kind: type) -> None:
    """Rewritten by whoever stands between the SDK and us."""
    assert items(kind(MESSAGES)) == (MESSAGES if kind is Rows else tuple(MESSAGES))


class Table(dict):  # type: ignore[type-arg]
    __getitem__ = get = keys = items = values = __iter__ = __len__ = __bool__ = __contains__ = _called  # type: ignore[assignment]


def tables(value: Any) -> Any:
    """The same with every object in it of a subclass."""
    if type(value) is dict:
        return Table({name: tables(inner) for name, inner in value.items()})
    return Rows([tables(each) for each in value]) if type(value) is list else value


@pytest.mark.parametrize("recording", recordings(*ADAPTERS), ids=lambda recording: recording.id)
def test_what_dictionaries_of_a_subclass_override_is_not_called(recording: Recording) -> None:
    """Responses and events, as parsed into an application's own kind of dictionary."""
    odd = Recording(**vars(recording))
    odd.response = tables(recording.response)
    odd.events = None if recording.events is None else [tables(event) for event in recording.events]
    facts, text, phases = read(ADAPTERS[recording.api], odd)  # type: ignore[index]
    assert recording.facts == flat(facts)
    assert (recording.answer, recording.phases) == (text, [phase.name for phase in phases])
