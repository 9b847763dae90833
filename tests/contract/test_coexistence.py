"""Others watch the same calls: the SDK's own spans, another instrumentation, a framework above. One record of ours per model call.

What is not installed is skipped by name; each part also passes in an environment that has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_agent
from otel_agent.export_guard import GuardedSpanExporter
from otel_agent.instrument.setup import instrument
from otel_agent.settings import Settings
from otel_agent.testing import TEST_KEY, Canaries, Capture, Standin, capture
from otel_agent.testing.standin import Reply, Text, Thinking, ToolUse, Usage

from .drivers import Driver
from .ways import CHAT, CLAUDE, GPT, MESSAGES

CONTENT = {
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}
"""What makes others record content."""


class Host:
    """A host's own provider: what leaves it as it is, and what leaves it through our guard."""

    def __init__(self) -> None:
        self.bare, self.guarded = InMemorySpanExporter(), InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.bare))
        self.provider.add_span_processor(SimpleSpanProcessor(GuardedSpanExporter(self.guarded)))

    def scopes(self) -> list[str]:
        """Whose spans there are."""
        return [span.instrumentation_scope.name for span in self.bare.get_finished_spans()]

    def foreign(self) -> list[Any]:
        """Spans of others."""
        return [span for span in self.bare.get_finished_spans() if span.instrumentation_scope.name != "otel_agent"]

    def text(self, exporter: InMemorySpanExporter) -> str:
        """All that left."""
        return "\n".join(span.to_json() for span in exporter.get_finished_spans())


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host that set a global provider and everything that makes others talk."""
    made = Host()
    for name, value in CONTENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", made.provider)
    return made


@pytest.fixture
def telemetry(host: Host) -> Iterator[Capture]:
    """Our records, with spans going to the host's provider."""
    with capture() as captured:
        memory = captured._memory
        instrument(host.provider, memory.meter, memory.logger, settings=Settings(digest_key=TEST_KEY))
        yield captured


def thinking(c: Canaries) -> Reply:
    """A reply whose thinking must stay where it is."""
    return Reply(
        [Thinking(c["anthropic.thinking"], signature="sig=="), Text(c["anthropic.text"])], usage=Usage(input=100, output=20, reasoning=5)
    )


def one_each(telemetry: Capture, host: Host, calls: int, canaries: Canaries) -> None:
    """One record a call, tokens once, nothing of the text in ours, and nothing through the guard."""
    assert len(telemetry.turns) == calls
    assert host.scopes().count("otel_agent") == calls
    assert telemetry.total("otel_agent.turns") == calls
    assert telemetry.total("gen_ai.client.inference.usage.output_tokens") == 20 * calls
    canaries.assert_absent(telemetry.everything(), host.text(host.guarded))
    assert len(host.guarded.get_finished_spans()) == len(host.bare.get_finished_spans())


async def by(how: str, driver: Driver, messages: Any) -> None:
    """One call, in one of three ways."""
    if how == "plain":
        await driver.done(messages.create(**MESSAGES))
    elif how == "stream":
        await driver.items(await driver.done(messages.create(stream=True, **MESSAGES)))
    else:
        async with driver.within(messages.stream(**MESSAGES)) as stream:
            await driver.items(stream)


@pytest.mark.parametrize("how", ["plain", "stream", "helper"])
async def test_spans_of_the_anthropic_sdk(
    driver: Driver, how: str, standin: Standin, telemetry: Capture, host: Host, canaries: Canaries
) -> None:
    """Cases 062, 086 and issue 3, build 8: content mode leaks thinking; not through us and not through the guard; one record a call."""
    standin.script("*", [thinking(canaries)] * 2)
    await by(how, driver, driver.client("anthropic", standin).messages)
    if not host.foreign():
        pytest.skip("this SDK has no spans of its own")
    theirs = [(span.name, dict(span.attributes)) for span in host.foreign()]
    one_each(telemetry, host, 1, canaries)
    assert len({span.context.trace_id for span in host.bare.get_finished_spans()}) == 1
    otel_agent.uninstrument()
    host.bare.clear()
    await by(how, driver, driver.client("anthropic", standin).messages)
    alone = [(span.name, dict(span.attributes)) for span in host.foreign()]
    assert [(name, attributes.keys()) for name, attributes in theirs] == [(name, attributes.keys()) for name, attributes in alone]
    assert how == "stream" or "anthropic.thinking" in canaries.find_in(alone), "nothing to guard against"


async def test_another_anthropic_instrumentation(
    driver: Driver, standin: Standin, telemetry: Capture, host: Host, canaries: Canaries
) -> None:
    """Cases 022, 086: opentelemetry-instrumentation-genai-anthropic on the same client: its span and ours, our tokens once."""
    module = pytest.importorskip("opentelemetry.instrumentation.genai.anthropic")
    theirs = module.AnthropicInstrumentor()
    theirs.instrument(tracer_provider=host.provider, skip_dep_check=True)
    try:
        standin.script("*", [thinking(canaries), thinking(canaries)])
        messages = driver.client("anthropic", standin, open_telemetry=False).messages
        await driver.done(messages.create(**MESSAGES))
        await driver.items(await driver.done(messages.create(stream=True, **MESSAGES)))
    finally:
        theirs.uninstrument()
    assert host.foreign()
    one_each(telemetry, host, 2, canaries)


