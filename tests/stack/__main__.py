"""``python -m tests.stack build [NAME ...]`` builds; ``python -m tests.stack up`` runs until Ctrl-C."""

from __future__ import annotations

import argparse
import threading

from tests.stack import build
from tests.stack.configs import Options
from tests.stack.native import native_stack


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.stack", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    builder = verbs.add_parser("build", help="build the servers into the cache folder")
    builder.add_argument("names", nargs="*", choices=[*build.SERVERS, []], metavar="NAME", help=", ".join(build.SERVERS))
    upper = verbs.add_parser("up", help="run the stack on free loopback ports until Ctrl-C")
    upper.add_argument("--webhook", default=Options.webhook, help="where Alertmanager posts its notifications")
    arguments = parser.parse_args()
    if arguments.verb == "build":
        build.build(tuple(arguments.names))
    else:
        _run(Options(webhook=arguments.webhook))


def _run(options: Options) -> None:
    with native_stack(options) as running:
        print(running.stack.lines(), f"folder {running.folder}", "Ctrl-C stops it.", sep="\n", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopping", flush=True)


if __name__ == "__main__":
    main()
