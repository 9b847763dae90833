"""``otel-agent local``: receive OTLP into a file."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from otel_agent.cli import numbers
from otel_agent.cli.extras import need
from otel_agent.settings import data_home, local_keep_days, local_token


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser(
        "local",
        help="receive OTLP (gRPC and HTTP) into a DuckDB file",
        description="One process that receives OTLP and answers once the rows are on disk. "
        "Loopback only, unless OTEL_AGENT_LOCAL_TOKEN holds a token.",
    )
    verb.add_argument("--store", type=Path, help="the file (default: in the user's data folder)")
    verb.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    verb.add_argument("--grpc-port", type=numbers.port, default=4317, help="default: %(default)s; 0 takes a free one")
    verb.add_argument("--http-port", type=numbers.port, default=4318, help="default: %(default)s; 0 takes a free one")
    verb.add_argument(
        "--keep",
        type=numbers.days,
        metavar="DAYS",
        help="remove records that were received longer ago (default: OTEL_AGENT_LOCAL_KEEP_DAYS, else all are kept)",
    )
    verb.set_defaults(act=act)


def act(arguments: argparse.Namespace) -> int:
    """Run until interrupted."""
    need("local")
    from otel_agent.local import reader
    from otel_agent.local.over_grpc import CannotListen
    from otel_agent.local.server import serve
    from otel_agent.local.settings import LocalSettings, UnsafeBinding, WrongPort, default_path
    from otel_agent.local.store import StoreError, StoreHeld

    try:
        settings = LocalSettings(
            path=arguments.store or default_path(data_home()),
            host=arguments.host,
            grpc_port=arguments.grpc_port,
            http_port=arguments.http_port,
            token=local_token(),
            keep_days=arguments.keep or local_keep_days(),
        )
        serve(settings, say=partial(print, flush=True))  # a log file or a container shows it at once too
    except StoreHeld as error:
        # The store cannot tell who holds it; mostly it is a receiver that runs already.
        where = reader.holder(settings.path)
        told = (
            error if where is None else f"otel-agent local runs already, on {where}, with this store; send to that, or give another --store"
        )
        print(f"otel-agent local: {told}", file=sys.stderr)
        return 2
    except (CannotListen, StoreError, UnsafeBinding, WrongPort) as error:
        print(f"otel-agent local: {error}", file=sys.stderr)
        return 2
    return 0
