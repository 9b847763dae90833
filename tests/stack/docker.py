"""The same stack from containers: the compose file of the repository, brought up by testcontainers where an engine answers."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.stack.addresses import Stack
from tests.stack.build import ROOT

PASSWORD = ROOT / "collector" / "compose" / "secrets" / "grafana-password"


def missing() -> str:
    """Why containers cannot be used here, or an empty string."""
    return compose_missing() or ("" if _succeeds("docker", "info") else "no Docker engine answers")


def compose_missing() -> str:
    """Why ``docker compose`` cannot read a file here, for which it needs no engine, or an empty string."""
    if not shutil.which("docker"):
        return "docker is not on PATH"
    return "" if _succeeds("docker", "compose", "version") else "`docker compose` is not there"


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def make_password() -> None:
    """Grafana's password, once. The folder is closed to others; the file is not, since Grafana's user must read it."""
    PASSWORD.parent.mkdir(mode=0o700, exist_ok=True)
    if not PASSWORD.exists():
        PASSWORD.write_text(secrets.token_urlsafe(24))
        PASSWORD.chmod(0o644)


def addresses() -> Stack:
    """The published ports of docker-compose.yml."""
    return Stack(
        kind="docker",
        otlp_grpc="127.0.0.1:4317",
        otlp_http="http://127.0.0.1:4318",
        prometheus="http://127.0.0.1:9090",
        alertmanager="http://127.0.0.1:9093",
        jaeger="http://127.0.0.1:16686",
        logs="http://127.0.0.1:9428",
        collector_metrics="http://127.0.0.1:8888/metrics",
        collector_health="http://127.0.0.1:13133",
    )


@contextmanager
def docker_stack() -> Iterator[Stack]:
    """Bring the compose file up under a name of its own, wait for its health checks, take it down with its volumes.

    The name keeps a stack that runs on this host apart: its ports would collide, and its volumes are not ours to remove.
    """
    from testcontainers.compose import DockerCompose

    make_password()
    os.environ["COMPOSE_PROJECT_NAME"] = "otel-agent-test"
    with DockerCompose(str(ROOT), wait=True, keep_volumes=False):
        yield addresses()
