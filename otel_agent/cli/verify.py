"""``otel-agent verify``: prove on a real pipeline that thinking text does not get through."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from otel_agent.cli import numbers
from otel_agent.cli.extras import need
from otel_agent.settings import Settings, data_home, endpoints, from_env

if TYPE_CHECKING:
    from otel_agent.verify.far_ends import FarEnd

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser(
        "verify",
        help="send canaries through your own pipeline and search what arrived at its far ends",
        description="Plays model calls of the real SDKs against a stand-in, with a canary in every place where text travels, sends the "
        "records where OTEL_EXPORTER_OTLP_* says, and searches the far ends for the canaries. Exit code: 0 clean, 1 a leak or not proven, "
        "2 it could not run.",
    )
    verb.add_argument("--store", type=Path, action="append", default=[], metavar="FILE", help="far end: a store of otel-agent local")
    verb.add_argument("--jaeger", action="append", default=[], metavar="URL", help="far end: Jaeger's query interface")
    verb.add_argument("--prometheus", action="append", default=[], metavar="URL", help="far end: Prometheus' query interface")
    verb.add_argument("--logs", action="append", default=[], metavar="URL", help="far end: VictoriaLogs")
    verb.add_argument("--file", type=Path, action="append", default=[], metavar="PATH", help="far end: a file or folder a collector writes")
    verb.add_argument(
        "--timeout", type=numbers.seconds, default=60.0, metavar="SECONDS", help="wait this long for arrivals (default: %(default)g)"
    )
    verb.add_argument(
        "--settle",
        type=numbers.seconds,
        default=3.0,
        metavar="SECONDS",
        help="all has arrived when nothing came for so long (default: %(default)g)",
    )
    verb.add_argument(
        "--with-foreign", action=argparse.BooleanOptionalAction, default=True, dest="foreign",
        help="also send what other instrumentations leak, without the SDK-side guard, to try the pipeline's own (default: on)",
    )  # fmt: skip
    verb.add_argument("--json", action="store_true", help="print the result as JSON")
    verb.set_defaults(act=act)


def act(arguments: argparse.Namespace) -> int:
    """Run it and print what was found."""
    from otel_agent.verify import play, report
    from otel_agent.verify.web import CannotAsk

    settings = from_env()
    try:
        ends = far_ends(arguments, settings)
        options = play.Options(ends, arguments.foreign, arguments.timeout, arguments.settle)
        result = play.play(options, lambda text: print(text, file=sys.stderr, flush=True))
    except (CannotAsk, play.CannotVerify) as error:
        print(f"otel-agent verify: {error.why}", file=sys.stderr)
        return 2
    print(json.dumps(report.as_json(result), indent=2) if arguments.json else "\n".join(report.lines(result)))
    return 0 if result.verdict == report.CLEAN else 1


def far_ends(arguments: argparse.Namespace, settings: Settings) -> Sequence[FarEnd]:
    """Those that were named; else the store of the receiver that runs here, if records go there; else none."""
    from otel_agent.verify.far_ends import all_of
    from otel_agent.verify.files import Files
    from otel_agent.verify.play import CannotVerify

    named = all_of(arguments.store, arguments.jaeger, arguments.prometheus, arguments.logs)
    named += [Files(path) for path in arguments.file]
    if arguments.store or not named:
        need("local")
    if settings.sdk_disabled or (named and "otlp" not in settings.exporters.values()):
        raise CannotVerify("nothing is exported over OTLP in this environment; see OTEL_SDK_DISABLED and OTEL_LOGS_EXPORTER")
    return named or all_of(running_store(settings), [], [], [])


def running_store(settings: Settings) -> list[Path]:
    """The usual store, when a receiver holds it and log records go to that receiver."""
    from otel_agent.local import reader, state
    from otel_agent.local.settings import default_path
    from otel_agent.local.store import StoreError

    path = default_path(data_home())
    running, parts = state.read(path), urlsplit(endpoints()["logs"])
    over_http = settings.signal_protocols.get("logs", settings.protocol) != "grpc"
    # The state file names the HTTP port only: for gRPC, being on this machine has to do, and the count of arrivals decides.
    if running is None or parts.hostname not in LOOPBACK or (over_http and parts.port != running.port):
        return []
    try:
        reader.stats(path)
    except StoreError:
        return []
    return [path]
