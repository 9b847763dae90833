"""``python -m tests.stack build [NAME ...]`` builds the servers, ``up`` runs them until Ctrl-C.

``pictures`` draws the boards over what agents send; ``password`` makes Grafana's, for Docker.
"""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from tests.stack import build, docker
from tests.stack.configs import Options
from tests.stack.native import native_stack


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.stack", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    builder = verbs.add_parser("build", help="build the servers into the cache folder")
    builder.add_argument("names", nargs="*", metavar="NAME", help=", ".join(build.SERVERS))
    upper = verbs.add_parser("up", help="run the stack on free loopback ports until Ctrl-C")
    upper.add_argument("--webhook", default=Options.webhook, help="where Alertmanager posts its notifications")
    drawer = verbs.add_parser("pictures", help="play agents into the stack for a while and draw the boards")
    drawer.add_argument("--minutes", type=float, default=12.0, help="how long to play")
    drawer.add_argument("--out", type=Path, default=Path("dashboards/pictures"), help="where the pictures go")
    verbs.add_parser("password", help="make Grafana's admin password for the compose stack, unless it is there")
    arguments = parser.parse_args()
    if arguments.verb == "build":
        build.build(tuple(arguments.names))
    elif arguments.verb == "password":
        docker.make_password()
    elif arguments.verb == "pictures":
        from tests.stack import scenery  # the others need neither agents nor matplotlib

        scenery.draw(arguments.minutes, arguments.out)
    else:
        _run(Options(webhook=arguments.webhook))


def _run(options: Options) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a plain `kill` takes the servers down too
    with native_stack(options) as running:
        print(running.stack.lines(), f"folder {running.folder}", "Ctrl-C stops it.", sep="\n", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            for further in (signal.SIGINT, signal.SIGTERM):
                signal.signal(further, signal.SIG_IGN)  # a second one would leave servers behind
            print("stopping", flush=True)


if __name__ == "__main__":
    main()
