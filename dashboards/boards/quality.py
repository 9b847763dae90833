"""*Quality*: whether answers and runs end as they should, and tools do what is asked."""

from __future__ import annotations

from typing import Final

from dashboards import queries as q
from dashboards.alerts import CALL
from dashboards.boards import alerted
from dashboards.meaning import Where
from dashboards.panels import Board, Panel, Row
from dashboards.thresholds import Thresholds
from otel_agent import semconv as s

AGENT: Final = (s.GEN_AI_AGENT_NAME,)
TOOL: Final = (s.GEN_AI_TOOL_NAME,)


def board(thresholds: Thresholds) -> Board:
    """The Quality board."""
    return Board(
        "quality",
        "Agents: quality",
        "How answers and runs end, whether runs go round in circles, and what tools do. Start here after an alert.",
        q.VARIABLES,
        (_answers(thresholds), _runs(thresholds), _loops(thresholds), _tools(thresholds), _text(thresholds), _feedback()),
    )


def _answers(thresholds: Thresholds) -> Row:
    return Row("Answers", (
        Panel(
            "finish", "How model turns end",
            "Turns a minute by finish reason, the same words for every provider. stop and tool_call are good ends; length means cut off "
            "by a limit; error means the call failed.",
            "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_TURNS, (s.OTEL_AGENT_RESPONSE_FINISH_REASON,)),), stacked=True,
        ),
        alerted.panel("truncated", "Answers cut off", "Share of successful turns that a limit cut off, over the alert's "
        "window.", thresholds),
        alerted.panel(
            "empty_truncated", "Cut off before anything visible",
            "Share of turns whose whole output budget went to reasoning: the user got nothing and the call was paid for.", thresholds,
        ),
        Panel(
            "reasoning_share", "Reasoning share of output",
            "Reasoning tokens over all output tokens. When it rises together with cut-off answers, reasoning eats the output budget: lower "
            "the effort or raise the cap.",
            "percentunit", "lines", (q.kept("reasoning_share", "ratio", CALL),),
        ),
        alerted.panel(
            "truncated_more", "Answers cut off, against before",
            "The same share beside its own baseline, for sources whose normal level is far from the fixed threshold.", thresholds,
        ),
    ))  # fmt: skip


def _runs(thresholds: Thresholds) -> Row:
    calls, duration = s.METRIC_GEN_AI_INVOKE_AGENT_INFERENCE_CALLS, s.METRIC_GEN_AI_INVOKE_AGENT_DURATION
    return Row("Runs", (
        Panel(
            "ends", "How runs end",
            "Runs a minute by end reason. answered, handed_off and waiting are normal; the limits and error mean that nobody got an "
            "answer.",
            "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_RUNS, (s.OTEL_AGENT_RUN_END_REASON,)),), stacked=True,
        ),
        alerted.panel("unanswered", "Runs without an answer", "Share of runs that ended at a limit or in an error.", thresholds),
        alerted.panel(
            "runs_unended", "Runs ended per run begun",
            "Near 100 % when all is well. Lower: runs were killed, hang, or are still going.", thresholds,
        ),
        Panel(
            "iterations", "Model calls per run",
            "Median and slow twentieth of model calls in one run. A rising upper line means that some runs circle.",
            "short", "lines", q.quantiles(calls, AGENT),
        ),
        alerted.panel("iterations_over_cap", "Runs with too many model calls", "Share of runs above the cap.", thresholds),
        alerted.panel("iterations_runaway", "Runaway runs", "Runs above the hard cap within the window.", thresholds, "short"),
        alerted.panel("iterations_rose", "Model calls per run, against before", "Mean per run beside its own "
        "baseline.", thresholds, "short"),
        Panel(
            "run_duration", "Duration of runs", "Median and slow twentieth of whole runs, tools and waiting included.",
            "s", "lines", q.quantiles(duration, AGENT),
        ),
        Panel(
            "tool_calls", "Tool calls per run", "Median and slow twentieth of tool calls in one run.",
            "short", "lines", q.quantiles(s.METRIC_GEN_AI_INVOKE_AGENT_TOOL_CALLS, AGENT),
        ),
        Panel(
            "budgets", "Budgets used up", "Runs a minute that ran into a budget, by the first budget that ran out.",
            "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_BUDGETS_EXCEEDED, (s.OTEL_AGENT_BUDGET_EXCEEDED,)),), stacked=True,
        ),
    ))  # fmt: skip


