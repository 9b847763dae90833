"""The program that sends: real SDKs against the stand-in, tools, and, when asked, what other instrumentations emit.

A program of its own, started by ``otel-agent run`` as any application is, so that records take the way that applications' records take.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Final

from opentelemetry import context, metrics, trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from otel_agent import sdk
from otel_agent.instrument import setup
from otel_agent.instrument.runs import agent_run
from otel_agent.settings import from_env
from otel_agent.testing.canaries import Canaries
from otel_agent.verify import foreign, tools
from otel_agent.verify.planting import FOREIGN, OWN, SDK_OF, SDK_SPANS, SERVICE, Call, Mark, calls, plays, script

FLUSH: Final = 25.0
NOT_OBSERVED: Final = 3
"""Exit code when nothing would be recorded, whatever was sent."""


def tell(**word: Any) -> None:
    """A line for whoever started this."""
    sys.stdout.write(f"{json.dumps(word)}\n")
    sys.stdout.flush()


def client(sdk_name: str, standin: str, key: str) -> Any:
    """A client whose answers come from one script."""
    module: Any = import_module(sdk_name)
    if sdk_name == "anthropic":
        return module.Anthropic(base_url=f"{standin}/s/{key}", api_key="none", max_retries=0)
    return module.OpenAI(base_url=f"{standin}/s/{key}/v1", api_key="none", max_retries=0)


RESOURCES: Final[dict[str, Callable[[Any], Any]]] = {
    "anthropic": lambda made: made.messages,
    "openai.chat": lambda made: made.chat.completions,
    "openai.responses": lambda made: made.responses,
}


def call(resource: Any, wanted: Call, refusal: type[Exception]) -> None:
    """Make one call and read all of its answer, as a host would that handles its errors."""
    with suppress(refusal):
        answer = resource.create(**wanted.request, **({"stream": True} if wanted.stream else {}))
        for _ in answer if wanted.stream else ():
            pass


def play(standin: str, party: str, dialect: str, plant: Canaries) -> int:
    """All calls of one dialect inside of a run; a line per call tells whoever started this. Returns how many."""
    name = SDK_OF[dialect]
    key, module = script(party, dialect), import_module(name)
    resource = RESOURCES[dialect](client(name, standin, key))
    wanted = calls(dialect, plant)
    with agent_run(SERVICE):
        for one in wanted:
            call(resource, one, module.APIError)
            tell(done=key)
    return len(wanted)


@contextmanager
def within_trace(trace_id: str) -> Iterator[None]:
    """Everything inside belongs to this trace, as if a caller elsewhere had begun it."""
    parent = SpanContext(int(trace_id, 16), secrets.randbits(63) + 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    token = context.attach(trace.set_span_in_context(NonRecordingSpan(parent)))
    try:
        yield
    finally:
        context.detach(token)


@contextmanager
def leaking_providers(plant: Canaries) -> Iterator[None]:
    """Global providers without a guard, as a host may have, while others play."""
    made = sdk.unguarded(from_env(), foreign.resource(plant), kept={foreign.KEPT})
    setters: tuple[Callable[[Any], None], ...] = (trace.set_tracer_provider, metrics.set_meter_provider, set_logger_provider)
    for put, provider in zip(setters, (made.tracer, made.meter, made.logger), strict=True):
        put(provider)
    try:
        yield
    finally:
        made.shutdown(FLUSH)


def send(standin: str, mark: Mark, installed: set[str], *, others: bool) -> int:
    """Everything of one verification. Returns how many model turns there were."""
    chosen = plays(installed, foreign=others)
    turns = sum(play(standin, party, dialect, mark.plants[party]) for party, dialect in chosen if party == OWN)
    tools.play(mark.plants[OWN], SERVICE)
    if others:
        with leaking_providers(mark.plants[FOREIGN]):
            foreign.play(mark.plants[FOREIGN])
            turns += sum(play(standin, party, dialect, mark.plants[party]) for party, dialect in chosen if party == SDK_SPANS)
    return turns


def main() -> int:
    """``python -m otel_agent.verify.sending STANDIN ID --sdk NAME... [--foreign]``. The last line is the count of what was sent."""
    parser = argparse.ArgumentParser(prog="python -m otel_agent.verify.sending")
    parser.add_argument("standin", help="root URL of the stand-in")
    parser.add_argument("id", help="trace id of the verification")
    parser.add_argument("--sdk", action="append", default=[], help="an SDK to play")
    parser.add_argument("--foreign", action="store_true", help="also what other instrumentations emit")
    arguments = parser.parse_args()
    seen = setup.status()
    if seen.sink != "own" or not seen.covered:
        return NOT_OBSERVED
    mark = Mark(arguments.id)
    with within_trace(mark.id):
        turns = send(arguments.standin, mark, {*seen.active, *seen.waiting} & {*arguments.sdk}, others=arguments.foreign)
    flushed = setup.flush(FLUSH)
    tell(turns=turns, planted=mark.asked(), flushed=flushed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
