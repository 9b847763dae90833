"""The migration report: from plain records, and from two agents that really do the same job."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import openai
import pytest

import otel_agent
from otel_agent.analysis import migration, migration_cli
from otel_agent.analysis.migration_tables import render
from otel_agent.loop import Loop, OpenAIChat, Tool, Toolbox
from otel_agent.react import StepParser
from otel_agent.testing import Capture, Standin, capture
from otel_agent.testing.standin import PerTurn, Reply, Text, ToolUse, Usage

MODEL = "the-model"
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
THOUGHT = "Thought: " + "x" * 242
"""With its line break 252 bytes: 63 tokens at 4 bytes each."""


def step(number: int, run: str = "r1", outcome: str = "action", band: int = 0, **facts: Any) -> dict[str, Any]:
    """A text step as the local store gives it."""
    return {"run_id": run, "step": number, "outcome": outcome, "dead_text_band": band, **facts}


def test_reflections_of_63_tokens_over_four_tool_steps_cost_630() -> None:
    """Exactly, with the caller's counts; from the bands of 256 bytes, 640, and said to be an estimate."""
    steps = [step(number, band=256) for number in range(1, 5)] + [step(5, outcome="final")]
    runs = migration.runs_of(steps)
    counted = {("r1", number): 63 for number in range(1, 5)} | {("r1", 5): 0}
    exact, estimated = migration.report(runs, dead_tokens=counted).stages[0], migration.report(runs).stages[0]
    assert (exact.dead_resent_tokens, exact.dead_method) == (630, migration.EXACT)
    assert estimated.dead_resent_tokens == 640
    assert estimated.dead_method is not None
    assert estimated.dead_method.startswith("estimated")
    assert "estimated" in render(migration.report(runs))


def test_a_count_that_is_missing_makes_the_sum_an_estimate() -> None:
    """Some exact figures do not make an exact sum."""
    runs = migration.runs_of([step(1, band=64), step(2, band=64)])
    assert migration.report(runs, dead_tokens={("r1", 1): 3}).stages[0].dead_method == migration.ESTIMATED


def test_the_mismatch_rate_is_of_the_inputs_that_were_checked() -> None:
    """Steps without a schema are not counted as fitting."""
    verdicts = ["passed", "failed", "passed", "failed", "skipped"]
    steps = [step(number, validation=verdict) for number, verdict in enumerate(verdicts, 1)]
    (stage,) = migration.report(migration.runs_of(steps)).stages
    assert (stage.checked, stage.mismatched, stage.mismatch_rate) == (4, 2, 0.5)
    (unchecked,) = migration.report(migration.runs_of([step(1)])).stages
    assert unchecked.mismatch_rate is None


def test_steps_that_do_not_say_leave_the_figures_absent() -> None:
    """Shares are of those that say."""
    (silent,) = migration.report(migration.runs_of([{"run_id": "r", "step": 1}])).stages
    assert (silent.steps, silent.outcomes, silent.malformed_share, silent.checked, silent.dead_resent_tokens) == (1, {}, None, None, None)
    (some,) = migration.report(migration.runs_of([{"run_id": "r", "step": 1}, step(2, "r", "malformed", 64), step(3, "r")])).stages
    assert (some.malformed_share, some.invented_share, some.dead_resent_tokens) == (0.5, 0.0, 16)
    assert "outcomes" in render(migration.report(migration.runs_of([step(1)])))


def test_changes_are_attributed_to_the_stage_that_made_them() -> None:
    """Stages in the order of their first run; differences of means and shares."""
    steps = [
        step(1, "a", migration="parsing", outcome="malformed"), step(2, "a", migration="parsing", outcome="final"),
        step(1, "b", migration="schemas", outcome="final"),
    ]  # fmt: skip
    turns = [{"run_id": run, "turn": turn, "input_tokens": 100 * turn} for run, turn in (("a", 1), ("a", 2), ("b", 1), ("c", 1))]
    tools = [{"run_id": "c", "tool": "search", "outcome": "error", "validation": "passed"}]
    report = migration.report(migration.runs_of(steps, turns, tools))
    assert [stage.stage for stage in report.stages] == ["parsing", "schemas", "typed"]
    first, second = report.changes
    assert (first.before, first.after) == ("parsing", "schemas")
    assert first.differences["malformed_share"] == -0.5
    assert first.differences["input_tokens_per_run"] == -200
    assert "malformed_share" not in second.differences
    assert report.stages[2].tool_failure_share == 1.0
    assert "-50.0 points" in render(report)


def test_nothing_recorded_is_no_stage() -> None:
    """And no table."""
    assert migration.report([]) == migration.Migration((), ())
    assert render(migration.report([])) == ""


TEXTS = [
    f'{THOUGHT}\nAction: search\nAction Input: {{"query": "lamp"}}', f"{THOUGHT}\nAction: search\nAction Input: lamps",
    f'{THOUGHT}\nAction: search\nAction Input: {{"query": "lamps"}}\nObservation: 7\nFinal Answer: 7', "Final Answer: 4",
]  # fmt: skip


def search(query: str) -> str:
    """The tool of both agents."""
    return f"4 of {query}"


def text_agent(client: Any) -> None:
    """Finds its actions in text."""
    parser = StepParser({"search": QUERY}, migration="parsing")
    tool = otel_agent.tool("search", schema=QUERY, effect="read")(search)
    messages: list[Any] = [{"role": "user", "content": "How many lamps?"}]
    while True:
        text = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message.content
        found = parser.parse(text)
        if found.tool is None:
            return
        fits = isinstance(found.arguments, dict)
        said = tool(**found.arguments) if fits else "The input is no JSON object."
        messages += [
            {"role": "assistant", "content": text[: found.end]},
            {"role": "user", "content": f"Observation: {said}"},
        ]


