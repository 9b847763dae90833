"""Single collectors for tests: started with any configuration files, beside or behind one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.stack import build, configs
from tests.stack.native import write_yaml
from tests.stack.process import Process, free_ports


@dataclass(frozen=True)
class Collector:
    """One running collector and where it listens."""

    process: Process
    grpc: int
    http: int
    metrics: int

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    @property
    def metrics_url(self) -> str:
        return f"http://127.0.0.1:{self.metrics}/metrics"


@contextmanager
def collector(name: str, folder: Path, files: Sequence[Path], env: Mapping[str, str] | None = None) -> Iterator[Collector]:
    """Run one on free ports, with its queue and log in a folder of its own."""
    grpc, http, health, metrics = free_ports(4)
    settings = {
        "COLLECTOR_OTLP_GRPC": f"127.0.0.1:{grpc}",
        "COLLECTOR_OTLP_HTTP": f"127.0.0.1:{http}",
        "COLLECTOR_HEALTH": f"127.0.0.1:{health}",
        "COLLECTOR_METRICS_PORT": str(metrics),
        "COLLECTOR_ALLOWLIST": str(configs.allowlist()),
        "COLLECTOR_QUEUE": str(folder / f"{name}-queue"),
        **(env or {}),
    }
    command = [str(build.binary("collector")), *(part for path in files for part in ("--config", str(path)))]
    process = Process(name, command, f"http://127.0.0.1:{health}/", folder / f"{name}.log", settings)
    try:
        process.start()
        yield Collector(process, grpc, http, metrics)
    finally:
        process.stop()


def sink(folder: Path, name: str = "sink") -> Path:
    """A gateway that writes what it gets into files, unguarded and unsampled: the far end of a pipeline under test."""
    signals = ("traces", "metrics", "logs")
    keep = {"receivers": ["otlp"], "processors": ["memory_limiter"]}
    return write_yaml(
        folder / f"{name}.yaml",
        {
            "exporters": {f"file/{each}": {"path": str(folder / f"{each}.json"), "flush_interval": "100ms"} for each in signals},
            "service": {"pipelines": {each: {**keep, "exporters": [f"file/{each}"]} for each in signals}},
        },
    )
