"""What is recorded of a step, and what is not."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import otel_agent
from otel_agent.react import StepParser
from otel_agent.testing import capture

CANARY = "quokka-zephyr-7431"
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = {"search": QUERY, "now": None}


def recorded(*texts: str, **options: Any) -> list[dict[str, Any]]:
    """Facts of the steps of one run."""
    parser = StepParser(TOOLS, **options)
    with capture() as telemetry, otel_agent.agent_run("old-agent"):
        for text in texts:
            parser.parse(text)
        return telemetry.facts("text_step")


def test_an_action_is_recorded_by_its_facts() -> None:
    """Tool, digest, verdict, size band, migration step, run and number."""
    text = 'Thought: I wonder.\nAction: search\nAction Input: {"query": "x"}'
    first, second = recorded(text, "Final Answer: 42", migration="parsing")
    assert first["otel_agent.step.outcome"] == "action"
    assert first["gen_ai.tool.name"] == "search"
    assert first["otel_agent.tool.arguments_digest"].startswith("hmac-sha256:")
    assert first["otel_agent.tool.validation"] == "passed"
    assert first["otel_agent.step.dead_text_band"] == 64
    assert first["otel_agent.step.migration"] == "parsing"
    assert (first["otel_agent.step.number"], second["otel_agent.step.number"]) == (1, 2)
    assert first["otel_agent.run.id"] == second["otel_agent.run.id"]
    assert second["otel_agent.step.outcome"] == "final"
    assert second["otel_agent.step.dead_text_band"] == 0


def test_the_digest_is_that_of_the_typed_call() -> None:
    """A text agent and a typed agent that call the same are told to have called the same."""
    with capture() as telemetry:
        StepParser(TOOLS).parse('Action: search\nAction Input: {"query": "x"}')
        otel_agent.tool("search", schema=QUERY)(lambda query: query)(query="x")
        step, call = telemetry.facts("text_step")[0], telemetry.tools[0]
    assert step["otel_agent.tool.arguments_digest"] == call["otel_agent.tool.arguments_digest"]


def test_failures_have_their_facts_too() -> None:
    """A malformed step keeps its tool; a name that was made up is none."""
    broken, unknown, mismatch = recorded(
        'Action: search\nAction Input: {"query"',
        "Action: ask the boss\nAction Input: x",
        "Action: search\nAction Input: x",
    )
    assert (broken["otel_agent.step.outcome"], broken["gen_ai.tool.name"]) == ("malformed", "search")
    assert (unknown["otel_agent.step.outcome"], unknown["gen_ai.tool.name"]) == ("action", "_OTHER")
    assert (mismatch["otel_agent.tool.validation"], mismatch["otel_agent.tool.validation_errors"]) == ("failed", 1)


def test_each_step_is_counted_by_outcome() -> None:
    """The metric that a dashboard reads."""
    with capture() as telemetry:
        for text in ("Final Answer: 1", "hm", "hm"):
            StepParser(TOOLS).parse(text)
        assert telemetry.total("otel_agent.text_steps", otel_agent__step__outcome="malformed") == 2
        assert telemetry.total("otel_agent.text_steps", otel_agent__step__outcome="final") == 1


WORDS = st.sampled_from(
    [
        "Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "\n", " ", "search", "```json", "```",
        '{"query": "x"}', '{"query": ', "**", "<think>", "</think>", "[", "]", "(", ")", "\ud800", "\x00",
        CANARY, "None",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.lists(st.one_of(WORDS, st.text(max_size=8)), max_size=25).map("".join), st.text(max_size=80))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=st.lists(TEXTS, min_size=1, max_size=5))
def test_no_text_raises_and_no_text_is_recorded(texts: list[str]) -> None:
    """Whatever the text, under a loud guard."""
    with capture() as telemetry:
        parser = StepParser(TOOLS, "parsing")
        for text in texts:
            step = parser.parse(text)
            assert CANARY not in repr(step)
            assert 0 <= step.end <= len(text)
        assert len(telemetry.facts("text_step")) == len(texts)
        assert CANARY not in telemetry.everything()


THOUGHTS = st.text(st.characters(blacklist_characters=":\uff1a<", blacklist_categories=["Cs"]), max_size=30)
ENDINGS = st.sampled_from(
    [
        'Action: search\nAction Input: {"query": "x"}', "Final Answer: 42", "",
        'Action: search\nAction Input: {"query": ', "Action: nobody\nAction Input: x",
        'Action: search\nAction Input: {"query": "x"}\nObservation: y\nFinal Answer: z',
    ]
)  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(thought=THOUGHTS, ending=ENDINGS)
def test_the_thought_is_nowhere(thought: str, ending: str) -> None:
    """Not in what the application gets, not in what is recorded; and it changes nothing about the step."""
    with capture() as telemetry:
        step = StepParser(TOOLS).parse(f"Thought: {thought} {CANARY} {thought}\n{ending}")
        bare = StepParser(TOOLS).parse(ending)
        assert CANARY.encode() not in pickle.dumps(step)
        assert CANARY not in telemetry.everything()
    assert (step.outcome, step.tool, step.arguments, step.final) == (
        bare.outcome,
        bare.tool,
        bare.arguments,
        bare.final,
    )
