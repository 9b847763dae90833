"""``otel-agent demo``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from otel_agent.cli.extras import EXTRAS, MissingExtra, missing
from otel_agent.instrument.runtime import package_version
from otel_agent.settings import cache_home, child_environment, from_env


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser(
        "demo",
        help="run agents against a stand-in for the providers and show what was recorded",
        description="Runs agents on the real SDKs against a stand-in for the providers, on this machine alone, lists what was "
        "recorded, and searches the store for the thinking text that was sent. The store is removed at the end unless --store keeps it.",
    )
    verb.add_argument("--endpoint", help="send to this OTLP endpoint instead of a store of the demo's own")
    verb.add_argument("--protocol", choices=("http/protobuf", "grpc"), default="http/protobuf", help="protocol for --endpoint")
    verb.add_argument("--store", type=Path, help="keep the store in this new file")
    verb.add_argument("--json", action="store_true", help="print the result as JSON")
    verb.add_argument("--no-install", action="store_true", help="do not fetch missing packages into a cache folder")
    verb.set_defaults(act=act)


def act(arguments: argparse.Namespace) -> int:
    """Run it, here or, when packages are missing, in a child that finds them in a cache folder."""
    if arguments.store is not None and arguments.store.exists():
        raise MissingExtra(
            f"--store names a file that exists; name a new one, or look into it with: otel-agent runs --store {arguments.store}"
        )
    if arguments.endpoint is not None:
        from_env({"OTEL_EXPORTER_OTLP_ENDPOINT": arguments.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": arguments.protocol})
    lacking = missing("demo")
    if not lacking:
        from otel_agent.demo.play import Options, play

        return play(Options(arguments.endpoint, arguments.protocol, arguments.store, arguments.json))
    if arguments.no_install:
        raise MissingExtra(f"the demo needs {', '.join(lacking)}; install them with: pip install 'otel-agent[demo]'")
    return _in_child(lacking)


def _in_child(lacking: list[str]) -> int:
    """The core install stays as it is: what the demo needs goes into a folder of its own, which the child alone looks into."""
    if find_spec("pip") is None:
        raise MissingExtra("the demo needs more packages and there is no pip here; install otel-agent[demo] with your own installer")
    folder = cache_home() / f"demo-{package_version()}-{sys.version_info.major}.{sys.version_info.minor}"
    ready = folder / ".ready"
    if not ready.exists():
        print(
            f"the demo needs {', '.join(lacking)}, which the core install leaves out; fetching them with pip into {folder}", file=sys.stderr
        )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        packages = sorted(EXTRAS["demo"])
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(folder), *packages]
        if subprocess.run(command, check=False).returncode != 0:
            raise MissingExtra("pip could not fetch them; install them yourself with: pip install 'otel-agent[demo]'")
        ready.touch()
    environment = child_environment(PYTHONPATH=os.pathsep.join([*filter(None, [child_environment().get("PYTHONPATH")]), str(folder)]))
    return subprocess.run([sys.executable, "-m", "otel_agent.cli", *sys.argv[1:], "--no-install"], env=environment, check=False).returncode
