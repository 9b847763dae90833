"""Putting wrappers on and taking them off: what is covered, in which order, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import inspect
import threading
from typing import Any

import anthropic
import openai
import pytest
import wrapt
from opentelemetry import context as otel_context
from opentelemetry import trace

import otel_agent
from otel_agent.instrument import runner
from otel_agent.instrument.stainless import APPLIED, SDKS, patches
from otel_agent.instrument.stepping import attached
from otel_agent.testing import Capture, Standin, capture

from .drivers import Driver, reach
from .ways import ASK, CHAT, MESSAGES, RESPONSES, SAID


def places() -> dict[str, Any]:
    """Every place that is wrapped, and what stands there now."""
    found = {}
    for patch in (*(patch for sdk in SDKS.values() for patch in patches(sdk)), *runner.patches()):
        try:
            owner: Any = importlib.import_module(patch.module)
        except ImportError:
            continue
        *parents, name = patch.path.split(".")
        for parent in parents:
            owner = getattr(owner, parent, None)
        if owner is not None and name in vars(owner):
            found[f"{patch.module}.{patch.path}"] = vars(owner)[name]
    return found


def test_every_place_is_put_back() -> None:
    """Case 083: set up three times, taken off once: the very objects that were there before, everywhere."""
    before = places()
    with capture() as telemetry:
        for _ in range(3):
            otel_agent.instrument(telemetry._memory.tracer, telemetry._memory.meter, telemetry._memory.logger)
        during = places()
        assert all(isinstance(wrapper, wrapt.FunctionWrapper) for wrapper in during.values())
        assert all(during[name].__wrapped__ is before[name] for name in before)
    after = places()
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_the_places_that_must_be_there_are_there() -> None:
    """Issue 3, build 5: this version of each SDK has every place that is not optional; what it lacks is said."""
    with capture():
        report = otel_agent.status()
    assert set(report.active) == {"anthropic", "openai"}
    assert report.failed == {}
    assert all(place.partition(".")[2] for place in report.missing)


async def test_set_up_three_times_is_one_record(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 083: repeated set-up doubles nothing; after it is taken off nothing is recorded, also by an old client."""
    standin.script("*", [SAID], after="repeat")
    for _ in range(3):
        otel_agent.instrument(telemetry._memory.tracer, telemetry._memory.meter, telemetry._memory.logger)
    client = driver.client("anthropic", standin)
    await driver.done(client.messages.create(**MESSAGES))
    assert len(telemetry.turns) == 1
    otel_agent.uninstrument()
    await driver.done(client.messages.create(**MESSAGES))
    assert len(telemetry.turns) == 1


async def test_a_client_made_before_is_covered(driver: Driver, standin: Standin) -> None:
    """Case 082: clients, bound methods and copies made before the set-up are observed; so are raw and beta namespaces of them."""
    standin.script("*", [SAID], after="repeat")
    client = driver.client("anthropic", standin)
    create, beta, raw = client.messages.create, client.beta.messages.create, client.messages.with_raw_response.create
    chat = driver.client("openai", standin).chat
    copied = client.with_options(max_retries=1)
    with capture() as telemetry:
        for call in (create, beta, raw, copied.messages.create):
            await driver.done(call(**MESSAGES))
        await driver.done(chat.completions.create(**CHAT))
    assert len(telemetry.turns) == 5


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
async def test_a_request_by_path(driver: Driver, sdk: str, standin: Standin, telemetry: Capture) -> None:
    """Case 082: a framework that posts to the path itself is observed like the resource method."""
    standin.script("*", [SAID])
    path, body = ("/v1/messages", MESSAGES) if sdk == "anthropic" else ("/chat/completions", CHAT)
    await driver.done(driver.client(sdk, standin).post(path, body=body, cast_to=object))
    (turn,) = telemetry.turns
    assert turn["gen_ai.usage.output_tokens"] == 90


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
async def test_endpoints_we_do_not_observe(driver: Driver, sdk: str, standin: Standin, telemetry: Capture) -> None:
    """Case 019: a paginator stays awaitable and iterable, token counting and retrieval of models are no model turns."""
    client = driver.client(sdk, standin)
    paginator = client.models.list()
    assert hasattr(paginator, "__aiter__" if driver.is_async else "__iter__")
    assert inspect.isawaitable(paginator) == driver.is_async
    await driver.items(paginator)
    if sdk == "anthropic":
        await driver.done(client.messages.count_tokens(model="claude-sonnet-4-6", messages=ASK))
    assert (telemetry.spans, telemetry.records) == ([], [])


