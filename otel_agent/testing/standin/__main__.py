"""`python -m otel_agent.testing.standin`: serve the built-in script until interrupted."""

from __future__ import annotations

import argparse
import sys
import time

from otel_agent.testing.standin.builtin import think_call_answer
from otel_agent.testing.standin.recording import Exchange
from otel_agent.testing.standin.standin import Standin
from otel_agent.testing.standin.wire.flavours import FLAVOURS


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535):
        raise argparse.ArgumentTypeError("this is not a port; write a whole number from 0 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0.0:
        raise argparse.ArgumentTypeError("this is no number of seconds; write one from 0 on, or leave it out to serve until interrupted")
    return value


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="standin", description="A provider stand-in on the loopback interface.")
    parser.add_argument("--port", type=_port, default=0, help="port to listen on (0: a free one)")
    parser.add_argument("--flavour", choices=sorted(FLAVOURS), default="openai", help="whose chat completions to speak")
    parser.add_argument("--check-replay", action="store_true", help="reject reasoning that comes back changed")
    parser.add_argument("--seconds", type=_seconds, default=float("inf"), help="stop by itself after so many seconds")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Serve, and tell the addresses and each request."""
    asked = _arguments(given)
    with Standin(port=asked.port, check_replay=asked.check_replay) as standin:
        standin.script("*", think_call_answer, flavour=asked.flavour)
        print(f"ANTHROPIC_BASE_URL={standin.anthropic_url}\nOPENAI_BASE_URL={standin.openai_url}", flush=True)
        _watch(standin, time.monotonic() + asked.seconds)
    return 0


def _tell(exchange: Exchange) -> None:
    print(exchange.request.method, exchange.request.route, exchange.status, exchange.outcome, flush=True)


def _watch(standin: Standin, until: float) -> None:
    """Print one line for each request until the time is over or the person has had enough."""
    shown = 0
    try:
        while time.monotonic() < until:
            for exchange in standin.exchanges:
                if exchange.request.number > shown and exchange.outcome is not None:
                    shown = exchange.request.number
                    _tell(exchange)
            time.sleep(0.1)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    sys.exit(main())
