"""Which step a request gets."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import After, Answerable, Failure, Script, Step
from otel_agent.testing.standin.wire.flavours import FLAVOURS, Flavour


@dataclass(frozen=True, slots=True)
class Picked:
    """A step, with where it stood."""

    step: Answerable
    key: str
    position: int
    flavour: Flavour


@dataclass(slots=True)
class _Running:
    steps: Sequence[Step]
    after: After
    flavour: Flavour
    position: int = 0

    def take(self) -> tuple[int, Step | None]:
        """The next step and its number; None when there is none left."""
        number, self.position = self.position, self.position + 1
        if number < len(self.steps):
            return number, self.steps[number]
        leftover = {"fail": None, "repeat": self.steps[-1:], "restart": self.steps[number % max(1, len(self.steps)) :]}
        rest = leftover[self.after]
        return number, rest[0] if rest else None


class Scripts:
    """Scripts by key, safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}

    def put(self, key: str, script: Script, after: After, flavour: str) -> None:
        """Start a script under a key, from its first step; an older one there is replaced."""
        steps, then = ((script,), "repeat") if callable(script) else (tuple(script), after)
        with self._lock:
            self._running[key] = _Running(steps, then, FLAVOURS[flavour])

    def clear(self) -> None:
        """Forget every script."""
        with self._lock:
            self._running.clear()

    def left(self, key: str) -> int:
        """How many steps of a script have not been taken yet."""
        with self._lock:
            running = self._running[key]
            return max(0, len(running.steps) - running.position)

    def flavour(self, request: Request) -> Flavour:
        """The flavour of the script that the request will get."""
        with self._lock:
            key = self._key(request)
            return self._running[key].flavour if key is not None else FLAVOURS["openai"]

    def pick(self, request: Request) -> Picked:
        """Take the next step for a request; a script that is missing or used up answers with a failure that says so."""
        with self._lock:
            key = self._key(request)
            if key is None:
                return Picked(_no_script(request), "*", 0, FLAVOURS["openai"])
            running = self._running[key]
            number, step = running.take()
        found = step(request) if callable(step) else step
        return Picked(found or _used_up(key, number), key, number, running.flavour)

    def _key(self, request: Request) -> str | None:
        return next((key for key in request.script_keys if key in self._running), None)


_NO_RETRY = {"x-should-retry": "false"}


def _no_script(request: Request) -> Failure:
    words = f"the stand-in has no script for any of {', '.join(request.script_keys)}"
    return Failure(404, "standin_no_script", words, headers=_NO_RETRY)


def _used_up(key: str, number: int) -> Failure:
    words = f"the stand-in's script {key!r} has no step {number + 1}"
    return Failure(400, "standin_script_used_up", words, headers=_NO_RETRY)
