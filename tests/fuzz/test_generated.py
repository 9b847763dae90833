"""Generated responses, streams and errors per adapter: a short run each time, a long one by ``make fuzz``."""

from __future__ import annotations

import sys
import time
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from otel_agent import guard
from otel_agent.emit import Emitter
from otel_agent.instrument.calls import Call
from otel_agent.testing.generators import DIALECTS

from .plays import PLANT, play_of
from .property import BATCH, check

EVERY = pytest.mark.parametrize("dialect", DIALECTS)


def batch(dialect: str, seeds: range) -> list[str]:
    """Check the plays of these seeds; every fourth batch through the async client."""
    return check([play_of(seed, dialect) for seed in seeds], is_async=seeds.start // len(seeds) % 4 == 3)


@EVERY
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_nothing_comes_out_and_nothing_changes(dialect: str, is_async: bool) -> None:
    """Cases 027, 054, 056, 068, 094: 150 cases a client, of seeds that stay the same."""
    first = 5_000_000 + 1_000 * is_async
    wrong = check([play_of(seed, dialect) for seed in range(first, first + 150)], is_async=is_async)
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
@EVERY
def test_many(dialect: str, shard: range, capfd: pytest.CaptureFixture[str]) -> None:
    """The same for a shard of the long run."""
    began = time.monotonic()
    wrong = []
    for start in range(shard.start, shard.stop, BATCH):
        wrong += batch(dialect, range(start, min(start + BATCH, shard.stop)))
    rate = len(shard) / (time.monotonic() - began)
    with capfd.disabled():
        print(f"{dialect} {shard.start:,}-{shard.stop:,}: {len(wrong)} wrong, {rate:.0f} cases/s", file=sys.stderr, flush=True)
    assert not wrong, "\n".join(wrong)


def spoken(random: Random, dialect: str) -> list[str]:
    """What is wrong with one play whose every choice is ``random``'s."""
    return check([play_of(0, dialect, random)], is_async=False)


@EVERY
def test_the_smallest_case_is_found(dialect: str) -> None:
    """The same property with choices that hypothesis can shrink; few, since each is slow."""

    @settings(max_examples=8, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(strategies.randoms(use_true_random=False))
    def holds(random: Random) -> None:
        wrong = spoken(random, dialect)
        assert not wrong, "\n".join(wrong)

    holds()


def leak(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = Emitter.finish

    def leaking(self: Emitter, started: Any, record: Any) -> None:
        started.span.set_attribute("note", PLANT["request.user"])
        finish(self, started, record)

    monkeypatch.setattr(Emitter, "finish", leaking)


def alter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Call, "succeed", lambda self, response: vars(response).clear())


def lose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Emitter, "finish", lambda self, started, record: None)


def fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Call, "finish", lambda self, *rest: 1 / 0)


def tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Call, "succeed", lambda self, response: guard.log.error("got %s", PLANT["chat.content"]))


BREAKS = (
    (leak, "canary exported: request.user"),
    (alter, "differs at"), (lose, "0 spans"), (fail, "our failure"), (tell, "canary in a log line"),
)  # fmt: skip


@pytest.mark.parametrize(("breaks", "says"), BREAKS, ids=[breaks.__name__ for breaks, _ in BREAKS])
def test_the_property_can_fail(breaks: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leak, a changed answer, a lost record, a failure of ours and a chatty log line are each found."""
    breaks(monkeypatch)
    assert says in "\n".join(check([play_of(seed, "openai.chat") for seed in range(20)], is_async=False))
