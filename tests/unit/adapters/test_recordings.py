"""Every recorded body and stream yields exactly its facts, read from parsed JSON and from the SDK's objects alike.

Numbers in a test's id are those of the project's list of cases: 023 usage of a Responses stream, 027 nulls and foreign types,
028 a stream that ends before its closing event, 031 cumulative usage, 034 usage repeated with every chunk, 036 cache writes, 040 no
usage, 042 usage in a vendor's member, 043 several snapshots, 069 an unknown stop reason beside a tool call, 114 and 117 one normal
reason everywhere and a missing choice, 116 empty and truncated.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from recordings import Recording, files, flat, forms, read, recordings

from otel_agent.adapters import ADAPTERS
from otel_agent.protocol import Phase
from otel_agent.records.closed import Api

ALL = [pytest.param(recording, id=f"{recording.id}-{form}") for whole in recordings(*ADAPTERS) for form, recording in forms(whole)]


@pytest.mark.parametrize("recording", ALL)
def test_facts(recording: Recording, tallied: Callable[[], list[str]]) -> None:
    """The facts, the visible text, the phases and the counts are those written beside the recording, and no others."""
    api: Api = recording.api  # type: ignore[assignment]

    facts, text, phases = read(ADAPTERS[api], recording)

    assert recording.facts == flat(facts)
    assert recording.answer == text
    assert recording.phases == [phase.name for phase in phases]
    assert sorted(recording.tallies) == tallied()


@pytest.mark.parametrize("recording", [each for each in ALL if each.values[0].events])  # type: ignore[union-attr]
def test_finish_works_at_any_time(recording: Recording) -> None:
    """A stream may end after any event, and asking for its facts changes nothing."""
    adapter = ADAPTERS[recording.api]  # type: ignore[index]
    stream = adapter.accumulator(adapter.read_request(recording.request), None)

    for event in recording.events or ():
        stream.finish()
        assert isinstance(stream.feed(event), Phase)

    assert recording.facts == flat(stream.finish())


@pytest.mark.parametrize("recording", ALL)
def test_no_thinking_in_the_facts(recording: Recording) -> None:
    """The word that stands for thinking in the recordings is in no fact and not in the answer."""
    facts, text, _ = read(ADAPTERS[recording.api], recording)  # type: ignore[index]

    assert "CANARY" not in repr(facts)
    assert "CANARY" not in text


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.stem)
def test_one_case_a_file(path: object) -> None:
    """A file holds a response or a stream, not both."""
    body = json.loads(path.read_text())  # type: ignore[attr-defined]

    assert ("response" in body) != ("events" in body)
