"""A turn that is asked for in the background and fetched later is one turn, whatever records tell of it."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from otel_agent import agent_run
from otel_agent.analysis import economics, migration
from otel_agent.records.background import once
from otel_agent.testing import Standin, capture
from otel_agent.testing.standin import Reply, Text, Usage

ASKED = {
    "run_id": "r", "turn": 1, "response_id": "a", "finish_reason": "pending", "usage_state": "missing", "finish_reasons_raw": ["queued"],
}  # fmt: skip
ENDED = {
    "run_id": "r", "turn": 1, "response_id": "a", "finish_reason": "stop", "usage_state": "complete", "fetched": True,
    "input_tokens": 7,
}  # fmt: skip


def test_a_run_that_was_really_driven() -> None:
    """Two turns, the first in the background: what its own record says, the report says."""
    with Standin() as standin, capture() as telemetry, agent_run("night-shift"):
        standin.script("*", [Reply([Text("One.")], usage=Usage(100, 10), polls=2), Reply([Text("Two.")], usage=Usage(150, 5))])
        client = openai.OpenAI(base_url=standin.openai_url, api_key="none")
        queued = client.responses.create(model="m", input="Hm?", extra_body={"background": True})
        for _ in range(4):
            client.responses.retrieve(queued.id)
        client.responses.create(model="m", input="And?")
    assert len(telemetry.turns) == 3
    report = economics.of_run(telemetry.turns)
    (run,) = telemetry.runs
    assert (report.turns, report.usage_missing_turns) == (2, 0) == (run["otel_agent.run.turns"], run["otel_agent.run.usage_missing_turns"])
    assert (report.input_tokens, report.output_tokens) == (250, 15)
    assert report.resent_tokens is run.get("otel_agent.run.resent_tokens") is None  # two conversations
    (stage,) = migration.report(migration.runs_of((), telemetry.turns)).stages
    assert (stage.requests, stage.usage_missing_turns, stage.input_tokens) == (2, 0, 250)


@pytest.mark.parametrize("without", [(), ("response_id",), ("run_id", "turn")])
def test_the_end_is_found_by_the_response_or_by_the_turn(without: tuple[str, ...]) -> None:
    """In whichever order the two come; what was asked stays, what came back is the end's."""
    asked, ended = ({name: value for name, value in row.items() if name not in without} for row in (ASKED, ENDED))
    expected = {**asked, **ended}
    del expected["finish_reasons_raw"]
    assert once([asked, ended]) == once([ended, asked]) == [expected]


@pytest.mark.parametrize("other", [{"turn": 2, "response_id": "b"}, {"response_id": "_OTHER"}, {}])
def test_other_turns_stay_apart(other: dict[str, Any]) -> None:
    """Those of another number or response, and those of which neither is known."""
    rows = [ASKED, {**{name: value for name, value in ENDED.items() if name not in ("turn", "response_id")}, **other}]
    assert once(rows) == rows


def test_an_end_that_another_run_saw_belongs_to_the_run_that_asked() -> None:
    """Whose stream had broken off: that is no failure of the turn."""
    broken = {**ASKED, "finish_reason": "error", "error_type": "APIConnectionError", "request_model": "alias"}
    elsewhere = {name: value for name, value in ENDED.items() if name != "turn"} | {"run_id": "other", "model_kind": "unknown"}
    (turn,) = once([broken, elsewhere])
    assert (turn["run_id"], turn["turn"], turn["request_model"], turn["finish_reason"]) == ("r", 1, "alias", "stop")
    assert "error_type" not in turn


def test_two_ends_of_one_response_are_one() -> None:
    """Two processes may each have fetched it."""
    alone = {name: value for name, value in ENDED.items() if name not in ("run_id", "turn")}
    assert once([alone, alone]) == [alone]
    assert economics.of_run([ASKED, ENDED, alone]).input_tokens == 7