async def test_another_openai_instrumentation(driver: Driver, standin: Standin, telemetry: Capture, host: Host, canaries: Canaries) -> None:
    """Cases 022, 086: opentelemetry-instrumentation-genai-openai on the same client."""
    module = pytest.importorskip("opentelemetry.instrumentation.genai.openai")
    theirs = module.OpenAIInstrumentor()
    theirs.instrument(tracer_provider=host.provider, skip_dep_check=True)
    try:
        standin.script("*", [thinking(canaries), thinking(canaries)])
        completions = driver.client("openai", standin).chat.completions
        await driver.done(completions.create(**CHAT))
        options = {"stream": True, "stream_options": {"include_usage": True}}
        await driver.items(await driver.done(completions.create(**CHAT, **options)))
    finally:
        theirs.uninstrument()
    assert host.foreign()
    one_each(telemetry, host, 2, canaries)


def ancestors(span: Any, spans: dict[int, Any]) -> list[str]:
    """Names of the spans above."""
    above = spans.get(span.parent.span_id) if span.parent else None
    return [] if above is None else [above.name, *ancestors(above, spans)]


def models(standin: Standin) -> dict[str, Any]:
    """LangChain's chat models, as far as they are installed."""
    made: dict[str, Any] = {}
    anthropic = pytest.importorskip("langchain_anthropic")
    openai = pytest.importorskip("langchain_openai")
    made["anthropic"] = anthropic.ChatAnthropic(model=CLAUDE, base_url=standin.anthropic_url, api_key="none", max_retries=0)
    common = {"base_url": standin.openai_url, "api_key": "none", "max_retries": 0, "stream_usage": True}
    made["chat"] = openai.ChatOpenAI(model=GPT, use_responses_api=False, **common)
    made["responses"] = openai.ChatOpenAI(model=GPT, use_responses_api=True, **common)
    return made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["anthropic", "chat", "responses"])
async def test_a_framework_above(name: str, standin: Standin, telemetry: Capture, host: Host, canaries: Canaries) -> None:
    """Cases 003, 006, 086: LangChain's models, plain and streaming, sync and async: one record a request, with usage, read to the end."""
    model = models(standin)[name]
    standin.script("*", [thinking(canaries)], after="repeat")
    model.invoke("Where?")
    list(model.stream("Where?"))
    await model.ainvoke("Where?")
    async for _ in model.astream("Where?"):
        pass
    assert len(standin.requests) == 4
    one_each(telemetry, host, 4, canaries)
    assert [turn.get("otel_agent.stream.end") for turn in telemetry.turns] == [None, "read", None, "read"]


@pytest.mark.filterwarnings("ignore")
async def test_streaming_events_of_a_graph(standin: Standin, telemetry: Capture, host: Host, canaries: Canaries) -> None:
    """Cases 017, 079, 087: a graph's events are as many with us as without; a direct call inside a node is one record in its place."""
    graphs = pytest.importorskip("langgraph.graph")
    standin.script("*", [thinking(canaries)], after="repeat")
    model = models(standin)["anthropic"]
    client = Driver(is_async=True).client("anthropic", standin)

    async def ask(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def direct(_state: Any) -> Any:
        with host.provider.get_tracer("database").start_as_current_span("select"):
            await client.messages.create(**MESSAGES)
        return {}

    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("direct", direct)
    graph.add_edge(graphs.START, "ask")
    graph.add_edge("ask", "direct")
    made = graph.compile()

    async def events() -> list[str]:
        return [event["event"] async for event in made.astream_events({"messages": [("user", "Where?")]}, version="v2")]

    with otel_agent.agent_run("graph"):
        observed = await events()
    assert len(telemetry.turns) == 2
    spans = {span.context.span_id: span for span in host.bare.get_finished_spans()}
    assert len({span.context.trace_id for span in spans.values()}) == 1
    ours = [span for span in spans.values() if span.instrumentation_scope.name == "otel_agent" and span.name.startswith("chat")]
    assert sorted("select" in ancestors(span, spans) for span in ours) == [False, True]
    otel_agent.uninstrument()
    assert await events() == observed
    await client.close()


@pytest.mark.filterwarnings("ignore")
async def test_tools_of_a_framework(standin: Standin, telemetry: Capture, host: Host) -> None:
    """Case 075: a LangGraph tool whose state holds a model object: watched, not copied, one execution with the call's id."""
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    tools = pytest.importorskip("langchain_core.tools")
    messages = pytest.importorskip("langchain_core.messages")
    graphs = pytest.importorskip("langgraph.graph")

    @tools.tool
    @otel_agent.tool
    def find(order: str) -> str:
        """Find an order."""
        return f"{order} is in Oslo"

    asked = messages.AIMessage("", tool_calls=[{"name": "find", "args": {"order": "A1"}, "id": "toolu_1"}])
    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("tools", prebuilt.ToolNode([find]))
    graph.add_edge(graphs.START, "tools")
    with otel_agent.agent_run("graph"):
        result = await graph.compile().ainvoke({"messages": [asked]})
    assert result["messages"][-1].content == "A1 is in Oslo"
    assert [(record["gen_ai.tool.name"], record["otel_agent.tool.outcome"]) for record in telemetry.tools] == [("find", "ok")]
    assert telemetry.runs[0]["otel_agent.run.tool_calls"] == 1
    assert host.foreign() == []


async def test_our_set_up_sets_no_global(standin: Standin) -> None:
    """Cases 062, 063: without a provider of the host, ours stay ours; an explicit provider is the one that is used."""
    before = trace._TRACER_PROVIDER
    with capture() as telemetry:
        assert trace._TRACER_PROVIDER is before
        mine = Host()
        otel_agent.instrument(mine.provider, telemetry._memory.meter, telemetry._memory.logger, settings=Settings(digest_key=TEST_KEY))
        standin.script("*", [Reply([ToolUse("find", {})])])
        await asyncio.to_thread(Driver(is_async=False).client("anthropic", standin).messages.create, **MESSAGES)
        assert mine.scopes() == ["otel_agent"]
        assert telemetry.spans == []
    assert trace._TRACER_PROVIDER is before
