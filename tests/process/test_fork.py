"""Workers: what children record arrives, and nobody waits for ever."""

from __future__ import annotations

import pytest

from otel_agent.testing import Standin

from .receiving import Collector
from .starting import environment, ok, program


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("method", ["fork", "spawn", "prefork"])
def test_children_are_recorded(method: str, protocol: str, provider: Standin, collector: Collector) -> None:
    """``multiprocessing`` by fork and by spawn, and ``os.fork`` after set-up, as pre-forking servers do."""
    endpoint = collector.grpc if protocol == "grpc" else collector.http
    env = environment(endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol, OTEL_AGENT_EXIT_TIMEOUT="20")
    ok(program("forking", provider.url(), method, env=env, seconds=120))
    runs = sorted(run["gen_ai.agent.name"] for run in collector.facts("agent_run"))
    assert runs == ["parent", "parent", "worker0", "worker1", "worker2"]
    assert len(collector.facts("model_turn")) == 5
    ids = [span["spanId"] for span in collector.spans]
    assert len(ids) == len(set(ids)) == 10
    recorded = {point["attributes"].get("gen_ai.agent.name") for point in collector.points("otel_agent.runs")}
    assert recorded == {"parent", "worker0", "worker1", "worker2"}


@pytest.mark.parametrize("given", ["", "pod-7"])
def test_each_worker_counts_for_itself(given: str, provider: Standin, collector: Collector) -> None:
    """Counters of two processes under one instance would be one broken series, also where the parent was given its own."""
    env = environment(collector.http, OTEL_AGENT_EXIT_TIMEOUT="20")
    if given:
        env["OTEL_RESOURCE_ATTRIBUTES"] = f"service.instance.id={given}"
    ok(program("forking", provider.url(), "prefork", env=env, seconds=120))
    owners: dict[str, set[str]] = {}
    for about, _, record in collector.groups("logs", "scopeLogs", "logRecords"):
        if record.get("eventName") == "otel_agent.agent_run":
            name = next(pair["value"]["stringValue"] for pair in record["attributes"] if pair["key"] == "gen_ai.agent.name")
            owners.setdefault(name, set()).add(about["service.instance.id"])
    assert all(len(instances) == 1 for instances in owners.values())
    assert len({next(iter(instances)) for instances in owners.values()}) == len(owners) == 4
    assert (given or next(iter(owners["parent"]))) in owners["parent"]
