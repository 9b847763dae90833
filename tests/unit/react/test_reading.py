"""What models write, and what it is read as."""

from __future__ import annotations

import time
from typing import Any

import pytest

from otel_agent.react import Step, StepParser

QUERY = {"properties": {"query": {"type": "string"}}, "required": ["query"], "additionalProperties": False}
TOOLS = {"search": QUERY, "issue_refund": QUERY, "now": {"type": "object", "properties": {}}, "classic": None}

ACTIONS: dict[str, str] = {
    "plain": 'Thought: t\nAction: search\nAction Input: {"query": "x"}',
    "lower case": 'thought: t\naction: search\naction input: {"query": "x"}',
    "upper case": 'THOUGHT: t\nACTION: SEARCH\nACTION INPUT: {"query": "x"}',
    "bold label": '**Thought:** t\n**Action:** search\n**Action Input:** {"query": "x"}',
    "bold word": '**Action**: **search**\n**Action Input**: {"query": "x"}',
    "headings": '### Action: search\n### Action Input: {"query": "x"}',
    "quoted": '> Action: "search"\n> Action Input: {"query": "x"}',
    "list": '- Action: search\n- Action Input: {"query": "x"}',
    "numbered": 'Thought 1: t\nAction 1: search\nAction Input 1: {"query": "x"}',
    "enumerated": '1. Thought: t\n2. Action: search\n3. Action Input: {"query": "x"}',
    "underscores": 'Action: search\nAction_Input: {"query": "x"}',
    "no blank": 'Action:search\nActionInput:{"query": "x"}',
    "full width colon": 'Action\uff1asearch\nAction Input\uff1a{"query": "x"}',
    "backticks": 'Action: `search`\nAction Input: `{"query": "x"}`',
    "fence": 'Action: search\nAction Input:\n```json\n{"query": "x"}\n```',
    "bare fence": 'Action: search\nAction Input: ```\n{"query": "x"}\n```\nI will wait.',
    "several lines": 'Action: search\nAction Input: {\n  "query":\n    "x"\n}\n',
    "trailing text": 'Action: search\nAction Input: {"query": "x"} and then I shall see.',
    "name on next line": 'Action:\nsearch\nAction Input:\n{"query": "x"}',
    "one line": 'Action: search Action Input: {"query": "x"}',
    "after a sentence": 'Thought: I should look. Action: search\nAction Input: {"query": "x"}',
    "thought between": 'Action: search\nThought: hm\nAction Input: {"query": "x"}',
    "windows lines": 'Action: search\r\nAction Input: {"query": "x"}\r\n',
    "second action": 'Action: search\nAction Input: {"query": "x"}\nAction: now\nAction Input: {}',
    "blob": 'Action:\n```json\n{"action": "search", "action_input": {"query": "x"}}\n```',
    "tagged deliberation": '<think>\nAction: now\nFinal Answer: 3\n</think>Action: search\nAction Input: {"query": "x"}',
    "half a tag": 'Action: now\n</think>Action: search\nAction Input: {"query": "x"}',
    "stop string left": 'Action: search\nAction Input: {"query": "x"}\nObservation:',
    "bracket": 'Action: search[{"query": "x"}]',
}


@pytest.mark.parametrize("text", ACTIONS.values(), ids=ACTIONS.keys())
def test_an_action_is_found_however_it_is_spelled(text: str) -> None:
    """The same action in every spelling."""
    step = StepParser(TOOLS).parse(text)
    assert (step.outcome, step.tool, step.arguments, step.validation) == ("action", "search", {"query": "x"}, "passed")
    assert step.final is None


