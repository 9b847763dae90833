"""*Run*: one run, turn by turn and call by call, from the log records, beside its trace.

Fields of the log store are the vocabulary's attribute names; its own are ``_time``, ``event_name``, ``trace_id`` and ``span_id``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dashboards import names
from dashboards import queries as q
from dashboards.panels import Board, Link, Logs, Panel, Row, Text, Trace
from dashboards.thresholds import Thresholds
from otel_agent import semconv as s

VARIABLES: Final = (
    *q.VARIABLES[:2],
    Text("run", "Run", "Id of the run to show; a click on a run in the list fills it in."),
    Text("trace", "Trace", "Id of the run's trace; filled in with the run."),
)
OPEN: Final = Link(
    "Show this run",
    f'/d/otel-agent-run?var-run=${{__data.fields["{s.OTEL_AGENT_RUN_ID}"]}}&var-trace=${{__data.fields.trace_id}}&${{__url_time_range}}',
)

RUNS: Final = (
    s.OTEL_AGENT_RUN_ID, s.GEN_AI_AGENT_NAME, s.OTEL_AGENT_RUN_END_REASON, s.OTEL_AGENT_RUN_TURNS, s.OTEL_AGENT_RUN_TOOL_CALLS,
    s.OTEL_AGENT_RUN_TOOL_FAILURES, s.OTEL_AGENT_RUN_MAX_REPEAT, s.OTEL_AGENT_RUN_INPUT_TOKENS, s.OTEL_AGENT_RUN_OUTPUT_TOKENS,
    s.OTEL_AGENT_DURATION, "trace_id",
)  # fmt: skip
FACTS: Final = (
    s.OTEL_AGENT_RUN_END_REASON, s.ERROR_TYPE, s.GEN_AI_REQUEST_MODEL, s.GEN_AI_CONVERSATION_ID, s.OTEL_AGENT_RUN_TRUNCATED_TURNS,
    s.OTEL_AGENT_RUN_CACHE_READ_TOKENS, s.OTEL_AGENT_RUN_REASONING_TOKENS, s.OTEL_AGENT_RUN_RESENT_TOKENS,
    s.OTEL_AGENT_RUN_USAGE_MISSING_TURNS, s.OTEL_AGENT_RUN_PREFIX_BREAKS, s.OTEL_AGENT_RUN_REPEATS, s.OTEL_AGENT_RUN_CYCLES,
    s.OTEL_AGENT_RUN_CONFLICTING_WRITES, s.OTEL_AGENT_RUN_DENIED, s.OTEL_AGENT_BUDGET_EXCEEDED,
)  # fmt: skip
TURNS: Final = (
    s.OTEL_AGENT_RUN_TURN, s.GEN_AI_RESPONSE_MODEL, s.GEN_AI_REQUEST_REASONING_LEVEL, s.OTEL_AGENT_RESPONSE_FINISH_REASON,
    s.OTEL_AGENT_RESPONSE_TRUNCATED, s.OTEL_AGENT_RESPONSE_TOOL_CALL_NAMES, s.GEN_AI_USAGE_INPUT_TOKENS,
    s.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, s.GEN_AI_USAGE_OUTPUT_TOKENS, s.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
    s.OTEL_AGENT_HISTORY_PREFIX_BREAK, s.OTEL_AGENT_REQUEST_ATTEMPTS, s.ERROR_TYPE, s.OTEL_AGENT_DURATION, "span_id",
)  # fmt: skip
TOOLS: Final = (
    s.OTEL_AGENT_RUN_TURN, s.GEN_AI_TOOL_NAME, s.OTEL_AGENT_TOOL_OUTCOME, s.ERROR_TYPE, s.OTEL_AGENT_TOOL_EFFECT,
    s.OTEL_AGENT_TOOL_VALIDATION, s.OTEL_AGENT_POLICY_DECISION, s.OTEL_AGENT_POLICY_RULE_ID, s.OTEL_AGENT_APPROVAL_STATE,
    s.OTEL_AGENT_TOOL_ARGUMENTS_DIGEST, s.OTEL_AGENT_TOOL_RESULT_DIGEST, s.OTEL_AGENT_TOOL_RESULT_IDS, s.OTEL_AGENT_TOOL_REPEAT,
    s.OTEL_AGENT_TOOL_OVERLAP, s.OTEL_AGENT_DURATION, "span_id",
)  # fmt: skip
STEPS: Final = (s.OTEL_AGENT_STEP_NUMBER, s.OTEL_AGENT_STEP_OUTCOME, s.GEN_AI_TOOL_NAME, s.OTEL_AGENT_TOOL_VALIDATION)
OTHERS: Final = (
    "event_name", s.GEN_AI_DATA_SOURCE_ID, s.OTEL_AGENT_RETRIEVAL_DOCUMENT_COUNT, s.OTEL_AGENT_RETRIEVAL_DOCUMENT_IDS,
    s.OTEL_AGENT_FEEDBACK_KIND, s.OTEL_AGENT_FEEDBACK_RATING, s.OTEL_AGENT_FEEDBACK_SOURCE,
)  # fmt: skip


def board(_: Thresholds) -> Board:
    """The Run board."""
    return Board(
        "run",
        "Agents: one run",
        "Pick a run from the list, or come here from a trace, and read what it did: facts only, no text of the conversation is kept.",
        VARIABLES,
        (_choose(), _facts(), _steps()),
    )


def _chosen(*events: str) -> str:
    """The run's records of these kinds."""
    return f'{_events(*events)} {s.OTEL_AGENT_RUN_ID}:="${{run}}"'


