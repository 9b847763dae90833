"""A fault of ours at every seam: the host gets what it would have got, and the fault is counted. Under the loud guard it raises."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import anthropic
import pytest

import otel_agent
from otel_agent import guard, tally
from otel_agent.adapters import ADAPTERS
from otel_agent.digest import AnswerDigest, Digester
from otel_agent.emit import Emitter
from otel_agent.emit.forms import Form
from otel_agent.history import History
from otel_agent.instrument import calls, events, executions, raw, runtime, streams, turns
from otel_agent.replay import Replay
from otel_agent.testing import Capture, Standin, capture
from otel_agent.testing.standin import Failure

from .drivers import Driver, reach
from .test_transparency import content, made
from .ways import CHAT, MESSAGES, RESPONSES, WAYS, Way, named


class FaultError(Exception):
    """A fault of ours."""


def boom(*_args: Any, **_kwargs: Any) -> NoReturn:
    """Raise, whatever was asked."""
    raise FaultError("a lantern in the wrong harbour")


class Broken:
    """An accumulator that fails where it is asked to."""

    def __init__(self, real: Any, name: str) -> None:
        self._real, self._name = real, name

    def __getattr__(self, name: str) -> Any:
        return boom if name == self._name else getattr(self._real, name)


def _accumulator(patch: pytest.MonkeyPatch, name: str) -> None:
    for adapter in ADAPTERS.values():
        inner = adapter.accumulator
        patch.setattr(adapter, "accumulator", lambda request, answer, inner=inner: Broken(inner(request, answer), name))


def _adapters(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    def install(patch: pytest.MonkeyPatch) -> None:
        for adapter in ADAPTERS.values():
            patch.setattr(adapter, name, boom)

    return install


def _on(owner: Any, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(owner, name, boom)


def _emitters(part: str, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A method of the tracer, logger or instruments that the emitter in force uses."""

    def install(patch: pytest.MonkeyPatch) -> None:
        emitter = runtime.current().emitter
        patch.setattr(type(getattr(emitter, part)), name, boom)

    return install


