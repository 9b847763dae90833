"""The director of a verification: far ends checked, everything sent by a program of its own, arrivals awaited, answers searched."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Any, Final

from otel_agent import semconv
from otel_agent.settings import child_environment
from otel_agent.testing.canaries import CARRIERS
from otel_agent.testing.standin import Standin
from otel_agent.verify.far_ends import Arrived, FarEnd, Store
from otel_agent.verify.planting import SDK_OF, SERVICE, Mark, load, plays, script
from otel_agent.verify.report import Finding, Result
from otel_agent.verify.sending import NOT_OBSERVED
from otel_agent.verify.web import CannotAsk

SDKS: Final = sorted({*SDK_OF.values()})
SIGNALS: Final = ("TRACES", "METRICS", "LOGS")
SENDING_LIMIT: Final = 180.0
Say = Callable[[str], None]


class CannotVerify(Exception):
    """Nothing could be sent, or not all of it. ``why`` says it in our own words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Options:
    """``ends``: where to read; none: a private store. ``timeout``: seconds to wait for arrivals. ``settle``: seconds without change."""

    ends: Sequence[FarEnd]
    foreign: bool = True
    timeout: float = 60.0
    settle: float = 3.0


def play(options: Options, say: Say) -> Result:
    """Run it. Raises :class:`CannotAsk` and :class:`CannotVerify`."""
    installed = {name for name in SDKS if find_spec(name) is not None}
    if not installed:
        raise CannotVerify("neither anthropic nor openai is installed: nothing can be sent as an application sends it")
    mark = Mark()
    with ExitStack() as stack:
        ends, changes = (options.ends, {}) if options.ends else _private(stack)
        for end in ends:
            end.check()
        say(f"verification {mark.id}: everything sent belongs to this trace, of service {SERVICE}")
        sent = _send(mark, installed, options, changes, say)
        mark.learn(sent["planted"])
        findings = _findings(ends, mark, int(sent["turns"]), options, say)
    planted = tuple(mark.planted())
    left_out = tuple(carrier.name for carrier in CARRIERS if carrier.name not in planted)
    missing = tuple(name for name in SDKS if name not in installed)
    return Result(mark.id, findings, planted, left_out, missing, options.foreign, private=not options.ends)


def _private(stack: ExitStack) -> tuple[Sequence[FarEnd], dict[str, str]]:
    """A store of our own on free ports, and the variables that send everything there instead of where the user's go."""
    from otel_agent.local.server import LocalServer

    path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="otel-agent-verify-"))) / "verify.duckdb"
    server = stack.enter_context(LocalServer(path, grpc_port=0, http_port=0))
    there = {f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT": f"{server.http_endpoint}/v1/{name.lower()}" for name in SIGNALS}
    protocols = {f"OTEL_EXPORTER_OTLP_{name}_PROTOCOL": "http/protobuf" for name in SIGNALS}
    headers = dict.fromkeys(("OTEL_EXPORTER_OTLP_HEADERS", *(f"OTEL_EXPORTER_OTLP_{name}_HEADERS" for name in SIGNALS)), "")
    exporters = {f"OTEL_{name}_EXPORTER": "otlp" for name in SIGNALS}
    return [Store(path)], {**there, **protocols, **headers, **exporters, "OTEL_SDK_DISABLED": "false"}


# Sending


def _environment(mark: Mark, changes: dict[str, str]) -> dict[str, str]:
    """The user's own environment, but for the name under which this is sent."""
    given = child_environment().get("OTEL_RESOURCE_ATTRIBUTES", "")
    about = ",".join(filter(None, [given, f"{semconv.SERVICE_INSTANCE_ID}={mark.id}"]))
    content = {"ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content"}
    return child_environment(OTEL_SERVICE_NAME=SERVICE, OTEL_RESOURCE_ATTRIBUTES=about, **content, **changes)


def _send(mark: Mark, installed: set[str], options: Options, changes: dict[str, str], say: Say) -> dict[str, Any]:
    """Have it all sent; what the program says that it sent."""
    chosen = plays(installed, foreign=options.foreign)
    with Standin(check_replay=False) as standin:
        total = load(standin, mark, chosen)
        program = ["otel_agent.verify.sending", standin.url(), mark.id, *(f"--sdk={name}" for name in sorted(installed))]
        more = ["--foreign"] if options.foreign else []
        command = [sys.executable, "-m", "otel_agent.cli", "run", "--", sys.executable, "-m", *program, *more]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment(mark, changes)) as child:
            sent, code = _followed(child, total, say)
        left = sum(standin.steps_left(script(*play)) for play in chosen)
    if code == NOT_OBSERVED:
        raise CannotVerify("calls would not be observed in this environment; otel-agent doctor says why")
    if code != 0 or sent is None or left:
        raise CannotVerify(f"the program that sends ended with code {code}, {left} of {total} calls not made; see otel-agent doctor")
    return sent


def _followed(child: subprocess.Popen[str], total: int, say: Say) -> tuple[dict[str, Any] | None, int]:
    """Tell how far the program is; its last word and its exit code. One that hangs is ended."""
    last, done = None, 0
    limit = Timer(SENDING_LIMIT, child.kill)
    limit.start()
    try:
        for word in _words(child):
            if "turns" in word:
                last = word
            elif "done" in word and ((done := done + 1) == total or done % 10 == 0):
                say(f"sending: {done} of {total} calls made")
        return last, child.wait()
    finally:
        limit.cancel()


def _words(child: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    for line in child.stdout or ():
        try:
            word = json.loads(line)
        except ValueError:
            continue
        if isinstance(word, dict):
            yield word


# Reading


def _findings(ends: Sequence[FarEnd], mark: Mark, expected: int, options: Options, say: Say) -> tuple[Finding, ...]:
    """Far ends one after the other, with one time limit for all."""
    until = time.monotonic() + options.timeout
    return tuple(_finding(end, mark, expected, until, options.settle, say) for end in ends)


def _finding(end: FarEnd, mark: Mark, expected: int, until: float, settle: float, say: Say) -> Finding:
    arrived = Arrived()
    try:
        arrived = _awaited(end, mark, expected, until, settle, say)
        searched, found = _searched(end, mark)
    except CannotAsk as error:
        return Finding(end.name, expected, arrived.turns, arrived.others, 0, (), error.why)
    return Finding(end.name, expected, arrived.turns, arrived.others, searched, tuple(sorted(found)))


def _awaited(end: FarEnd, mark: Mark, expected: int, until: float, settle: float, say: Say) -> Arrived:
    """What has arrived once all turns have and nothing more came for a while, or when the time is over."""
    seen, since = end.count(mark.id), time.monotonic()
    while not _over(seen, since, expected, until, settle):
        time.sleep(0.5)
        now = end.count(mark.id)
        if now != seen:
            say(f"{end.name}: {now.turns} of {expected} model turns")
            seen, since = now, time.monotonic()
    return seen


def _over(seen: Arrived, since: float, expected: int, until: float, settle: float) -> bool:
    now = time.monotonic()
    return now - since >= settle if seen.turns >= expected else now >= until


def _searched(end: FarEnd, mark: Mark) -> tuple[int, set[str]]:
    size, found = 0, set[str]()
    for text in end.texts(mark.id):
        size += len(text)
        found |= mark.names_in(text)
    return size, found