def outcome(text: str) -> tuple[Any, ...]:
    """Outcome, tool, arguments, final answer."""
    step = StepParser(TOOLS).parse(text)
    return step.outcome, step.tool, step.arguments, step.final


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thought: t\nFinal Answer: 42", ("final", None, None, "42")),
        ("Thought: I know it now. Final Answer: 42", ("final", None, None, "42")),
        ("**Final Answer:** 42\nand more", ("final", None, None, "42\nand more")),
        (
            "Final Answer: the report\nObservation: it rained",
            ("final", None, None, "the report\nObservation: it rained"),
        ),
        ("Action: None\nAction Input: None\nFinal Answer: 42", ("final", None, None, "42")),
        ("Action: None needed\nFinal Answer: 42", ("final", None, None, "42")),
        ("Action: Finish[42]", ("final", None, None, "42")),
        ("Action: Final Answer\nAction Input: 42", ("final", None, None, "42")),
        ('Action: {"action": "Final Answer", "action_input": {"n": 42}}', ("final", None, None, '{"n": 42}')),
        ("I do not know.", ("malformed", None, None, None)),
        ("", ("malformed", None, None, None)),
        ("Action:", ("malformed", None, None, None)),
        ("Action: search", ("malformed", None, None, None)),
        ('Action: search\nAction Input: {"query": ', ("malformed", None, None, None)),
        ("Action: search\nAction Input: {'query': 'x'}", ("malformed", None, None, None)),
        ('Action: {"name": 3}', ("malformed", None, None, None)),
        ('Action Input: {"query": "x"}', ("malformed", None, None, None)),
        ("<think>Action: search", ("malformed", None, None, None)),
        ("Observation: it is 42\nFinal Answer: 42", ("invented_observation", None, None, None)),
        ("Action: now", ("action", "now", {}, None)),
        ("Action: now\nAction Input: none", ("action", "now", {}, None)),
        ("Action: Issue Refund\nAction Input: x", ("action", "issue_refund", "x", None)),
        ("Action: classic\nAction Input: two\nlines", ("action", "classic", "two\nlines", None)),
        ('Action: classic\nAction Input: "quoted"', ("action", "classic", "quoted", None)),
        ('Action: classic\nAction Input: "a" OR "b"', ("action", "classic", '"a" OR "b"', None)),
        ("Action: classic\nAction Input: [1, 2]", ("action", "classic", [1, 2], None)),
        ("Action: classic\nAction Input: [sic]", ("action", "classic", "[sic]", None)),
        ("Action: classic[a b]", ("action", "classic", "a b", None)),
        ("Action: classic(a b)", ("action", "classic", "a b", None)),
        ("Action: made_up\nAction Input: x", ("action", None, "x", None)),
    ],
)
def test_texts_and_their_outcomes(text: str, expected: tuple[Any, ...]) -> None:
    """One by one."""
    assert outcome(text) == expected


def test_the_action_comes_first_when_an_answer_is_there_as_well() -> None:
    """In either order: the real observation corrects the guess."""
    action = 'Action: search\nAction Input: {"query": "x"}\n'
    for text in (f"{action}Final Answer: 42", f"Final Answer: 42\n{action}"):
        assert outcome(text) == ("both", "search", {"query": "x"}, None)


def test_an_invented_observation_is_cut_with_all_that_follows() -> None:
    """What goes into the history ends with the input."""
    text = 'Thought: t\nAction: search\nAction Input: {"query": "x"}\nObservation: made up\nFinal Answer: 42'
    step = StepParser(TOOLS).parse(text)
    assert (step.outcome, step.tool, step.final) == ("invented_observation", "search", None)
    assert text[: step.end] == 'Thought: t\nAction: search\nAction Input: {"query": "x"}'


def test_labels_inside_the_input_are_content() -> None:
    """Also in strings with line breaks, which JSON does not allow and models write."""
    text = 'Action: search\nAction Input: {"query": "a\nObservation: b\nFinal Answer: c"}\nObservation:'
    assert outcome(text) == ("action", "search", {"query": "a\nObservation: b\nFinal Answer: c"}, None)


def test_a_name_nobody_declared_is_handed_over_apart() -> None:
    """So that the application can say so to the model, and nothing runs it by accident."""
    step = StepParser(TOOLS).parse("Action: made_up\nAction Input: x")
    assert (step.tool, step.written, step.validation) == (None, "made_up", "skipped")


def test_names_that_differ_in_spelling_alone_are_told_apart_exactly() -> None:
    """No guess between two."""
    parser = StepParser(["get_order", "get-order"])
    assert parser.parse("Action: get-order\nAction Input: x").tool == "get-order"
    assert parser.parse("Action: Get Order\nAction Input: x").tool is None


def test_the_input_is_held_against_the_schema() -> None:
    """A mismatch while still parsing: the plain text, the wrong type, the extra argument."""
    parser = StepParser(TOOLS)
    for given, errors in (("paris", 1), ('{"query": 3}', 1), ('{"query": 3, "page": 2}', 2), ("{}", 1), ("[]", 1)):
        step = parser.parse(f"Action: search\nAction Input: {given}")
        assert (step.outcome, step.validation, step.errors) == ("action", "failed", errors), given


def test_what_is_no_text_is_an_empty_one() -> None:
    """Providers send ``None`` for a reply without content."""
    assert StepParser(TOOLS).parse(None) == Step("malformed")  # type: ignore[arg-type]


@pytest.mark.parametrize("migration", ["", "two words", "x" * 49, "1st"])
def test_a_migration_step_is_one_word(migration: str) -> None:
    """It becomes a label of records."""
    with pytest.raises(ValueError, match="one word"):
        StepParser(TOOLS, migration)


@pytest.mark.parametrize(
    "text",
    [
        "*" * 200_000, "#" * 200_000 + "Action:", "Action Input: {" * 20_000, 'Action Input: {"a": "' * 10_000,
        "Action: search\nAction Input: " + "[" * 100_000, "Action: " + "a(" * 50_000, "\n" * 200_000, " " * 200_000,
        "Final Answer" * 20_000, "</think" * 30_000, "Action:\n" * 50_000, "Action: x\nAction Input: " + "9" * 100_000,
    ],
    ids=range(12),
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    """The patterns are bounded; a second is far above what any of them needs."""
    begun = time.perf_counter()
    StepParser(TOOLS).parse(text)
    assert time.perf_counter() - begun < 1.0
