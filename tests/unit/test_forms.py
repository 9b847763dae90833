"""The one gate: a form lets out what its record type allows, under the attribute's name, and nothing else."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.context import Context
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from pydantic import ValidationError

from otel_agent import guard
from otel_agent.emit import Emitter
from otel_agent.emit.forms import defaults, form
from otel_agent.instrument import runtime
from otel_agent.records import RECORDS, ModelTurn, Record, ToolExecution, facts
from otel_agent.sdk import Memory
from otel_agent.tally import tallies
from otel_agent.testing import capture
from tests.schema.filled_records import specimens

TURN: Final = {
    "operation": "chat", "api": "messages", "provider": "anthropic", "provider_source": "derived", "finish_reason": "stop",
    "truncated": False, "usage_state": "missing", "duration": 0.5,
}  # fmt: skip


def said(record: Record) -> dict[str, Any]:
    """What a record object says, by attribute name."""
    return {fact.name: getattr(record, name) for name, fact in facts(type(record)).items() if getattr(record, name) is not None}


@pytest.mark.parametrize("kind", RECORDS)
def test_a_form_says_what_the_record_says(kind: type[Record]) -> None:
    """Every fact, every value of every closed set: whole, and in its two parts."""
    for record in specimens(kind):
        values = record.model_dump(exclude_none=True)
        whole = {**defaults(kind, "event"), **form(kind, "event").of(values)}
        begun = {**defaults(kind, "begin"), **form(kind, "begin").of(values)}
        rest = {name: value for name, value in values.items() if facts(kind)[name].name not in begun}
        assert whole == {**begun, **defaults(kind, "finish"), **form(kind, "finish").of(rest)} == said(record)


@pytest.mark.parametrize("kind", RECORDS)
def test_start_facts_known_late_are_said_at_the_end(kind: type[Record]) -> None:
    """A run learns its model at its end."""
    for record in specimens(kind):
        values = record.model_dump(exclude_none=True)
        assert {**defaults(kind, "event"), **form(kind, "finish").of(values)} == said(record)


ANY: Final = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=4), st.sampled_from(["", "I think so."]),
    st.lists(st.text(max_size=3), max_size=3), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.tuples(st.text(max_size=3)),
)  # fmt: skip


@pytest.mark.parametrize("name", ModelTurn.model_fields)
@given(value=ANY)
def test_a_form_is_as_strict_as_the_record(name: str, value: Any) -> None:
    """Whatever the value, it passes exactly where the record type takes it."""
    values = {**TURN, name: value}
    if value is None:
        return
    try:
        wanted = said(ModelTurn.model_validate(values)).get(facts(ModelTurn)[name].name)
    except ValidationError:
        wanted = None
    try:
        made = form(ModelTurn, "event").of(values).get(facts(ModelTurn)[name].name)
    except ValidationError:
        assert ModelTurn.model_fields[name].is_required()
        made = None
    assert made == wanted


def test_a_fact_that_does_not_fit_is_left_out_and_counted() -> None:
    """One bad fact must not cost the rest; a required one has a stand-in where the record names one."""
    before = tallies().get(("unfit", "record"), 0)
    made = form(ModelTurn, "finish").of({**TURN, "response_id": "two words", "finish_reason": "because", "input_tokens": 7})
    assert made["gen_ai.usage.input_tokens"] == 7
    assert made["otel_agent.response.finish_reason"] == "unknown"
    assert "gen_ai.response.id" not in made
    assert tallies()["unfit", "record"] == before + 2


def test_a_fact_that_the_record_does_not_have_is_a_mistake() -> None:
    """Ours, so it is raised under test, and costs nothing else elsewhere; at the beginning there may be facts that are for the end."""
    with guard.loud(), pytest.raises(LookupError, match="thoughts"):
        form(ModelTurn, "finish").of({**TURN, "thoughts": "hm"})
    made = form(ModelTurn, "finish").of({**TURN, "thoughts": "hm"})
    assert made == form(ModelTurn, "finish").of(TURN)
    assert "hm" not in form(ModelTurn, "begin").of({**TURN, "thoughts": "hm"}).values()


def test_a_required_fact_that_is_missing_is_a_mistake() -> None:
    """There is no record without it, where nothing stands in for it."""
    with pytest.raises(ValidationError):
        form(ToolExecution, "finish").of({"duration": 0.5})


class Fails(SpanProcessor):
    """A span processor of a host's that raises."""

    def __init__(self, at: str) -> None:
        self._at = at

    def _fail(self, at: str) -> None:
        if at == self._at:
            raise ValueError

    def on_start(self, span: object, parent_context: object = None) -> None:
        """When a span begins."""
        self._fail("start")

    def on_end(self, span: object) -> None:
        """When it ends."""
        self._fail("end")


