"""The alerts that ship on, as data: see :mod:`dashboards.meaning` for the words and ``thresholds.yml`` for the numbers."""

from __future__ import annotations

from typing import Final

from dashboards import names
from dashboards.meaning import Alert, Always, Amount, Arrival, Drift, Fill, Ratio, Share, Silence, Tally, Where
from otel_agent import semconv as s

CALL: Final = (names.SERVICE, s.GEN_AI_AGENT_NAME, s.GEN_AI_REQUEST_MODEL)
RUN: Final = (names.SERVICE, s.GEN_AI_AGENT_NAME)
TOOL: Final = (names.SERVICE, s.GEN_AI_AGENT_NAME, s.GEN_AI_TOOL_NAME)

SUCCEEDED: Final = Where(s.ERROR_TYPE, any_of=("",))
READ: Final = Where(s.OTEL_AGENT_STREAM_END, any_of=("", "read"))
"""Not streamed, or read to the end: whoever breaks a stream off cannot expect its usage."""


def _turns(*where: Where) -> Amount:
    return Amount((s.METRIC_OTEL_AGENT_TURNS,), where)


def _runs(*reasons: str) -> Amount:
    return Amount((s.METRIC_OTEL_AGENT_RUNS,), (Where(s.OTEL_AGENT_RUN_END_REASON, any_of=reasons),) if reasons else ())


def _tools(*outcomes: str) -> Amount:
    return Amount((s.METRIC_OTEL_AGENT_TOOL_EXECUTIONS,), (Where(s.OTEL_AGENT_TOOL_OUTCOME, any_of=outcomes),) if outcomes else ())


def _steps(*outcomes: str) -> Amount:
    return Amount((s.METRIC_OTEL_AGENT_TEXT_STEPS,), (Where(s.OTEL_AGENT_STEP_OUTCOME, any_of=outcomes),) if outcomes else ())


TRUNCATED: Final = _turns(SUCCEEDED, Where(s.OTEL_AGENT_RESPONSE_TRUNCATED, any_of=("true",)))
ANSWERED_TURNS: Final = _turns(SUCCEEDED)
RUN_COUNT: Final = Amount((s.METRIC_GEN_AI_INVOKE_AGENT_INFERENCE_CALLS,), part="count")
OVER_CAP: Final = Amount((s.METRIC_GEN_AI_INVOKE_AGENT_INFERENCE_CALLS,), part="count", above=True)
FAILED_ENDS: Final = ("turn_limit", "token_limit", "deadline", "tool_limit", "error")

RATIOS: Final = (
    Ratio(
        "reasoning_share", CALL,
        Amount((s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_REASONING_OUTPUT_TOKENS,)),
        Amount((s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_OUTPUT_TOKENS,)),
    ),
)  # fmt: skip

