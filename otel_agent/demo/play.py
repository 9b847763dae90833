"""The demo's director: store, stand-in, agents, summary, proof."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from otel_agent.demo.proof import Proof, search
from otel_agent.demo.scripts import SCENARIOS, load
from otel_agent.demo.summary import summary
from otel_agent.local import queries, reader
from otel_agent.local.server import LocalServer
from otel_agent.settings import child_environment
from otel_agent.testing.canaries import Canaries
from otel_agent.testing.standin import Standin

PLANNED: Final = len(SCENARIOS)
ENDING: Final = sorted(scenario.name for scenario in SCENARIOS if scenario.ends)
TIME_LIMIT: Final = 90.0


@dataclass(frozen=True, slots=True)
class Options:
    """``endpoint``: send there instead of to a store of our own. ``store``: keep the store at this path, which must not exist."""

    endpoint: str | None = None
    protocol: str = "http/protobuf"
    store: Path | None = None
    json: bool = False


def play(options: Options) -> int:
    """Run the demo. 0 when every scenario was recorded, ended unless it has no end, and no deliberation is in the store."""
    console = Console(stderr=options.json)
    canaries = Canaries(secrets.token_hex(8))
    with ExitStack() as stack:
        standin = stack.enter_context(Standin(check_replay=False))
        planted = load(standin, canaries)
        if options.endpoint is not None:
            return _elsewhere(console, standin, options.endpoint, options.protocol)
        path = options.store or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="otel-agent-"))) / "demo.duckdb"
        with LocalServer(path, grpc_port=0, http_port=0) as server:
            console.print(f"store: {path}, receiving on {server.http_endpoint} (HTTP) and {server.grpc_endpoint} (gRPC)")
            failed = _act(console, standin, server.http_endpoint, "http/protobuf")
        found = reader.runs(path)
        proof = search(path, canaries, planted)
        _report(console, options, found, proof, path)
    return 0 if not failed and not proof.found and len(found["runs"]) == PLANNED and _ended(found) == ENDING else 1


def _ended(found: dict[str, Any]) -> list[str]:
    """The agents whose runs have an end."""
    return sorted(run["agent_name"] for run in found["runs"] if run["state"] == queries.ENDED)


def _elsewhere(console: Console, standin: Standin, endpoint: str, protocol: str) -> int:
    failed = _act(console, standin, endpoint, protocol)
    if failed:
        console.print(f"not everything was taken at {endpoint}: does a collector, or otel-agent local, listen there?")
        return 1
    console.print(f"{PLANNED} runs were sent to {endpoint}; look for service [bold]otel-agent-demo[/] there")
    return 0


def _act(console: Console, standin: Standin, endpoint: str, protocol: str) -> bool:
    """Play all scenarios in a child process; whether it failed."""
    agents = [sys.executable, "-m", "otel_agent.demo.agents", standin.url(), "--attended"]
    command = [sys.executable, "-m", "otel_agent.cli", "run", "--", *agents]
    environment = child_environment(
        OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
        OTEL_SERVICE_NAME="otel-agent-demo",
        OTEL_AGENT_DIGEST_KEY=secrets.token_hex(16),
        OTEL_AGENT_EXIT_TIMEOUT="20",
        ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE="content",
    )
    # A session of its own: what interrupts the demo at the terminal is this process's affair, and the agents print no tracebacks of it.
    # They end when their standard input does, since an interrupt inside Popen, or a SIGKILL, leaves nobody who could end them.
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with child, _ended_with_us(child), Progress(*columns, console=console, transient=False) as progress:
        task = progress.add_task("playing", total=PLANNED)
        for name in _done(child):
            progress.update(task, advance=1, description=f"played {name}")
        progress.update(task, description="exporting")
        code = child.wait(TIME_LIMIT)
        progress.update(task, description="recorded" if code == 0 else f"the agents ended with code {code}")
    return code != 0


@contextmanager
def _ended_with_us(child: subprocess.Popen[str]) -> Iterator[None]:
    """Whatever ends the demo ends its agents."""
    try:
        yield
    finally:
        child.terminate()


def _done(child: subprocess.Popen[str]) -> Iterator[str]:
    for line in child.stdout or ():
        try:
            yield str(json.loads(line)["done"])
        except (ValueError, KeyError, TypeError):
            print(line, end="", file=sys.stderr)


def _report(console: Console, options: Options, found: dict[str, Any], proof: Proof, path: Path) -> None:
    if options.json:
        print(json.dumps({**found, "proof": asdict(proof)}, indent=2, default=str))
        return
    console.print()
    console.print(summary(found))
    console.print()
    console.print(_verdict(proof), highlight=False)
    if options.store is not None:
        console.print(f"look closer: otel-agent runs --store {path}; otel-agent show RUN --store {path}")


def _verdict(proof: Proof) -> str:
    searched = f"{proof.read_bytes:,} bytes and {proof.read_cells:,} cells of the store"
    if proof.found:
        return (
            f"[bold red]{len(proof.found)} of {proof.planted} pieces of thinking text were found[/] in {searched}: {', '.join(proof.found)}"
        )
    return f"[bold green]none of the {proof.planted} pieces of thinking text that the model sent is in the store[/] ({searched} searched)"
