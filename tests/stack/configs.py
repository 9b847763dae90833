"""What the servers of the native stack are told: the shipped configuration files with this stack's addresses in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.stack.build import COLLECTOR, ROOT

DASHBOARDS = ROOT / "dashboards"
ALLOWLIST = ROOT / "schema" / "allowlist.json"
SAMPLE_ALLOWLIST = COLLECTOR / "guardprocessor" / "testdata" / "allowlist.json"


@dataclass(frozen=True)
class Ports:
    """One free port for every door of the stack."""

    otlp_grpc: int
    otlp_http: int
    collector_health: int
    collector_metrics: int
    prometheus: int
    alertmanager: int
    jaeger_grpc: int
    jaeger_http: int
    jaeger_query: int
    jaeger_query_grpc: int
    logs: int


@dataclass(frozen=True)
class Options:
    """What a test may want otherwise than the shipped files say."""

    scrape_interval: str = "1s"
    evaluation_interval: str = "1s"
    rule_files: Sequence[Path] | None = None  # none: dashboards/rules/*.yml
    hold: str = ""  # replaces how long an alert must hold before it fires; empty: as shipped
    webhook: str = "http://127.0.0.1:9/"  # where Alertmanager posts; the default is nobody
    keep_all_traces: bool = True
    decision_wait: str = "1s"
    keep_percent: str = "0"
    overlays: Sequence[Path] = ()  # further collector configurations, last one wins


def allowlist() -> Path:
    return ALLOWLIST if ALLOWLIST.exists() else SAMPLE_ALLOWLIST


def rule_files(options: Options) -> list[Path]:
    return sorted((DASHBOARDS / "rules").glob("*.yml")) if options.rule_files is None else list(options.rule_files)


def rules(path: Path, options: Options) -> dict[str, Any]:
    """A rule file whose groups are evaluated at the stack's pace; expressions and windows stay as they are shipped."""
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    for group in content["groups"]:
        group.pop("interval", None)
        for rule in group["rules"]:
            if options.hold and "for" in rule:
                rule["for"] = options.hold
    return content


def prometheus(ports: Ports, options: Options, folder: Path) -> dict[str, Any]:
    shipped: dict[str, Any] = yaml.safe_load((COLLECTOR / "compose" / "prometheus.yml").read_text())
    shipped["global"] = {"scrape_interval": options.scrape_interval, "evaluation_interval": options.evaluation_interval}
    shipped["rule_files"] = [str(folder / "rules" / "*.yml")]
    shipped["alerting"]["alertmanagers"] = [_targets(ports.alertmanager)]
    here = {"collector": ports.collector_metrics, "prometheus": ports.prometheus, "alertmanager": ports.alertmanager}
    for job in shipped["scrape_configs"]:
        job.update(_targets(here[job["job_name"]]))
    return shipped


def _targets(port: int) -> dict[str, Any]:
    return {"static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}


def alertmanager(options: Options) -> dict[str, Any]:
    """The shipped routes, every receiver posting to the test's webhook; without shipped routes, one that takes all."""
    shipped = DASHBOARDS / "alertmanager" / "alertmanager.yml"
    if not shipped.exists():
        return _plain_alertmanager(options.webhook)
    config: dict[str, Any] = yaml.safe_load(shipped.read_text())
    for receiver in config["receivers"]:
        for webhook in receiver.get("webhook_configs", ()):
            webhook.pop("url_file", None)
            webhook["url"] = options.webhook
    return _impatient(config)


def _plain_alertmanager(webhook: str) -> dict[str, Any]:
    return _impatient(
        {
            "route": {"receiver": "test"},
            "receivers": [{"name": "test", "webhook_configs": [{"url": webhook, "send_resolved": True}]}],
        },
    )


def _impatient(config: dict[str, Any]) -> dict[str, Any]:
    """Group waits of a second, so that a test need not wait as long as a person would like to."""
    routes = [config["route"]]
    while routes:
        route = routes.pop()
        route.update({"group_wait": "1s", "group_interval": "1s"} if route is config["route"] else {})
        for key in ("group_wait", "group_interval"):
            if key in route:
                route[key] = "1s"
        routes += route.get("routes", ())
    return config


def jaeger(ports: Ports) -> dict[str, Any]:
    pipeline = {"receivers": ["otlp"], "processors": [], "exporters": ["jaeger_storage_exporter"]}
    protocols = {"grpc": _endpoint(ports.jaeger_grpc), "http": _endpoint(ports.jaeger_http)}
    query = {"storage": {"traces": "memory"}, "http": _endpoint(ports.jaeger_query), "grpc": _endpoint(ports.jaeger_query_grpc)}
    return {
        "extensions": {
            "jaeger_storage": {"backends": {"memory": {"memory": {"max_traces": 100_000}}}},
            "jaeger_query": query,
        },
        "receivers": {"otlp": {"protocols": protocols}},
        "exporters": {"jaeger_storage_exporter": {"trace_storage": "memory"}},
        "service": {
            "extensions": ["jaeger_storage", "jaeger_query"],
            "pipelines": {"traces": pipeline},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }


def _endpoint(port: int) -> dict[str, str]:
    return {"endpoint": f"127.0.0.1:{port}"}


def collector_env(ports: Ports, options: Options, queue: Path) -> Mapping[str, str]:
    return {
        "COLLECTOR_OTLP_GRPC": f"127.0.0.1:{ports.otlp_grpc}",
        "COLLECTOR_OTLP_HTTP": f"127.0.0.1:{ports.otlp_http}",
        "COLLECTOR_HEALTH": f"127.0.0.1:{ports.collector_health}",
        "COLLECTOR_METRICS_HOST": "127.0.0.1",
        "COLLECTOR_METRICS_PORT": str(ports.collector_metrics),
        "COLLECTOR_PROMETHEUS": f"http://127.0.0.1:{ports.prometheus}/api/v1/otlp",
        "COLLECTOR_TRACES": f"127.0.0.1:{ports.jaeger_grpc}",
        "COLLECTOR_LOGS": f"http://127.0.0.1:{ports.logs}/insert/opentelemetry/v1/logs",
        "COLLECTOR_ALLOWLIST": str(allowlist()),
        "COLLECTOR_QUEUE": str(queue),
        "COLLECTOR_DECISION_WAIT": options.decision_wait,
        "COLLECTOR_KEEP_PERCENT": options.keep_percent,
    }


def collector_files(options: Options) -> list[Path]:
    keep_all = [COLLECTOR / "keep-all.yaml"] if options.keep_all_traces else []
    return [COLLECTOR / "gateway.yaml", *keep_all, *options.overlays]


def variables(path: Path) -> set[str]:
    """The environment variables that a collector configuration reads."""
    return set(re.findall(r"\$\{env:([A-Z_]+)", path.read_text()))