ALERTS: Final = (
    # Answers
    Alert(
        "truncated", "AgentAnswersTruncated", CALL, Share(TRUNCATED, ANSWERED_TURNS),
        says="{value} of the answers of {where} were cut off by a limit in the last {window}.",
        act="Raise the cap on output tokens or lower the effort for this model; if reasoning takes most of the output, the effort is "
        "the one to lower.",
        panel="quality/truncated",
        explained_by=("reasoning_share", "Reasoning took {value} of the output tokens."),
    ),
    Alert(
        "truncated_more", "AgentTruncationRose", CALL, Drift(TRUNCATED, ANSWERED_TURNS, ANSWERED_TURNS, unit="share"),
        says="{value} of the answers of {where} were cut off in the last {window}, far more than in the {baseline} before.",
        act="Look for what changed when the line rose: prompt, effort, output cap or model snapshot; undo that change or raise the cap.",
        panel="quality/truncated_before",
    ),
    Alert(
        "empty_truncated", "AgentAnswersEmptyAndTruncated", CALL,
        Share(_turns(SUCCEEDED, Where(s.OTEL_AGENT_RESPONSE_EMPTY_TRUNCATED, any_of=("true",))), ANSWERED_TURNS),
        says="{value} of the answers of {where} were cut off before anything visible came in the last {window}.",
        act="Stop retrying these calls (every retry pays for the reasoning again); raise the output cap above the reasoning tokens seen, "
        "or lower the effort.",
        panel="quality/empty_truncated", severity="critical",
        explained_by=("reasoning_share", "Reasoning took {value} of the output tokens."),
    ),
    # Runs
    Alert(
        "iterations_over_cap", "AgentIterationsOverCap", RUN, Share(OVER_CAP, RUN_COUNT),
        says="{value} of the runs of {where} made more than {edge} model calls in the last {window}.",
        act="Open one of these runs on the Run board, find the tool call that keeps coming back, and fix that tool's answer or set a turn "
        "budget.",
        panel="quality/iterations_over_cap",
    ),
    Alert(
        "iterations_runaway", "AgentRunRanAway", RUN, Tally(OVER_CAP),
        says="{value} runs of {where} made more than {edge} model calls each in the last {window}.",
        act="Set a turn budget for this agent now, then open the run on the Run board and find out why it did not stop.",
        panel="quality/iterations_runaway", severity="critical",
    ),
    Alert(
        "iterations_rose", "AgentIterationsRose", RUN,
        Drift(Amount((s.METRIC_GEN_AI_INVOKE_AGENT_INFERENCE_CALLS,), part="sum"), RUN_COUNT, RUN_COUNT),
        says="Runs of {where} made {value} model calls on average in the last {window}, far more than in the {baseline} before.",
        act="Compare a run of today with one of yesterday on the Run board; a tool that changed its answers is the usual cause.",
        panel="quality/iterations_before",
    ),
    Alert(
        "unanswered", "AgentRunsUnanswered", RUN, Share(_runs(*FAILED_ENDS), _runs("answered", *FAILED_ENDS)),
        says="{value} of the runs of {where} ended without an answer in the last {window}.",
        act="See which end reason grew: for error open a failed run's trace, for a limit open its turns and decide between a higher budget "
        "and a fix of the loop.",
        panel="quality/unanswered", severity="critical",
    ),
    Alert(
        "runs_unended", "AgentRunsDoNotEnd", RUN,
        Share(_runs(), Amount((s.METRIC_OTEL_AGENT_RUNS_STARTED,)), below=True),
        says="Only {value} of the runs of {where} begun in the last {window} have ended.",
        act="List the open runs on the Run board; if the process was killed restart it and look for out-of-memory, if it still runs cancel "
        "the run.",
        panel="quality/runs_unended",
    ),
    # Loops
    Alert(
        "repeated_calls", "AgentToolCallsRepeated", TOOL,
        Share(Amount((s.METRIC_OTEL_AGENT_TOOL_REPEATS,)), _tools()),
        says="{value} of the calls of {where} repeated an identical call of the same run in the last {window}.",
        act="Check what the tool returns: an empty or unclear result makes a model ask again; return a clear message or cache the result.",
        panel="quality/repeated_calls",
    ),
    Alert(
        "calls_in_a_row", "AgentSameCallInARow", RUN,
        Share(
            Amount((s.METRIC_OTEL_AGENT_RUN_MAX_REPEAT,), part="count", above=True),
            Amount((s.METRIC_OTEL_AGENT_RUN_MAX_REPEAT,), part="count"),
        ),
        says="{value} of the runs of {where} made the same call more than {edge} times in a row in the last {window}.",
        act="Open such a run on the Run board, see which call is stuck, and stop the run after a few identical calls.",
        panel="quality/calls_in_a_row",
    ),
    Alert(
        "cycles", "AgentCallsCycle", RUN, Tally(Amount((s.METRIC_OTEL_AGENT_TOOL_CYCLES,))),
        says="Runs of {where} went round the same two or three calls {value} times in the last {window}.",
        act="Open the run on the Run board and read the two or three calls: usually each one undoes or re-asks the other; change one of "
        "them.",
        panel="quality/cycles",
    ),
    # Tools
    Alert(
        "tool_failures", "AgentToolFails", TOOL,
        Share(_tools("error", "timeout", "invalid_arguments", "unknown_tool"), _tools()),
        says="{value} of the calls of {where} failed in the last {window}, failures returned as data included.",
        act="See which outcome grew: error and timeout belong to the tool's owner, invalid_arguments and unknown_tool to the tool's "
        "description or the model.",
        panel="quality/tool_failures",
    ),
    Alert(
        "conflicting_writes", "AgentWritesConflict", TOOL, Tally(Amount((s.METRIC_OTEL_AGENT_CONFLICTING_WRITES,))),
        says="{value} writes of {where} ran at the same time as another write of their run in the last {window}.",
        act="Check the rows these calls touched for lost updates, then make the tool refuse parallel writes or turn parallel tool calls "
        "off.",
        panel="quality/conflicting_writes", severity="critical",
    ),
    Alert(
        "denials", "AgentCallsDenied", TOOL,
        Share(
            Amount((s.METRIC_OTEL_AGENT_POLICY_DECISIONS,), (Where(s.OTEL_AGENT_POLICY_DECISION, any_of=("deny",)),)),
            Amount((s.METRIC_OTEL_AGENT_POLICY_DECISIONS,)),
        ),
        says="Policy denied {value} of the calls of {where} in the last {window}.",
        act="Read the rule ids of the denied calls on the Run board: either the agent tries what it must not, or a rule is too narrow.",
        panel="quality/denials", severity="info",
    ),
    # Text protocol
    Alert(
        "text_malformed", "AgentTextStepsMalformed", RUN, Share(_steps("malformed"), _steps()),
        says="{value} of the text steps of {where} could not be parsed in the last {window}.",
        act="Move this agent to native tool calls, or check whether a new model snapshot writes the protocol differently.",
        panel="quality/text_malformed",
    ),
    Alert(
        "text_invented", "AgentObservationsInvented", RUN, Share(_steps("invented_observation"), _steps()),
        says="{value} of the text steps of {where} held an observation that the model made up in the last {window}.",
        act="Set a stop sequence before the observation, and treat answers of these runs as unfounded until they are checked.",
        panel="quality/text_invented", severity="critical",
    ),
    # Cost and cache
    Alert(
        "cache_fell", "AgentCacheRatioFell", CALL,
        Drift(
            Amount((s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_READ_INPUT_TOKENS,)),
            Amount((s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS,)),
            _turns(), falling=True, unit="share",
        ),
        says="Only {value} of the input tokens of {where} came from the cache in the last {window}, far less than in the {baseline} "
        "before.",
        act="Look at the prefix breaks by cause beside this panel: a changed system prompt, a changed tool list or an edited history is "
        "the usual reason; make it stable again.",
        panel="cost/cached",
    ),
    Alert(
        "prefix_broken", "AgentPrefixBroken", CALL, Share(Amount((s.METRIC_OTEL_AGENT_PREFIX_BREAKS,)), _turns()),
        says="{value} of the turns of {where} changed what an earlier turn of the run had sent in the last {window}.",
        act="Read the cause in the panel: keep times and ids out of the system prompt, keep the order of tools fixed, append instead of "
        "editing the history.",
        panel="cost/prefix_broken",
    ),
    Alert(
        "tokens_per_answer", "AgentTokensPerAnswerRose", RUN,
        Drift(Amount((s.METRIC_OTEL_AGENT_RUN_INPUT_TOKENS, s.METRIC_OTEL_AGENT_RUN_OUTPUT_TOKENS)), _runs("answered"), _runs()),
        says="{where} spent {value} tokens per answered run in the last {window}, far more than in the {baseline} before.",
        act="See whether the tokens went to runs that failed, to more turns per run, or to a history sent again and again, and fix that "
        "one.",
        panel="cost/tokens_per_answer",
    ),
    Alert(
        "usage_missing", "AgentUsageMissing", CALL,
        Share(_turns(SUCCEEDED, READ, Where(s.OTEL_AGENT_USAGE_STATE, any_of=("missing",))), _turns(SUCCEEDED, READ)),
        says="{value} of the finished calls of {where} came without a usage report in the last {window}.",
        act="Ask for usage in streams (OpenAI: stream_options include_usage) or have the gateway pass it on; until then costs read too "
        "low.",
        panel="cost/usage_missing",
    ),
    # Models
    Alert(
        "snapshot_changed", "AgentModelSnapshotChanged", (*CALL, s.GEN_AI_RESPONSE_MODEL),
        Arrival(_turns(Where(s.GEN_AI_RESPONSE_MODEL, none_of=("",))), s.GEN_AI_RESPONSE_MODEL),
        says="{new} now answers for {where}; it did not in the {baseline} before.",
        act="Ask whether the change was ordered; run the evaluations on the new snapshot, and name a snapshot in the request to go back.",
        panel="models/snapshots",
    ),
    Alert(
        "effort_changed", "AgentEffortChanged", (*CALL, s.GEN_AI_REQUEST_REASONING_LEVEL),
        Arrival(_turns(), s.GEN_AI_REQUEST_REASONING_LEVEL),
        says="{where} now asks for effort {new}; it did not in the {baseline} before.",
        act="Find the deployment that changed the effort; if it was not meant, undo it before costs and truncation follow.",
        panel="models/efforts", severity="info",
    ),
    Alert(
        "replay_lost", "AgentReasoningItemsLost", CALL,
        Share(
            Amount((s.METRIC_OTEL_AGENT_REPLAY_ITEMS,), (Where(s.OTEL_AGENT_REPLAY_STATE, any_of=("dropped", "edited")),)),
            Amount((s.METRIC_OTEL_AGENT_REPLAY_ITEMS,)),
        ),
        says="{value} of the reasoning items due back in tool loops of {where} were left out or changed in the last {window}.",
        act="Send the assistant's turn back exactly as it came, reasoning items and signatures included; a history rewriter or a "
        "serialiser in between is the usual cause.",
        panel="models/replay_lost",
    ),
    # Telemetry itself
    Alert(
        "export_lost", "TelemetryExportLost", ("job", "exporter"),
        Tally(Amount((*names.SEND_FAILED, *names.ENQUEUE_FAILED))),
        says="The collector {where} gave up {value} spans, points or log records in the last {window}.",
        act="Check whether the backend behind this exporter answers and the queue's disk has room; what was dropped is gone, so mark the "
        "gap.",
        panel="pipeline/export_lost", severity="critical",
    ),
    Alert(
        "intake_refused", "TelemetryRefused", ("job", "receiver"), Tally(Amount(names.REFUSED)),
        says="The collector {where} refused {value} spans, points or log records in the last {window}.",
        act="Give the collector more memory or more replicas; the applications retry for a while, then drop.",
        panel="pipeline/intake_refused",
    ),
    Alert(
        "queue_filling", "TelemetryQueueFilling", ("job", "exporter"), Fill(names.QUEUE_SIZE, names.QUEUE_CAPACITY),
        says="The sending queue of the collector {where} is {value} full.",
        act="Bring the backend behind this exporter back before the queue is full; after that records are lost.",
        panel="pipeline/queue_filling",
    ),
    Alert(
        "collector_silent", "TelemetryCollectorSilent", ("job",), Silence(names.UPTIME),
        says="The collector {where} has stopped reporting.",
        act="Restart the collector; until it is back the other panels and alerts show the past.",
        panel="pipeline/collectors", severity="critical",
    ),
    Alert(
        "own_failures", "TelemetryInstrumentationFails",
        (names.SERVICE, s.OTEL_AGENT_SELF_KIND, s.OTEL_AGENT_SELF_PLACE),
        Tally(Amount((s.METRIC_OTEL_AGENT_SELF_EVENTS,), (Where(s.OTEL_AGENT_SELF_KIND, any_of=("failure", "dropped")),))),
        says="The instrumentation in {where} failed or dropped records {value} times in the last {window}.",
        act="Look up the place in the application's log (logger otel_agent) and report it; the application itself is not affected.",
        panel="pipeline/own_events",
    ),
    Alert(
        "watchdog", "TelemetryWatchdog", (), Always(),
        says="Rules are evaluated and alerts are sent.",
        act="Do nothing while this alert is there; when it is missing at the receiver, repair the way from Prometheus to Alertmanager.",
        panel="pipeline/rule_failures", severity="none",
    ),
)  # fmt: skip