def test_inspect_sees_the_same_on_the_sdk() -> None:
    """Case 018: the wrapped methods are what they were for ``inspect``: kind, signature, name."""
    questions = (inspect.iscoroutinefunction, inspect.isfunction, inspect.signature, lambda function: function.__name__)
    before = {name: [ask(place) for ask in questions] for name, place in places().items()}
    with capture():
        after = {name: [ask(place) for ask in questions] for name, place in places().items()}
    assert after == before


# Another product's wrapper


async def _foreign_async(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    result = await wrapped(*args, **kwargs)
    SEEN.append(type(result).__name__)
    return result


def _foreign(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    result = wrapped(*args, **kwargs)
    SEEN.append(type(result).__name__)
    return result


SEEN: list[str] = []


@pytest.mark.parametrize("level", ["class", "instance"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
async def test_another_products_wrapper(driver: Driver, level: str, first: str, standin: Standin) -> None:
    """Cases 022, 083: both orders, on the class or on an instance; each sees a message; taking ours off leaves theirs in place."""
    SEEN.clear()
    standin.script("*", [SAID], after="repeat")
    client = driver.client("anthropic", standin)
    resource = type(client.messages) if level == "class" else client.messages
    wrapper = _foreign_async if driver.is_async else _foreign
    with pytest.MonkeyPatch.context() as patch:
        if first == "theirs":
            patch.setattr(resource, "create", wrapt.FunctionWrapper(resource.create, wrapper))
        with capture() as telemetry:
            if first == "ours":
                patch.setattr(resource, "create", wrapt.FunctionWrapper(resource.create, wrapper))
            message = await driver.done(client.messages.create(**MESSAGES))
            assert type(message).__name__ == "Message"
            assert len(telemetry.turns) == 1
        await driver.done(client.messages.create(**MESSAGES))
    assert SEEN == ["Message", "Message"]


async def test_a_wrapper_over_ours_that_stays(driver: Driver, standin: Standin) -> None:
    """Case 083: somebody wraps the choke point after us and stays; ours, taken off beneath, does nothing any more; set up again, once."""
    SEEN.clear()
    standin.script("*", [SAID], after="repeat")
    client = driver.client("anthropic", standin)
    base = anthropic._base_client.AsyncAPIClient if driver.is_async else anthropic._base_client.SyncAPIClient
    original = base.__dict__["request"]
    try:
        with capture() as telemetry:
            base.request = wrapt.FunctionWrapper(base.__dict__["request"], _foreign_async if driver.is_async else _foreign)
            await driver.done(client.messages.create(**MESSAGES))
            assert len(telemetry.turns) == 1
        await driver.done(client.messages.create(**MESSAGES))
        with capture() as telemetry:
            await driver.done(client.messages.create(**MESSAGES))
            assert len(telemetry.turns) == 1
    finally:
        base.request = original
    assert SEEN == ["Message"] * 3


def test_a_version_without_a_choke_point() -> None:
    """Case 082: an SDK that lacks a place is reported as failed, and nothing of it is wrapped."""
    before = places()
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(openai._base_client.AsyncAPIClient, "request")
        with capture():
            report = otel_agent.status()
            assert report.failed == {"openai": "LookupError"}
            assert set(report.active) == {"anthropic"}
    assert places() == before
    with capture():
        assert otel_agent.status().failed == {}


def test_names_are_checked() -> None:
    """Case 082: an SDK that nobody knows is a mistake, said at once."""
    with pytest.raises(ValueError, match="known: anthropic, openai"):
        otel_agent.instrument(sdks=["antropic"])


def test_one_name_by_itself_is_that_sdk() -> None:
    """Not its letters: a lone name is iterable as well."""
    with capture():
        otel_agent.uninstrument("openai")
        assert set(otel_agent.status().active) == {"anthropic"}
        assert set(otel_agent.instrument(sdks="openai").active) == {"openai"}
    with pytest.raises(ValueError, match="for 1 of"):
        otel_agent.instrument(sdks="antropic")


# Context


async def test_suppression(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 087: a stretch kept unobserved by the ecosystem's key is unobserved; the next call is recorded."""
    standin.script("*", [SAID], after="repeat")
    client = driver.client("openai", standin)
    with attached(otel_context.set_value("suppress_instrumentation", True)):
        await driver.done(client.chat.completions.create(**CHAT))
        otel_agent.tool("find")(lambda: 1)()
    await driver.done(client.responses.create(**RESPONSES))
    assert [turn["otel_agent.api"] for turn in telemetry.turns] == ["responses"]
    assert telemetry.tools == []


async def test_our_span_is_current_only_around_the_call(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 080: an HTTP client span made inside is the model span's child; outside, also while a stream is read, ours is not current."""
    tracer = telemetry._memory.tracer.get_tracer("http.client")
    standin.script("*", [SAID, SAID])

    def sent(_request: Any) -> None:
        tracer.start_span("POST").end()

    async def sent_async(request: Any) -> None:
        sent(request)

    client = driver.client("anthropic", standin)
    client._client.event_hooks = {"request": [sent_async if driver.is_async else sent], "response": []}
    with tracer.start_as_current_span("outer") as outer:
        stream = await driver.done(client.messages.create(stream=True, **MESSAGES))
        assert trace.get_current_span() is outer
        async for _ in driver.each(stream):
            assert trace.get_current_span() is outer
        await driver.done(client.messages.create(**MESSAGES))
        assert trace.get_current_span() is outer
    spans = {span["span_id"]: span["name"] for span in telemetry.spans}
    parents = [(span["name"], spans.get(span["parent_id"])) for span in telemetry.spans]
    assert parents == [("POST", "chat claude-sonnet-4-6"), ("chat claude-sonnet-4-6", "outer")] * 2 + [("outer", None)]


async def test_threads_share_a_client(telemetry: Capture, standin: Standin) -> None:
    """Case 070: sixteen calls from eight threads on one client are sixteen records, each with one attempt."""
    standin.script("*", [SAID], after="repeat")
    client = anthropic.Anthropic(base_url=standin.anthropic_url, api_key="none")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.messages.create(**MESSAGES), range(16)))
    client.close()
    assert [turn["otel_agent.request.attempts"] for turn in telemetry.turns] == [1] * 16


async def test_tasks_share_a_client(telemetry: Capture, standin: Standin) -> None:
    """Case 070: under gather, streams and plain calls, each its own record with its own parent."""
    standin.script("*", [SAID], after="repeat")
    async with anthropic.AsyncAnthropic(base_url=standin.anthropic_url, api_key="none") as client:

        async def one(number: int) -> None:
            with telemetry._memory.tracer.get_tracer("host").start_as_current_span(f"task {number}"):
                if number % 2:
                    await client.messages.create(**MESSAGES)
                else:
                    async for _ in await client.messages.create(stream=True, **MESSAGES):
                        await asyncio.sleep(0)

        await asyncio.gather(*map(one, range(12)))
    tasks = {span["span_id"] for span in telemetry.spans if span["name"].startswith("task")}
    assert sorted(span["parent_id"] for span in telemetry.spans if span["kind"] == "CLIENT") == sorted(tasks)
    assert len(telemetry.turns) == 12


def test_no_threads_of_ours(standin: Standin) -> None:
    """Case 078: setting up and taking off a hundred times starts no thread."""
    before = threading.active_count()
    for _ in range(100):
        with capture():
            pass
    assert threading.active_count() == before
    assert not any(patch.active for patch in APPLIED.values())


async def test_no_connection_but_the_providers(
    driver: Driver, standin: Standin, telemetry: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 061: set up and used, nothing connects anywhere but to the provider."""
    import socket

    met: list[Any] = []
    connect = socket.socket.connect

    def watching(self: socket.socket, address: Any) -> Any:
        met.append(address)
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watching)
    monkeypatch.setattr(
        socket,
        "create_connection",
        lambda address, *args, _inner=socket.create_connection, **kwargs: (met.append(address), _inner(address, *args, **kwargs))[1],
    )
    standin.script("*", [SAID])
    with otel_agent.agent_run("quiet"):
        await driver.done(reach(driver.client("anthropic", standin), "messages.create")(**MESSAGES))
    assert len(telemetry.turns) == 1
    assert {address[1] for address in met if isinstance(address, tuple)} <= {standin.port}