def _span(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    def install(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(type(runtime.current().emitter._tracer.start_span("probe")), name, boom)

    return install


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    **{f"adapter.{name}": _adapters(name) for name in ("read_request", "conversation", "read_response", "accumulator")},
    "accumulator.feed": lambda patch: _accumulator(patch, "feed"),
    "accumulator.finish": lambda patch: _accumulator(patch, "finish"),
    "lookup": _on(calls.adapters, "lookup"),
    "endpoint": _on(calls, "endpoint_of"),
    "record": _on(Form, "of"),
    "values": _on(turns, "response_values"),
    "tap": _on(streams, "tap"),
    "raw": _on(raw, "body_of"),
    "emitter.begin": _on(Emitter, "begin"),
    "emitter.finish": _on(Emitter, "finish"),
    "tracer": _emitters("_tracer", "start_span"),
    "logger": _emitters("_logger", "emit"),
    "meter": _emitters("_meters", "record"),
    "span.end": _span("end"),
    "span.set_attributes": _span("set_attributes"),
    "answer.update": _on(AnswerDigest, "update"),
    "answer.result": _on(AnswerDigest, "result"),
    "history": _on(History, "observe"),
    "replay.check": _on(Replay, "check"),
    "replay.remember": _on(Replay, "remember"),
    "digester": _on(Digester, "mac"),
}
OF_RUNS = {"history", "replay.check", "replay.remember", "digester", "adapter.conversation"}
SOME = named(
    "messages.create", "messages.stream=True", "messages.stream", "messages.raw", "messages.raw_stream", "messages.streaming",
    "chat.create", "chat.stream=True", "responses.create", "responses.stream=True",
)  # fmt: skip


@contextlib.contextmanager
def faulty(fault: str) -> Iterator[None]:
    """A fault installed for a block."""
    with pytest.MonkeyPatch.context() as patch:
        FAULTS[fault](patch)
        yield


def failures() -> int:
    """Faults counted."""
    return sum(count for (kind, _), count in tally.tallies().items() if kind == "failure")


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_ours_does_not_reach_the_caller(driver: Driver, fault: str, caplog: pytest.LogCaptureFixture) -> None:
    """Design 6: whatever fails in us, the caller gets the object and the provider the bytes; the fault is counted, its message nowhere."""
    bare = [await made(driver, way) for way in SOME]
    with capture(loud=False), faulty(fault), otel_agent.agent_run("unharmed"):
        observed = [await made(driver, way) for way in SOME]
        counted = failures()
    for before, after in zip(bare, observed, strict=True):
        assert [*map(content, after[0])] == [*map(content, before[0])]
        assert after[1] == before[1]
    assert counted > 0
    assert "lantern" not in caplog.text


READS = (
    "adapter.read_response",
    "adapter.conversation",
    "accumulator.feed",
    "accumulator.finish",
    "answer.update",
    "answer.result",
    "history",
    "replay.check",
    "digester",
)


@pytest.mark.parametrize("fault", READS)
@pytest.mark.parametrize(
    "way", named("messages.create", "messages.stream=True", "chat.create", "responses.stream=True"), ids=lambda way: way.name
)
async def test_a_fact_that_cannot_be_read_does_not_cost_the_record(
    driver: Driver, fault: str, way: Way, standin: Standin, quiet_telemetry: Capture
) -> None:
    """Case 003: what could not be read is absent; the call is recorded all the same."""
    way.prepare(standin)
    with faulty(fault), otel_agent.agent_run("unharmed"):
        await way.call(driver, driver.client(way.sdk, standin))
    assert len(quiet_telemetry.turns) == 1
    assert quiet_telemetry.turns[0]["gen_ai.request.model"] == way.facts["gen_ai.request.model"]


@pytest.mark.parametrize(
    "fault", ["lookup", "adapter.read_request", "adapter.read_response", "emitter.begin", "emitter.finish", "tracer", "meter", "logger"]
)
async def test_the_loud_guard_raises(driver: Driver, fault: str, standin: Standin, telemetry: Capture) -> None:
    """Design 6: under test our own failures fail the test."""
    (way,) = named("messages.create")
    way.prepare(standin)
    with faulty(fault), pytest.raises(FaultError):
        await way.call(driver, driver.client(way.sdk, standin))
    assert guard.run("quiet again", int, 1) == 1
    assert telemetry.turns == []


ROUTES = (
    ("anthropic", "messages.create", MESSAGES),
    ("openai", "chat.completions.create", CHAT),
    ("openai", "responses.create", RESPONSES),
)
EVERY_ROUTE = pytest.mark.parametrize(("sdk", "path", "options"), ROUTES, ids=[path for _, path, _ in ROUTES])


async def provoked(driver: Driver, sdk: str, path: str, options: dict[str, Any]) -> BaseException:
    """The exception that a rejected request raises."""
    with Standin(seed="same") as standin:
        standin.script("*", [Failure(400, message="a lantern in the wrong harbour", echo_request=True)])
        with pytest.raises(Exception) as raised:
            await driver.done(reach(driver.client(sdk, standin), path)(**options))
        return raised.value


@EVERY_ROUTE
@pytest.mark.parametrize("fault", [None, "adapter.read_request", "read_error", "emitter.finish", "record"])
async def test_exceptions_of_the_provider_are_its_own(
    driver: Driver, sdk: str, path: str, options: dict[str, Any], fault: str | None
) -> None:
    """Cases 003, 054: class, text, attributes, cause and context of an exception are those of the bare SDK; ours adds nothing to it."""
    bare = await provoked(driver, sdk, path, options)
    with capture(loud=False) as telemetry, pytest.MonkeyPatch.context() as patch:
        if fault == "read_error":
            _adapters("read_error")(patch)
        elif fault:
            FAULTS[fault](patch)
        error = await provoked(driver, sdk, path, options)
        counted = failures()
    assert (type(error), str(error), error.args) == (type(bare), str(bare), bare.args)
    assert (type(error.__cause__), type(error.__context__)) == (type(bare.__cause__), type(bare.__context__))
    assert getattr(error, "__notes__", None) is None
    assert (counted > 0) == bool(fault)
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert files[0] == __file__
    assert files[-1] == traceback.extract_tb(bare.__traceback__)[-1].filename
    assert "otel_agent" not in str(error)
    assert len(telemetry.turns) == (fault in {None, "read_error"})


@EVERY_ROUTE
async def test_a_rejected_request_is_recorded(
    driver: Driver, sdk: str, path: str, options: dict[str, Any], standin: Standin, telemetry: Capture
) -> None:
    """Case 054: type, status and request id; the span is an error and says no more."""
    standin.script("*", [Failure(400, message="a lantern", echo_request=True)])
    with pytest.raises(Exception, match="lantern"):
        await driver.done(reach(driver.client(sdk, standin), path)(**options))
    (turn,) = telemetry.turns
    (span,) = telemetry.spans
    assert (turn["http.response.status_code"], turn["otel_agent.response.finish_reason"]) == (400, "error")
    assert turn["error.type"] in {"invalid_request_error", "BadRequestError"}
    assert turn["otel_agent.response.request_id"].startswith("req_")
    assert (span["status"], span["description"], span["events"]) == ("ERROR", None, [])
    assert "lantern" not in telemetry.everything()
    assert "order A1" not in telemetry.everything()


@EVERY_ROUTE
async def test_attempts_are_counted(
    driver: Driver, sdk: str, path: str, options: dict[str, Any], standin: Standin, telemetry: Capture
) -> None:
    """Two refusals before an answer are one turn of three attempts."""
    standin.script("*", [Failure(429, retry_after=0.001), Failure(529, retry_after=0.001), *WAYS[0].steps])
    await driver.done(reach(driver.client(sdk, standin, max_retries=2), path)(**options))
    assert [turn["otel_agent.request.attempts"] for turn in telemetry.turns] == [3]
    assert telemetry.total("otel_agent.retried_attempts") == 2


async def test_requests_of_a_hook_are_no_attempts(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """A client that asks for something else on the way (a token count, a credential) still made one try."""
    standin.script("*", WAYS[0].steps, after="repeat")
    client = driver.client("anthropic", standin)
    prepare = type(client)._prepare_options

    def sync(one: Any, options: Any) -> Any:
        if options.url.endswith("/messages"):
            with contextlib.suppress(anthropic.APIError):
                one.get("/v1/elsewhere", cast_to=object)
        return prepare(one, options)

    async def later(one: Any, options: Any) -> Any:
        if options.url.endswith("/messages"):
            with contextlib.suppress(anthropic.APIError):
                await one.get("/v1/elsewhere", cast_to=object)
        return await prepare(one, options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(client), "_prepare_options", later if driver.is_async else sync)
        await driver.done(client.messages.create(**MESSAGES))
    assert [turn["otel_agent.request.attempts"] for turn in telemetry.turns] == [1]
    assert [exchange.request.route for exchange in standin.exchanges][-1] == "/v1/messages"
    assert len(standin.exchanges) == 2


async def test_a_call_that_fails_before_any_request(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """What never reached ``request`` is no model turn: a caller that relies on the SDK's own refusal sees no phantom."""
    client = driver.client("anthropic", standin)
    with pytest.raises((TypeError, ValueError)):
        await driver.done(client.messages.create(model="claude-sonnet-4-6", messages=[]))
    assert telemetry.turns == []


async def test_nobody_there(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """A connection that is refused is one failed turn."""
    client = driver.client("anthropic", standin, base_url="http://127.0.0.1:9")
    with pytest.raises(Exception, match="Connection error"):
        await driver.done(client.messages.create(**MESSAGES))
    assert [turn["error.type"] for turn in telemetry.turns] == ["APIConnectionError"]


TOOL_FAULTS = {
    "emitter.begin": _on(Emitter, "begin"),
    "emitter.finish": _on(Emitter, "finish"),
    "arguments": _on(Digester, "digest_with_band"),
    "failure": _on(executions, "returned_failure"),
    "tracer": FAULTS["tracer"],
    "logger": FAULTS["logger"],
    "span.end": FAULTS["span.end"],
}


@pytest.mark.parametrize("fault", TOOL_FAULTS)
def test_a_fault_around_tools_and_runs(fault: str, quiet_telemetry: Capture) -> None:
    """Design 6: tools, runs, retrievals and feedback go on whatever fails in us."""

    @otel_agent.tool
    def double(number: int) -> int:
        return 2 * number

    @otel_agent.agent_run("decorated")
    def answer() -> int:
        return double(4)

    with pytest.MonkeyPatch.context() as patch:
        TOOL_FAULTS[fault](patch)
        with otel_agent.agent_run("unharmed") as run, otel_agent.retrieval("shelf") as found:
            found.documents(["d1"])
            assert double(3) == 6
            assert run.run_id
            run.end("handed_off")
        assert answer() == 8
        otel_agent.feedback("accepted", response_id="msg_1")
        counted = failures()
    assert counted > 0
    assert quiet_telemetry.spans is not None


def test_the_places_of_retrievals_and_feedback_are_guarded(quiet_telemetry: Capture) -> None:
    """Design 6: a document list that fails while it is walked costs the ids, nothing else."""
    with otel_agent.retrieval("shelf") as found:
        found.documents(boom for _ in range(1))
        found.documents(iter(["d1", boom]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events.runtime, "current", boom)
        otel_agent.feedback("accepted", response_id="msg_1")
    assert failures() == 1
    assert [record["event"] for record in quiet_telemetry.records] == ["otel_agent.retrieval.done"]


class Lying:
    """A proxy whose object has gone: asked for its class, it raises."""

    @property
    def __class__(self) -> Any:
        raise ReferenceError("gone")


class LyingError(Exception):
    """An exception that does the same."""

    @property
    def __class__(self) -> Any:
        raise ReferenceError("gone")


def test_a_result_is_not_asked_for_its_class() -> None:
    """``isinstance`` asks, and what answers may be the caller's own code."""
    result = Lying()
    with capture() as telemetry:
        assert otel_agent.tool("look")(lambda: result)() is result
    assert [call["otel_agent.tool.outcome"] for call in telemetry.tools] == ["ok"]


def test_an_exception_is_not_asked_for_its_class() -> None:
    """The host gets its own exception, and there is a record of it."""

    def fail() -> NoReturn:
        raise LyingError

    with capture() as telemetry:
        with contextlib.suppress(LyingError):
            otel_agent.tool("look")(fail)()
        with contextlib.suppress(LyingError), otel_agent.agent_run("looking"):
            fail()
    assert [call["otel_agent.tool.outcome"] for call in telemetry.tools] == ["error"]
    assert [run["otel_agent.run.end_reason"] for run in telemetry.runs] == ["error"]


def test_a_dispatcher_is_called_with_a_text_of_its_own_kind() -> None:
    """Names and arguments that are strings underneath; their methods are not called."""

    class Text(str):
        __slots__ = ()
        __hash__ = __eq__ = boom  # type: ignore[assignment]

    with capture() as telemetry:
        otel_agent.wrap_dispatcher(lambda name, arguments: None, ["look"])(Text("look"), Text('{"a": 1}'))
    assert [call["gen_ai.tool.name"] for call in telemetry.tools] == ["look"]


def test_a_panic_is_held() -> None:
    """What libraries written in Rust raise when they panic is no ``Exception``."""
    panic = type("PanicException", (BaseException,), {"__module__": guard.PANICS})

    def panicking() -> NoReturn:
        raise panic

    before = tally.tallies().get(("failure", "seam"), 0)
    assert guard.run("seam", panicking) is None
    assert tally.tallies()[("failure", "seam")] == before + 1
    with guard.loud(), pytest.raises(panic):
        guard.run("seam", panicking)
    with pytest.raises(KeyboardInterrupt):
        guard.run("seam", interrupted)


def interrupted() -> NoReturn:
    raise KeyboardInterrupt


def test_the_log_of_our_failures_has_an_end(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """One line a class, a hundred classes; a class called by a sentence is not quoted."""
    monkeypatch.setattr(guard, "_reported", set())
    monkeypatch.setattr(guard.log, "propagate", True)
    for name in ["I think the user wants", "x" * 200, *(f"Error{at}" for at in range(200))]:
        guard.note("seam", type(name, (Exception,), {})())
    assert len(set(caplog.messages)) == guard.MAX_REPORTS
    assert "think" not in caplog.text
    assert "xxx" not in caplog.text
