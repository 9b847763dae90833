"""Tasks with a time limit, and interpreters that start no thread at their end."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from otel_agent import deadlines, guard
from otel_agent.deadlines import within


@pytest.fixture
def _ending(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As CPython 3.12.1 when it ends: no new thread."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        yield


@pytest.fixture
def _prepared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads made beforehand, as that interpreter has them."""
    monkeypatch.setattr(deadlines, "STARTS_NONE_WHILE_ENDING", True)
    before = list(deadlines._spare)
    deadlines._spare.clear()
    deadlines.prepare()
    yield
    deadlines._spare[:] = before


def test_all_did_it_in_time() -> None:
    """Whatever they return but ``False``."""
    assert within(5.0)
    assert within(5.0, lambda: None, lambda: True)
    assert not within(5.0, lambda: None, lambda: False)


def test_one_that_fails_or_hangs_costs_no_other() -> None:
    """It is held, and what it took too long for is said."""
    ran = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "_loud", False)
        assert not within(5.0, lambda: 1 / 0, lambda: ran.append(1))
    held = threading.Event()
    assert not within(0.1, held.wait, lambda: ran.append(2))
    held.set()
    assert ran == [1, 2]


@pytest.mark.usefixtures("_prepared", "_ending")
def test_threads_made_beforehand_serve_where_none_can_be_made() -> None:
    """Side by side, and for no longer than allowed."""
    held, ran = threading.Event(), []
    assert not within(0.1, held.wait, lambda: ran.append(threading.current_thread().name))
    held.set()
    assert ran == ["otel-agent-end"]
    assert within(5.0, lambda: True, lambda: True, lambda: True, lambda: True)


@pytest.mark.usefixtures("_ending")
def test_without_any_thread_they_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost."""
    monkeypatch.setattr(deadlines, "_spare", [])
    ran: list[str] = []
    assert within(5.0, lambda: ran.append(threading.current_thread().name), lambda: ran.append("second"))
    assert ran == [threading.current_thread().name, "second"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.usefixtures("_prepared")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    """Its parent's are not there."""
    if (child := os.fork()) == 0:
        os._exit(0 if len(deadlines._spare) == deadlines.SPARE and all(thread.is_alive() for thread in deadlines._spare) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nothing_is_made_beforehand_where_it_need_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """On every other interpreter."""
    monkeypatch.setattr(deadlines, "STARTS_NONE_WHILE_ENDING", False)
    monkeypatch.setattr(deadlines, "_spare", [])
    deadlines.prepare()
    assert deadlines._spare == []
