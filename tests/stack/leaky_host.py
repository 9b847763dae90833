"""An application whose own telemetry leaks: global providers that send everything, and SDKs told to record content.

``python -m tests.stack.leaky_host STANDIN CONTROL``: what it sends, it also writes into the file CONTROL, as the proof that there was
something to be kept out. Nothing in this process is guarded: the collector's guard stands alone.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import anthropic
import openai
from opentelemetry import metrics, trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

import otel_agent
from otel_agent.react import StepParser

QUESTION: list[Any] = [{"role": "user", "content": "Where is it?"}]


@otel_agent.tool(effect="read")
def look_up(number: int) -> dict[str, int]:
    return {"number": number}


def providers(control: Path) -> list[Any]:
    """The host's own, global ones: this is what many applications have."""
    tracer = TracerProvider()
    tracer.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=control.open("w"))))
    trace.set_tracer_provider(tracer)
    meter = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
    metrics.set_meter_provider(meter)
    logger = LoggerProvider()
    logger.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    set_logger_provider(logger)
    logging.getLogger().addHandler(LoggingHandler(logger_provider=logger))
    return [tracer, meter, logger]


def converse(client: anthropic.Anthropic, **more: Any) -> str:
    """A loop with a tool, each turn's answer also written into the application's own log and spans, as people do."""
    tracer, messages = trace.get_tracer("shop.app"), list(QUESTION)
    while True:
        with tracer.start_as_current_span("ask") as span:
            reply = client.messages.create(model="claude-sonnet-4-6", max_tokens=500, messages=messages, **more)
            span.set_attribute("answer", reply.model_dump_json())
            span.add_event(reply.model_dump_json(), {"answer": reply.model_dump_json()})
        logging.getLogger("shop.app").error("the model answered %s", reply.model_dump_json())
        called = [block for block in reply.content if block.type == "tool_use"]
        if not called:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
        for call in called:
            look_up(**call.input)
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "1"} for call in called]})


def refused(client: anthropic.Anthropic) -> None:
    """A refusal whose message quotes the request, recorded as the SDK's own spans do."""
    try:
        with otel_agent.agent_run("refused"), trace.get_tracer("shop.app").start_as_current_span("ask"):
            client.messages.create(model="claude-sonnet-4-6", max_tokens=500, messages=QUESTION)
    except anthropic.BadRequestError:
        pass


def openai_turns(client: openai.OpenAI) -> None:
    for _ in client.chat.completions.create(model="deepseek-v4", messages=QUESTION, stream=True):
        pass
    text = client.chat.completions.create(model="gpt-5.5", messages=QUESTION).choices[0].message.content
    StepParser(tools={}).parse(text or "")
    client.responses.create(model="gpt-5.5", input="Where is it?", reasoning={"effort": "high", "summary": "auto"})


def main(standin: str, control: str) -> None:
    made = providers(Path(control))
    assert otel_agent.instrument().sink == "host"
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    tools = {"tools": [{"name": "look_up", "description": "", "input_schema": {"type": "object"}}]}

    def anthropic_at(script: str) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=f"{standin}/s/{script}", api_key="none", max_retries=0)

    with otel_agent.agent_run("leaky"):
        converse(anthropic_at("leaky"), **thinking, **tools)
    refused(anthropic_at("refused"))
    with otel_agent.agent_run("leaky-openai"):
        openai_turns(openai.OpenAI(base_url=f"{standin}/s/leaky-openai/v1", api_key="none", max_retries=0))
    for provider in made:
        provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