@pytest.mark.parametrize("at", ["start", "end"])
def test_a_span_that_fails_costs_neither_the_points_nor_the_audit_line(at: str) -> None:
    """Each of the three signals is for itself."""
    memory = Memory()
    memory.tracer.add_span_processor(Fails(at))
    emitter = Emitter(memory.tracer.get_tracer("t"), memory.meter.get_meter("t"), memory.logger.get_logger("t"))
    host = Context({"host": 1})
    started = emitter.begin(ModelTurn, "m", {**TURN, "request_model": "m"}, host)
    assert started.context["host"] == 1
    emitter.finish(started, {**TURN, "input_tokens": 7})
    (line,) = memory.logs()
    attributes = line.log_record.attributes or {}
    assert (attributes["gen_ai.request.model"], attributes["gen_ai.usage.input_tokens"]) == ("m", 7)
    found = memory.metrics()
    assert found is not None
    assert "otel_agent.turns" in {metric.name for metric in found.resource_metrics[0].scope_metrics[0].metrics}


def test_a_logger_that_fails_costs_only_the_audit_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finishes a record has sums of its own to keep."""
    memory = Memory()
    logger = memory.logger.get_logger("t")
    monkeypatch.setattr(logger, "emit", lambda **_: 1 / 0)
    emitter = Emitter(memory.tracer.get_tracer("t"), memory.meter.get_meter("t"), logger)
    before = tallies().get(("failure", "emit.log"), 0)
    emitter.finish(emitter.begin(ModelTurn, "m", TURN, Context()), TURN)
    assert (len(memory.spans()), len(memory.logs())) == (1, 0)
    assert tallies()["failure", "emit.log"] == before + 1


class Adds(Sampler):
    """A sampler of a host's that notes something on the attributes it is shown."""

    def should_sample(
        self,
        parent_context: Any,
        trace_id: int,
        name: str,
        kind: Any = None,
        attributes: Any = None,
        links: Any = None,
        trace_state: Any = None,
    ) -> SamplingResult:
        """Everything is sampled."""
        attributes["host.note"] = "I think so."
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        """Its name."""
        return "adds"


def test_what_a_host_adds_to_a_span_is_not_in_the_audit_line() -> None:
    """The line holds what passed the form, whoever else has had the attributes in hand."""
    memory, tracer = Memory(), TracerProvider(Adds(), shutdown_on_exit=False).get_tracer("t")
    emitter = Emitter(tracer, memory.meter.get_meter("t"), memory.logger.get_logger("t"))
    emitter.finish(emitter.begin(ModelTurn, "m", TURN, Context()), TURN)
    (line,) = memory.logs()
    assert "host.note" not in (line.log_record.attributes or {})


def test_a_record_that_cannot_be_made_leaves_no_span_open() -> None:
    """Also elsewhere than under test: the host's trace must not miss its end."""
    with capture(loud=False) as telemetry:
        emitter = runtime.current().emitter
        started = emitter.begin(ToolExecution, "t", {"tool": "t", "operation": "execute_tool"}, Context())
        emitter.finish(started, {"duration": 0.5})
    assert not started.span.is_recording()
    assert telemetry.tools == []