def _events(*events: str) -> str:
    quoted = ", ".join(f'"{event}"' for event in events)
    return f"event_name:in({quoted})" if len(events) > 1 else f"event_name:={quoted}"


def _filtered(*events: str) -> str:
    """All records of these kinds under the board's variables. Back quotes: a regular expression's backslashes stay as they are."""
    return f"{_events(*events)} {names.SERVICE}:~`${{service:regex}}` {s.GEN_AI_AGENT_NAME}:~`${{agent:regex}}`"


def _columns(fields: Sequence[str]) -> str:
    return f"| fields _time, {', '.join(fields)}"


def _choose() -> Row:
    began, ended = (f'event_name:="{name}"' for name in (s.EVENT_OTEL_AGENT_RUN_STARTED, s.EVENT_OTEL_AGENT_AGENT_RUN))
    unended = (
        f"{_filtered(s.EVENT_OTEL_AGENT_RUN_STARTED, s.EVENT_OTEL_AGENT_AGENT_RUN)} "
        f"| stats by ({s.OTEL_AGENT_RUN_ID}, {s.GEN_AI_AGENT_NAME}) "
        f"count() if ({began}) began, count() if ({ended}) ended, min(_time) first, max(trace_id) trace_id "
        f"| filter began:>0 ended:=0 | sort by (first) desc | limit 50 "
        f"| fields first, {s.OTEL_AGENT_RUN_ID}, {s.GEN_AI_AGENT_NAME}, trace_id"
    )
    recent = f"{_filtered(s.EVENT_OTEL_AGENT_AGENT_RUN)} | sort by (_time) desc | limit 50 {_columns(RUNS)}"
    return Row("Which run", (
        Panel("recent", "Finished runs", "The latest runs with how they ended and what they used. Click on a line to show the run below.",
              "none", "table", (Logs(recent),), links=(OPEN,)),
        Panel("open", "Runs begun and not ended", "Runs without an end in this time range: still going, or their process was killed.",
              "none", "table", (Logs(unended),), links=(OPEN,)),
    ))  # fmt: skip


def _facts() -> Row:
    facts = f"{_chosen(s.EVENT_OTEL_AGENT_AGENT_RUN)} {_columns(FACTS)}"
    return Row("The run", (
        Panel("facts", "Facts of the run", "The run's own record: why it ended, totals, budgets. Empty while the run is going.",
              "none", "table", (Logs(facts),)),
        Panel("trace", "Trace of the run", "Turns and tool calls in time. Gaps are the application's own work or waiting for a person.",
              "none", "trace", (Trace("${trace}"),)),
    ))  # fmt: skip


def _steps() -> Row:
    return Row("Step by step", (
        _records("turns", "Turns", "Each model call: what answered, why it stopped, what it used. Read down the finish reasons first.",
                 TURNS, s.EVENT_OTEL_AGENT_MODEL_TURN),
        _records("tools", "Tool calls", "Each call: outcome, policy, digests. Equal digests of arguments are equal calls; `otel-agent "
        "digest` "
                 "computes a digest to compare with.", TOOLS, s.EVENT_OTEL_AGENT_TOOL_EXECUTION),
        _records("text_steps", "Text steps", "Steps of an agent that writes its actions as text.", STEPS, s.EVENT_OTEL_AGENT_TEXT_STEP),
        _records("others", "Retrievals and feedback", "Documents by id, and what the user did with the answer.",
                 OTHERS, s.EVENT_OTEL_AGENT_RETRIEVAL_DONE, s.EVENT_OTEL_AGENT_FEEDBACK),
    ))  # fmt: skip


def _records(key: str, title: str, description: str, fields: Sequence[str], *events: str) -> Panel:
    query = f"{_chosen(*events)} | sort by (_time) | limit 500 {_columns(fields)}"
    return Panel(key, title, description, "none", "table", (Logs(query),))
