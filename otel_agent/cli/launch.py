"""``otel-agent run -- COMMAND``: start a Python program observed, without a line in it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final

from otel_agent import launcher
from otel_agent.settings import child_environment, from_env

FOLDER: Final = Path(launcher.__file__).parent


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser(
        "run",
        help="start a Python program observed, without a line in it",
        description="Start a program; every Python interpreter in it observes its provider clients. "
        "Interpreters started with -I, -E or -S do not look for start-up code and are not observed.",
    )
    verb.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND ...", help="for example: -- python app.py")
    verb.set_defaults(act=act)


def act(arguments: argparse.Namespace) -> int:
    """Replace this process by the program. Settings are checked first, where a person sees the error."""
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        print("otel-agent run: no command; write for example: otel-agent run -- python app.py", file=sys.stderr)
        return 2
    from_env()
    environment = child_environment()
    environment["PYTHONPATH"] = os.pathsep.join([str(FOLDER), *filter(None, [environment.get("PYTHONPATH")])])
    try:
        os.execvpe(command[0], command, environment)  # noqa: S606 - the user's own command
    except FileNotFoundError:
        print(
            "otel-agent run: there is no such command on PATH; a script needs its interpreter: otel-agent run -- python app.py",
            file=sys.stderr,
        )
        return 127
    except OSError as error:
        print(
            f"otel-agent run: the command cannot be started ({type(error).__name__}); is it python that should run it? "
            "write for example: otel-agent run -- python app.py",
            file=sys.stderr,
        )
        return 126