def _loops(thresholds: Thresholds) -> Row:
    return Row("Loops", (
        alerted.panel("repeated_calls", "Repeated identical calls", "Share of tool calls with the same tool and arguments as an earlier "
                      "call of the run. Moves while a run is still going.", thresholds),
        alerted.panel("calls_in_a_row", "Runs stuck on one call", "Share of runs that made the same call many times in a row.", thresholds),
        alerted.panel("cycles", "Cycles of two or three calls", "How often a short cycle of calls came round again.", thresholds, "short"),
        Panel(
            "repeats_by_tool", "Repeats by tool", "Repeated calls a minute: the tool named here is the one whose answers do not satisfy.",
            "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_TOOL_REPEATS, TOOL),), stacked=True,
        ),
    ))  # fmt: skip


def _tools(thresholds: Thresholds) -> Row:
    executions, validations = s.METRIC_OTEL_AGENT_TOOL_EXECUTIONS, s.METRIC_OTEL_AGENT_TOOL_VALIDATIONS
    return Row("Tools", (
        Panel(
            "outcomes", "Tool outcomes", "Tool calls a minute by outcome. A failure that a tool returns as data counts as error.",
            "cpm", "bars", (q.per_minute(executions, (s.OTEL_AGENT_TOOL_OUTCOME,)),), stacked=True,
        ),
        alerted.panel("tool_failures", "Tool failures", "Share of calls that failed, by tool.", thresholds),
        Panel(
            "tool_duration", "Duration of tools", "Median and slow twentieth by tool, failed calls included.",
            "s", "lines", q.quantiles(s.METRIC_GEN_AI_EXECUTE_TOOL_DURATION, TOOL),
        ),
        Panel(
            "validation", "Arguments that do not fit", "Share of calls whose arguments broke the tool's declared schema. High for one "
            "tool: its description is unclear; high for all: the model got worse.",
            "percentunit", "lines",
            (q.share(validations, validations, TOOL, (Where(s.OTEL_AGENT_TOOL_VALIDATION, any_of=("failed",)),),
                     (Where(s.OTEL_AGENT_TOOL_VALIDATION, none_of=("skipped",)),)),),
        ),
        Panel(
            "undeclared", "Calls of tools that were not offered", "Calls a minute of tools the request did not offer, by model.",
            "cpm", "lines", (q.per_minute(s.METRIC_OTEL_AGENT_UNDECLARED_TOOL_CALLS, (s.GEN_AI_REQUEST_MODEL,)),),
        ),
        Panel(
            "decisions", "Policy decisions", "Decisions a minute on tool calls, as the team's policy made them.",
            "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_POLICY_DECISIONS, (s.OTEL_AGENT_POLICY_DECISION,)),), stacked=True,
        ),
        alerted.panel("denials", "Denied calls", "Share of decisions that denied the call, by tool.", thresholds),
        alerted.panel("conflicting_writes", "Conflicting writes", "Writes that ran at the same time as another write of their run.",
                      thresholds, "short"),
    ))  # fmt: skip


def _text(thresholds: Thresholds) -> Row:
    steps = s.METRIC_OTEL_AGENT_TEXT_STEPS
    return Row("Text protocol", (
        Panel(
            "steps", "Steps of text-protocol agents", "Steps a minute by what the text held. both means an action and a final answer at "
            "once.",
            "cpm", "bars", (q.per_minute(steps, (s.OTEL_AGENT_STEP_OUTCOME,)),), stacked=True,
        ),
        alerted.panel("text_malformed", "Steps that could not be parsed", "Share of steps with no readable action or answer.", thresholds),
        alerted.panel("text_invented", "Invented observations", "Share of steps in which the model wrote the tool's answer "
        "itself.", thresholds),
        Panel(
            "step_validation", "Action inputs that do not fit", "Share of steps whose input broke the tool's declared schema.",
            "percentunit", "lines",
            (q.share(steps, steps, AGENT, (Where(s.OTEL_AGENT_TOOL_VALIDATION, any_of=("failed",)),),
                     (Where(s.OTEL_AGENT_TOOL_VALIDATION, none_of=("skipped",)),)),),
        ),
    ))  # fmt: skip


def _feedback() -> Row:
    feedback, kind = s.METRIC_OTEL_AGENT_FEEDBACK, s.OTEL_AGENT_FEEDBACK_KIND
    bad = (Where(kind, any_of=("edited", "retried", "escalated", "abandoned")),)
    return Row("Feedback", (
        Panel(
            "feedback", "What users did next", "Feedback a minute by kind. Only what the application reports; silence is not consent.",
            "cpm", "bars", (q.per_minute(feedback, (kind,)),), stacked=True,
        ),
        Panel(
            "discontent", "Feedback that says no", "Share of feedback that edited, retried, escalated or abandoned the answer, by agent.",
            "percentunit", "lines", (q.share(feedback, feedback, AGENT, bad),),
        ),
    ))  # fmt: skip
