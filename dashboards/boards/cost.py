"""*Cost and cache*: where the tokens go, and what breaks the cache."""

from __future__ import annotations

from typing import Final

from dashboards import queries as q
from dashboards.boards import alerted
from dashboards.panels import Board, Panel, Row
from dashboards.thresholds import Thresholds
from otel_agent import semconv as s

MODEL: Final = (s.GEN_AI_REQUEST_MODEL,)
AGENT: Final = (s.GEN_AI_AGENT_NAME,)

INPUT: Final = s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS
OUTPUT: Final = s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_OUTPUT_TOKENS
CACHE_READ: Final = s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_READ_INPUT_TOKENS
CACHE_WRITE: Final = s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_WRITE_INPUT_TOKENS
REASONING: Final = s.METRIC_GEN_AI_CLIENT_INFERENCE_USAGE_REASONING_OUTPUT_TOKENS


def board(thresholds: Thresholds) -> Board:
    """The Cost and cache board."""
    return Board(
        "cost",
        "Agents: cost and cache",
        "Tokens as the providers counted them. Nothing here is estimated; calls without a usage report are missing and shown as such.",
        q.VARIABLES,
        (_tokens(thresholds), _cache(thresholds), _runs(thresholds)),
    )


def _tokens(thresholds: Thresholds) -> Row:
    return Row("Tokens", (
        Panel(
            "totals", "Tokens in this time range",
            "Input holds the cached tokens and output the reasoning tokens, so the parts must not be added to the wholes.",
            "short", "stat",
            (q.total(INPUT, label="input"), q.total(CACHE_READ, label="read from cache"), q.total(CACHE_WRITE, label="written to cache"),
             q.total(OUTPUT, label="output"), q.total(REASONING, label="reasoning")),
        ),
        Panel("input", "Input tokens", "Input tokens a minute by model, cached ones included.",
              "short", "bars", (q.per_minute(INPUT, MODEL),), stacked=True),
        Panel("output", "Output tokens", "Output tokens a minute by model, reasoning included.",
              "short", "bars", (q.per_minute(OUTPUT, MODEL),), stacked=True),
        Panel(
            "reasoning", "Reasoning share", "Reasoning tokens over output tokens by model. It follows the effort; a jump without a change "
            "of "
            "effort points to a new snapshot.",
            "percentunit", "lines", (q.share(REASONING, OUTPUT, MODEL),),
        ),
        Panel(
            "input_per_call", "Input tokens per call", "Median and slow twentieth. Steady growth means that histories are not trimmed.",
            "short", "lines", q.quantiles(s.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_INPUT_TOKENS, MODEL),
        ),
        Panel(
            "output_per_call", "Output tokens per call", "Median and slow twentieth, reasoning included.",
            "short", "lines", q.quantiles(s.METRIC_GEN_AI_CLIENT_INFERENCE_OPERATION_OUTPUT_TOKENS, MODEL),
        ),
        alerted.panel("usage_missing", "Calls without a usage report", "Share of finished calls for which the tokens are unknown. All "
                      "figures on this board are too low by these calls.", thresholds),
        Panel(
            "usage_states", "Usage reports", "Turns a minute by usage state: complete, partial (input or output only), missing.",
            "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_TURNS, (s.OTEL_AGENT_USAGE_STATE,)),), stacked=True,
        ),
    ))  # fmt: skip


def _cache(thresholds: Thresholds) -> Row:
    return Row("Cache", (
        alerted.panel("cache_fell", "Input read from cache", "Cached share of input tokens now and before. A fall multiplies the price of "
                      "input without any error.", thresholds),
        Panel(
            "cache_tokens", "Cache reads and writes", "Tokens a minute. Many writes and few reads: the prefix changes before it is used "
            "again.",
            "short", "lines", (q.per_minute(CACHE_READ, label="read"), q.per_minute(CACHE_WRITE, label="written")),
        ),
        Panel(
            "breaks", "What broke the prefix",
            "Turns a minute whose request changed what had been sent before, by cause: edited, reordered or summarised history, changed "
            "system prompt, changed tool list.",
            "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_PREFIX_BREAKS, (s.OTEL_AGENT_HISTORY_PREFIX_BREAK,)),), stacked=True,
        ),
        alerted.panel("prefix_broken", "Turns that broke the prefix", "Share of turns, by agent and model.", thresholds),
    ))  # fmt: skip


def _runs(thresholds: Thresholds) -> Row:
    inputs, outputs = s.METRIC_OTEL_AGENT_RUN_INPUT_TOKENS, s.METRIC_OTEL_AGENT_RUN_OUTPUT_TOKENS
    resent = s.METRIC_OTEL_AGENT_RUN_RESENT_TOKENS
    return Row("Runs", (
        alerted.panel("tokens_per_answer", "Tokens per answered run", "All tokens of finished runs over the runs that answered: what an "
                      "answer really costs, failed runs included.", thresholds, "short"),
        Panel(
            "resent", "Input sent again", "Share of the input tokens of runs that an earlier turn of the same run had already sent. High "
            "is "
            "normal for long runs, and is what the cache is for.",
            "percentunit", "lines", (q.share(resent, inputs, AGENT),),
        ),
        Panel(
            "spent", "Input tokens by how the run ended", "Input tokens a minute by end reason: what was spent on runs that gave nothing.",
            "short", "bars", (q.per_minute(inputs, (s.OTEL_AGENT_RUN_END_REASON,)),), stacked=True,
        ),
        Panel(
            "spent_output", "Output tokens by how the run ended", "Output tokens a minute by end reason, reasoning included.",
            "short", "bars", (q.per_minute(outputs, (s.OTEL_AGENT_RUN_END_REASON,)),), stacked=True,
        ),
    ))  # fmt: skip
