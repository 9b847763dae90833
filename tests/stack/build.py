"""Builds the servers of the native stack from Go modules: once per version, one at a time, into a cache folder.

The folder of a server carries the digest of everything that its build depends on, so a changed version, tag or
processor source builds anew beside the old one, and a present binary is never rebuilt.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "collector"
COLLECTOR_BUILDER = "go.opentelemetry.io/collector/cmd/builder"


@dataclass(frozen=True)
class Server:
    """One build: a pinned module, the packages taken from it, and how it departs from plain `go install`."""

    name: str
    module: str
    version: str
    packages: tuple[str, ...] = ()
    tags: str = ""
    replace: str = ""  # a replacement that the module itself makes: `go install` refuses such modules
    sources: tuple[str, ...] = ()  # globs under collector/ that the build compiles

    @property
    def binaries(self) -> tuple[str, ...]:
        return tuple(package.rsplit("/", 1)[-1] for package in self.packages)


SERVERS: Mapping[str, Server] = {
    server.name: server
    for server in (
        Server(
            name="collector",
            module=COLLECTOR_BUILDER,
            version="v0.161.0",
            packages=("otelcol-agent",),
            sources=("manifest.yaml", "guardprocessor/**/*.go", "guardprocessor/go.*", "guardprocessor/*.json"),
        ),
        Server(
            name="prometheus",
            module="github.com/prometheus/prometheus",
            version="v0.316.0",
            packages=("cmd/prometheus", "cmd/promtool"),
            tags="remove_all_sd",  # service discovery of the clouds: half of the build, none of it used
        ),
        Server(
            name="alertmanager",
            module="github.com/prometheus/alertmanager",
            version="v0.31.1",  # the last release whose web assets are in the module
            packages=("cmd/alertmanager", "cmd/amtool"),
        ),
        Server(
            name="victorialogs",
            module="github.com/VictoriaMetrics/VictoriaLogs",
            version="v1.52.1",
            packages=("app/victoria-logs",),
        ),
        Server(
            name="jaeger",
            module="github.com/jaegertracing/jaeger",
            version="v1.76.0",  # Jaeger 2.13: the module path has no /v2
            packages=("cmd/jaeger",),
            replace="github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0",
        ),
    )
}


def cache_root() -> Path:
    """Where built servers are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "otel-agent" / "stack"


def go_missing() -> str:
    """Why nothing can be built here, or an empty string."""
    return "" if shutil.which("go") else "the Go toolchain is not on PATH: the native stack cannot be built"


def missing() -> str:
    """Why the native stack cannot run here, or an empty string: what is built needs no toolchain any more."""
    return "" if all(map(is_built, SERVERS.values())) else go_missing()


def binary(server: str, name: str = "") -> Path:
    """Path of one binary of a server, built or not."""
    chosen = SERVERS[server]
    return folder(chosen) / (name or chosen.binaries[0])


def folder(server: Server) -> Path:
    return cache_root() / f"{server.name}-{server.version.lstrip('v')}-{_digest(server)}"


def is_built(server: Server) -> bool:
    return all((folder(server) / name).exists() for name in server.binaries)


def build(names: tuple[str, ...] = ()) -> None:
    """Build what is missing, one server after the other; a second process waits for the first."""
    for server in [SERVERS[name] for name in names or tuple(SERVERS)]:
        if is_built(server):
            _say(f"{server.name} {server.version}: present")
            continue
        with _one_build_at_a_time():
            if not is_built(server):
                _build_one(server)


def _build_one(server: Server) -> None:
    if reason := go_missing():
        raise SystemExit(reason)
    _say(f"{server.name} {server.version}: building (minutes on a cold cache)")
    started, target = time.monotonic(), folder(server)
    work = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(work, ignore_errors=True)
    (work / "bin").mkdir(parents=True, mode=0o700)
    try:
        _recipe(server)(server, work)
        shutil.rmtree(target, ignore_errors=True)
        (work / "bin").rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _say(f"{server.name} {server.version}: built in {time.monotonic() - started:.0f} s")


def _recipe(server: Server) -> Callable[[Server, Path], None]:
    if server.module == COLLECTOR_BUILDER:
        return _build_collector
    return _build_as_dependency if server.replace else _install


def _install(server: Server, work: Path) -> None:
    targets = [f"{server.module}/{package}@{server.version}" for package in server.packages]
    _go("install", f"-tags={server.tags}", *targets, cwd=work, env={"GOBIN": str(work / "bin")})


def _build_as_dependency(server: Server, work: Path) -> None:
    """Build from a module of our own, which may repeat the replacement that `go install` refuses."""
    lines = (
        "module otel-agent.local/stack",
        "go 1.26",
        *(f"tool {server.module}/{package}" for package in server.packages),
        f"require {server.module} {server.version}",
        f"replace {server.replace}",
    )
    (work / "go.mod").write_text("\n".join(lines) + "\n")
    for package, name in zip(server.packages, server.binaries, strict=True):
        _go("build", "-mod=mod", "-o", str(work / "bin" / name), f"{server.module}/{package}", cwd=work)


def _build_collector(server: Server, work: Path) -> None:
    tools = work / "tools"
    _go("install", f"{COLLECTOR_BUILDER}@{server.version}", cwd=work, env={"GOBIN": str(tools)})
    manifest = _absolute_paths(yaml.safe_load((COLLECTOR / "manifest.yaml").read_text()), work / "dist")
    (work / "manifest.yaml").write_text(yaml.safe_dump(manifest))
    _run([str(tools / "builder"), "--config", str(work / "manifest.yaml")], cwd=work)
    (work / "dist" / server.binaries[0]).rename(work / "bin" / server.binaries[0])


def _absolute_paths(manifest: dict[str, Any], output: Path) -> dict[str, Any]:
    """The manifest with its relative paths made absolute, so that it can be built outside of its folder."""
    manifest["dist"]["output_path"] = str(output)
    for module in manifest["processors"]:
        if "path" in module:
            module["path"] = str((COLLECTOR / module["path"]).resolve())
    return manifest


def _go(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> None:
    _run(["go", *(argument for argument in arguments if argument != "-tags=")], cwd=cwd, env=env)


def _run(command: list[str], cwd: Path, env: Mapping[str, str] | None = None) -> None:
    """Run a build step at low priority with at most two compilers; its output is shown only when it fails."""
    niced = ["nice", "-n", "5", *command] if shutil.which("nice") else command
    flags = f"{os.environ.get('GOFLAGS', '')} -p=2 -buildvcs=false".strip()
    settings = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": flags, **(env or {})}
    done = subprocess.run(niced, cwd=cwd, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-8000:])
        raise SystemExit(f"build step failed: {' '.join(command)}")


def _digest(server: Server) -> str:
    """What the build depends on: the recipe, and the contents of the sources of our own."""
    digest = hashlib.sha256(repr(server).encode())
    for path in sorted(_source_files(server)):
        digest.update(str(path.relative_to(COLLECTOR)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _source_files(server: Server) -> Iterator[Path]:
    for pattern in server.sources:
        yield from (path for path in COLLECTOR.glob(pattern) if not path.name.endswith("_test.go"))


@contextmanager
def _one_build_at_a_time() -> Iterator[None]:
    cache_root().mkdir(parents=True, exist_ok=True, mode=0o700)
    with (cache_root() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(text: str) -> None:
    print(f"[stack] {text}", flush=True)
