"""The native stack: real servers, built from Go modules, on free loopback ports and in a folder of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from tests.stack import build, configs
from tests.stack.addresses import Stack
from tests.stack.configs import Options, Ports
from tests.stack.process import Process, free_ports

FEATURES = ("--web.enable-otlp-receiver", "--enable-feature=exemplar-storage,created-timestamp-zero-ingestion")
"""Without the last one, ``rate()`` never sees the first value of a new series."""


@dataclass(frozen=True)
class NativeStack:
    """The addresses, and the processes by name for tests that kill them."""

    stack: Stack
    ports: Ports
    folder: Path
    processes: dict[str, Process]

    @property
    def collector(self) -> Process:
        return self.processes["collector"]


@contextmanager
def native_stack(options: Options | None = None) -> Iterator[NativeStack]:
    """Build what is missing, run everything, stop everything."""
    build.build()
    with tempfile.TemporaryDirectory(prefix="otel-agent-stack-") as folder:
        running = _prepare(Path(folder), options or Options())
        try:
            for process in running.processes.values():
                process.start()
            yield running
        finally:
            for process in reversed(running.processes.values()):
                process.stop()


def _prepare(folder: Path, options: Options) -> NativeStack:
    ports = Ports(*free_ports(len(fields(Ports))))
    processes = (
        _victorialogs(folder, ports),
        _jaeger(folder, ports),
        _alertmanager(folder, ports, options),
        _prometheus(folder, ports, options),
        collector(folder, ports, options),
    )
    return NativeStack(_addresses(ports), ports, folder, {process.name: process for process in processes})


def _addresses(ports: Ports) -> Stack:
    return Stack(
        kind="native",
        otlp_grpc=f"127.0.0.1:{ports.otlp_grpc}",
        otlp_http=_base(ports.otlp_http),
        prometheus=_base(ports.prometheus),
        alertmanager=_base(ports.alertmanager),
        jaeger=_base(ports.jaeger_query),
        logs=_base(ports.logs),
        collector_metrics=f"{_base(ports.collector_metrics)}/metrics",
        collector_health=_base(ports.collector_health),
    )


def _base(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def write_yaml(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def _victorialogs(folder: Path, ports: Ports) -> Process:
    command = [
        str(build.binary("victorialogs")),
        f"-storageDataPath={folder / 'victorialogs'}",
        f"-httpListenAddr=127.0.0.1:{ports.logs}",
        "-loggerLevel=WARN",
    ]
    return Process("victorialogs", command, f"{_base(ports.logs)}/health", folder / "victorialogs.log")


def _jaeger(folder: Path, ports: Ports) -> Process:
    config = write_yaml(folder / "jaeger.yaml", configs.jaeger(ports))
    command = [str(build.binary("jaeger")), "--config", str(config)]
    quiet = {"OTEL_TRACES_SAMPLER": "always_off"}  # else it traces its own queries to whoever has the default port
    return Process("jaeger", command, f"{_base(ports.jaeger_query)}/api/v3/services", folder / "jaeger.log", quiet)


def _alertmanager(folder: Path, ports: Ports, options: Options) -> Process:
    config = write_yaml(folder / "alertmanager.yml", configs.alertmanager(options))
    command = [
        str(build.binary("alertmanager")),
        f"--config.file={config}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{ports.alertmanager}",
        "--cluster.listen-address=",  # else it opens a gossip port
    ]
    return Process("alertmanager", command, f"{_base(ports.alertmanager)}/-/ready", folder / "alertmanager.log")


def _prometheus(folder: Path, ports: Ports, options: Options) -> Process:
    (folder / "rules").mkdir()
    for path in configs.rule_files(options):
        write_yaml(folder / "rules" / path.name, configs.rules(path, options))
    config = write_yaml(folder / "prometheus.yml", configs.prometheus(ports, options, folder))
    command = [
        str(build.binary("prometheus")),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{ports.prometheus}",
        *FEATURES,
    ]
    return Process("prometheus", command, f"{_base(ports.prometheus)}/-/ready", folder / "prometheus.log")


def collector(folder: Path, ports: Ports, options: Options) -> Process:
    """The shipped gateway, told by its own variables where everybody is."""
    command = [str(build.binary("collector"))]
    for path in configs.collector_files(options):
        command += ["--config", str(path)]
    env = configs.collector_env(ports, options, folder / "queue")
    return Process("collector", command, f"{_base(ports.collector_health)}/", folder / "collector.log", env)
