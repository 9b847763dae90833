"""*Models*: which snapshot answers, at which effort, how fast, and how often it fails."""

from __future__ import annotations

from typing import Final

from dashboards import queries as q
from dashboards.boards import alerted
from dashboards.meaning import Where
from dashboards.panels import Board, Panel, Row
from dashboards.thresholds import Thresholds
from otel_agent import semconv as s

MODEL: Final = (s.GEN_AI_REQUEST_MODEL,)
TURNS: Final = s.METRIC_OTEL_AGENT_TURNS


def board(thresholds: Thresholds) -> Board:
    """The Models board."""
    return Board(
        "models",
        "Agents: models",
        "The models behind the agents: what was asked for, what answered, how fast and how reliably.",
        q.VARIABLES,
        (_force(thresholds), _speed(), _failures(thresholds)),
    )


def _force(thresholds: Thresholds) -> Row:
    pair = (s.GEN_AI_REQUEST_MODEL, s.GEN_AI_RESPONSE_MODEL)
    return Row("What is in force", (
        Panel(
            "in_force", "Snapshot in force", "Turns a minute by the model asked for and the model that answered. A band that begins while "
            "another ends is a switch of snapshot.",
            "cpm", "states", (q.per_minute(TURNS, pair),),
        ),
        alerted.panel("snapshot_changed", "Turns by answering snapshot", "Turns within the window by the model that answered. A new line "
        "is "
                      "a snapshot that did not answer before.", thresholds, "short"),
        Panel(
            "kinds", "Named by snapshot or alias", "Turns a minute by whether the request pinned a snapshot. An alias can change under "
            "you.",
            "cpm", "bars", (q.per_minute(TURNS, (s.OTEL_AGENT_REQUEST_MODEL_KIND,)),), stacked=True,
        ),
        alerted.panel("effort_changed", "Effort asked for", "Turns within the window by effort exactly as sent; no name means unset.",
                      thresholds, "short"),
    ))  # fmt: skip


def _speed() -> Row:
    return Row("Speed", (
        Panel("latency", "Duration of calls", "Median and slow twentieth of whole calls, all attempts included. Dots lead to traces.",
              "s", "lines", q.quantiles(s.METRIC_GEN_AI_CLIENT_INFERENCE_DURATION, MODEL)),
        Panel("first_chunk", "Time to the first chunk", "Streams: until anything came, reasoning included.",
              "s", "lines", q.quantiles(s.METRIC_GEN_AI_CLIENT_INFERENCE_TIME_TO_FIRST_CHUNK, MODEL)),
        Panel("first_visible", "Time to the first visible chunk", "Streams: until a person saw something. The gap to the panel before is "
              "time spent on reasoning.",
              "s", "lines", q.quantiles(s.METRIC_OTEL_AGENT_RESPONSE_TIME_TO_FIRST_VISIBLE_CHUNK, MODEL)),
    ))  # fmt: skip


def _failures(thresholds: Thresholds) -> Row:
    return Row("Failures", (
        Panel("errors", "Failed calls by type", "Failed turns a minute by error type: rate limits and overload are the provider's, invalid "
              "requests are ours.",
              "cpm", "bars", (q.per_minute(TURNS, (s.ERROR_TYPE,), Where(s.ERROR_TYPE, none_of=("",))),), stacked=True),
        Panel("error_share", "Failed calls", "Share of turns that failed after all attempts, by provider and model.",
              "percentunit", "lines",
              (q.share(TURNS, TURNS, (s.GEN_AI_PROVIDER_NAME, *MODEL), (Where(s.ERROR_TYPE, none_of=("",)),)),)),
        Panel("attempts", "Extra attempts", "HTTP tries beyond the first, a minute. They cost time that no error shows.",
              "cpm", "lines", (q.per_minute(s.METRIC_OTEL_AGENT_RETRIED_ATTEMPTS, MODEL),)),
        Panel("stream_ends", "How streams end", "Streamed turns a minute: read to the end, closed early, abandoned, failed, cancelled.",
              "cpm", "bars",
              (q.per_minute(TURNS, (s.OTEL_AGENT_STREAM_END,), Where(s.OTEL_AGENT_STREAM_END, none_of=("",))),), stacked=True),
        Panel("replay", "Reasoning items in tool loops", "Items a minute that were due back, by what became of them.",
              "cpm", "bars", (q.per_minute(s.METRIC_OTEL_AGENT_REPLAY_ITEMS, (s.OTEL_AGENT_REPLAY_STATE,)),), stacked=True),
        alerted.panel("replay_lost", "Reasoning items lost", "Share of items due back that were left out or changed. Some providers refuse "
                      "such requests, others answer worse.", thresholds),
    ))  # fmt: skip
