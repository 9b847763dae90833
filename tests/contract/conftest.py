"""A provider, what was recorded, and both kinds of client for each contract test."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec

import pytest

from otel_agent.instrument import runtime
from otel_agent.instrument.stainless import APPLIED
from otel_agent.testing import Canaries, Capture, Standin, capture

from .drivers import Driver


@pytest.fixture(scope="package", autouse=True)
def _small_heap() -> Iterator[None]:
    """Collections, of which there are many here, look at what tests make and not at all that was imported."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _no_collection_within_a_request() -> Iterator[None]:
    """With httpcore, a stream left lying that a collection ends while its client's pool makes a request hangs, with or without us.

    The pool closes the stream's connection under a plain lock, which the interrupted request beneath holds. Seen with httpcore 1.0.9.
    """
    if find_spec("httpcore") is None:
        yield
        return
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(params=["sync", "async"])
async def driver(request: pytest.FixtureRequest) -> AsyncIterator[Driver]:
    """The sync SDK and the async one, in turn."""
    made = Driver(is_async=request.param == "async")
    yield made
    await made.close_clients()


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A provider whose made-up ids are the same in every test."""
    with Standin(seed="contract") as running:
        yield running


@pytest.fixture
def telemetry() -> Iterator[Capture]:
    """What was recorded; failures of ours are raised."""
    with capture() as captured:
        yield captured


@pytest.fixture
def quiet_telemetry() -> Iterator[Capture]:
    """What was recorded, with failures of ours held as in production."""
    with capture(loud=False) as captured:
        yield captured


@pytest.fixture
def canaries() -> Canaries:
    """Sentences that must not come out anywhere."""
    return Canaries("contract")


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Each test begins with plain SDKs and leaves them plain."""
    runtime.install(None)
    yield
    assert not any(patches.active for patches in APPLIED.values())