def typed_agent(client: Any) -> None:
    """The same job with typed calls."""
    Loop(OpenAIChat(client, model=MODEL), Toolbox([Tool("search", search, "", QUERY, "read")])).run("How many lamps?")


@contextmanager
def both() -> Iterator[Capture]:
    """The two agents, recorded one after the other; each text turn is 100 tokens, each typed one 40."""
    texts = [Reply([Text(text)], usage=Usage(output=80)) for text in TEXTS]
    calls = [
        Reply([ToolUse("search", {"query": "lamp"})], usage=Usage(output=20)),
        Reply([Text("4")], usage=Usage(output=5)),
    ]
    with capture() as telemetry:
        with Standin(seed="text", tokens=PerTurn(500, 100)) as standin:
            client = openai.OpenAI(base_url=standin.script(MODEL, texts).openai_url, api_key="none")
            with otel_agent.agent_run("old"):
                text_agent(client)
        with Standin(seed="typed", tokens=PerTurn(500, 40)) as standin:
            typed_agent(openai.OpenAI(base_url=standin.script(MODEL, calls).openai_url, api_key="none"))
        yield telemetry


def test_a_text_agent_and_a_typed_one_that_do_the_same_job_stand_side_by_side() -> None:
    """Turns, tokens, malformed share, mismatches and failures, all from what was recorded of real calls."""
    with both() as telemetry:
        runs = migration.runs_of(telemetry.facts("text_step"), telemetry.turns, telemetry.tools)
    text, typed = migration.report(runs).stages
    assert (text.stage, typed.stage) == ("parsing", "typed")
    assert (text.requests, typed.requests) == (4, 2)
    assert (text.input_tokens, typed.input_tokens) == (4 * 500 + 100 * 6, 2 * 500 + 40)
    assert (text.output_tokens, typed.output_tokens) == (320, 25)
    assert dict(text.outcomes) == {"action": 2, "final": 1, "invented_observation": 1}
    assert (text.checked, text.mismatched, text.mismatch_rate) == (3, 1, 0.3333)
    assert (typed.checked, typed.mismatched, typed.mismatch_rate) == (1, 0, 0.0)
    assert text.dead_resent_tokens == 64 * (3 + 2 + 1)
    assert typed.dead_resent_tokens is None
    assert (text.malformed_share, typed.malformed_share) == (0.0, None)
    (change,) = migration.report(runs).changes
    assert change.differences["requests_per_run"] == -2.0
    assert change.differences["input_tokens_per_run"] == -1560.0


def call(*words: str, store: Mapping[str, Any]) -> int:
    """The verb, on a store."""
    parser = argparse.ArgumentParser()
    migration_cli.add_arguments(parser)
    return migration_cli.run(parser.parse_args(words), lambda arguments: store.get(arguments.run))


STORE = {
    "old": {
        "turn_records": [{"turn": 1, "input_tokens": 10, "executions": []}],
        "steps": [step(1, "old", "malformed", 64)], "executions": [],
    },
    "new": {
        "turn_records": [{"turn": 1, "input_tokens": 5, "executions": [{"tool": "search", "outcome": "ok", "validation": "passed"}]}],
        "steps": [], "executions": [{"tool": "search", "outcome": "denied", "validation": "passed"}],
    },
}  # fmt: skip


def test_the_verb_reads_runs_and_takes_names_for_stages(capsys: pytest.CaptureFixture[str]) -> None:
    """Executions hang on turns, or on none."""
    assert call("old", "transport=new", "--json", store=STORE) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [stage["stage"] for stage in printed["stages"]] == ["text", "transport"]
    assert (printed["stages"][1]["tool_calls"], printed["stages"][1]["tool_failures"]) == (2, 1)
    assert "mismatch_rate" not in printed["stages"][0]
    assert printed["changes"][0]["differences"]["input_tokens_per_run"] == -5.0


def test_the_verb_prints_text_and_refuses_an_unknown_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, with the run's name."""
    assert call("old", "new", store=STORE) == 0
    assert "text → typed" in capsys.readouterr().out
    assert call("old", "other", store=STORE) == 2
    assert "there is no run other; otel-agent runs lists them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("old", "old"), "old"), (("old", "new", "transport=old"), "old"), (("a=old", "b=old"), "old"), (("ab12", "ab"), "ab"),
        (("0af7", "0a"), "0a"),
    ],
)  # fmt: skip
def test_the_verb_refuses_a_run_that_is_named_twice(words: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also by another beginning of its id, or for another stage: it would be counted twice, or be compared with itself."""
    one, trace = {**STORE["new"], "run_id": "ab12"}, {**STORE["new"], "trace_id": "0af7"}
    store = {**STORE, "ab12": one, "ab": one, "0af7": trace, "0a": trace}
    assert call(*words, store=store) == 2
    told = capsys.readouterr()
    assert told.err == f"otel-agent migration: {named} is a run that is named already; name each run once\n"
    assert told.out == ""


def test_the_verb_takes_several_runs_of_a_stage_and_of_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs are two, whatever trace they are in."""
    store = {name: {**STORE["new"], "run_id": name, "trace_id": "0af7"} for name in ("one", "two")}
    assert call("one", "two", "--json", store=store) == 0
    [stage] = json.loads(capsys.readouterr().out)["stages"]
    assert (stage["runs"], stage["tool_calls"]) == (2, 4)
