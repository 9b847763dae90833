"""The property: bare and observed are the same to the caller and to the provider, and no canary comes out."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

import otel_agent
from otel_agent import collected, guard, tally
from otel_agent.allowlist import load
from otel_agent.export_guard import Filter
from otel_agent.sdk import Memory
from otel_agent.settings import Settings

from .plays import PLANT, RUN_LENGTH, SDK_OF, Play, differences, run
from .wires import Wire, client

BATCH = 200
FILTER = Filter(load())


class Lines(logging.Handler):
    """Every line that we, or OpenTelemetry because of us, wrote."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.getMessage()}")


@contextmanager
def listening() -> Iterator[tuple[list[str], list[str]]]:
    """Log lines, and failures of ours (held as in production, so that the caller's view is still compared)."""
    lines, failures = Lines(), []
    original = guard.note

    def note(place: str, error: BaseException) -> None:
        trace, where = error.__traceback__, ""
        while trace is not None:
            where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
            trace = trace.tb_next
        failures.append(f"{place}: {type(error).__name__} at {where}")
        original(place, error)

    loggers = [logging.getLogger(name) for name in ("otel_agent", "opentelemetry")]
    guard.note = note
    for logger in loggers:
        logger.addHandler(lines)
    try:
        yield lines.lines, failures
    finally:
        guard.note = original
        for logger in loggers:
            logger.removeHandler(lines)


async def play_all(plays: Sequence[Play], *, is_async: bool, observed: bool) -> tuple[list[Any], list[Any]]:
    """What the caller saw in each play, and everything that was sent. Observed, some stretches of plays are agent runs."""
    wire = Wire()
    made = client(SDK_OF[plays[0].dialect], wire, is_async=is_async)
    seen = []
    async with AsyncExitStack() as stack:
        for number, play in enumerate(plays):
            if number % RUN_LENGTH == 0:
                await stack.aclose()
                if observed and play.in_run:
                    await stack.enter_async_context(otel_agent.agent_run("fuzzed"))
            seen.append(await run(play, made, wire))
    closing = made.close()
    if is_async:
        await closing
    return seen, wire.sent


def exported(memory: Memory) -> list[bytes]:
    """All that was emitted, as OTLP bytes. Nothing of it is filtered: the guard is another wall."""
    data = memory.metrics()
    return [
        encode_spans(memory.spans()).SerializeToString(),
        encode_logs(memory.logs()).SerializeToString(),
        b"" if data is None else encode_metrics(data).SerializeToString(),
    ]


def check(plays: Sequence[Play], *, is_async: bool) -> list[str]:
    """Play a batch bare and observed; what is wrong, in words without contents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the SDKs' own, about values their models did not expect
        bare = asyncio.run(play_all(plays, is_async=is_async, observed=False))
        memory = Memory()
        tally.reset()
        with listening() as (lines, failures):
            otel_agent.instrument(memory.tracer, memory.meter, memory.logger, settings=Settings(digest_key=b"fuzz-key-0123456789"))
            try:
                observed = asyncio.run(play_all(plays, is_async=is_async, observed=True))
                gc.collect()
                collected.settle()
            finally:
                otel_agent.uninstrument()
            counts = tally.tallies()
            wrong = [f"our failure: {failure}" for failure in failures]
            wrong += differences(plays, bare[0], observed[0])
            wrong += _sent(plays, bare[1], observed[1])
            wrong += _emitted(plays, len(observed[1]), memory)
        data = exported(memory)
    wrong += [f"canary exported: {name}" for name in PLANT.find_in(data, [sorted(map(str, counts))])]
    wrong += [f"canary in a log line: {name}" for name in PLANT.find_in(lines)]
    wrong += [f"OpenTelemetry complained: {line[:200]}" for line in lines if line.startswith("opentelemetry")]
    return wrong


def _sent(plays: Sequence[Play], bare: list[Any], observed: list[Any]) -> list[str]:
    if len(bare) != len(observed):
        return [f"requests sent: {len(bare)} bare, {len(observed)} observed"]
    unequal = [number for number, pair in enumerate(zip(bare, observed, strict=True)) if pair[0] != pair[1]]
    return [f"request {number} differs on the wire (first seed {plays[0].seed})" for number in unequal]


def _emitted(plays: Sequence[Play], sent: int, memory: Memory) -> list[str]:
    """One span and one log record a call, none of which the guard would touch. Some calls the SDK refuses before anything is sent."""
    spans, logs = memory.spans(), memory.logs()
    wrong = []
    calls = [span for span in spans if span.kind.name == "CLIENT"]
    turns = [item for item in logs if item.log_record.event_name == "otel_agent.model_turn"]
    if not (len(calls) == len(turns) and sent <= len(turns) <= len(plays)):
        wrong.append(f"{len(plays)} calls, {sent} sent, {len(calls)} spans, {len(turns)} log records (first seed {plays[0].seed})")
    for span in spans:
        kept = FILTER.span(span)
        if kept.name != span.name or dict(kept.attributes or {}) != dict(span.attributes or {}):
            lost = set(span.attributes or {}) - set(kept.attributes or {})
            wrong.append(f"the guard would change span {span.name!r}: {sorted(lost)}")
    for item in logs:
        cleaned = FILTER.log(item)
        if cleaned is None or dict(cleaned.log_record.attributes or {}) != dict(item.log_record.attributes or {}):
            wrong.append(f"the guard would change log record {item.log_record.event_name}")
    return wrong
