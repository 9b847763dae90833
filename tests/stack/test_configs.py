"""Every shipped collector configuration is accepted by the collector, and says what it must say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stack import build, configs
from tests.stack.build import COLLECTOR

GATEWAY, AGENT = COLLECTOR / "gateway.yaml", COLLECTOR / "agent.yaml"
STOCK = COLLECTOR / "contrib"
COMBINATIONS = (
    (AGENT,),
    (GATEWAY,),
    (GATEWAY, COLLECTOR / "keep-all.yaml"),
    (AGENT, COLLECTOR / "secure-client.yaml"),
    (GATEWAY, COLLECTOR / "secure-server.yaml"),
    (STOCK / "guard.yaml", STOCK / "agent.yaml"),
    (STOCK / "guard.yaml", STOCK / "gateway.yaml"),
    (STOCK / "guard.yaml", STOCK / "gateway.yaml", STOCK / "keep-all.yaml"),
    (STOCK / "guard.yaml", STOCK / "gateway.yaml", COLLECTOR / "secure-server.yaml"),
)
PIPELINES = (AGENT, GATEWAY, STOCK / "agent.yaml", STOCK / "gateway.yaml")


def load(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def names(paths: tuple[Path, ...]) -> str:
    return "+".join(str(path.relative_to(COLLECTOR)) for path in paths)


@pytest.mark.stack
@pytest.mark.parametrize("files", COMBINATIONS, ids=names)
def test_the_collector_accepts(go_toolchain: None, tmp_path: Path, files: tuple[Path, ...]) -> None:
    """``validate`` says yes, with the defaults and the documented variables."""
    build.build(("collector",))
    (tmp_path / "token").write_text("x")
    env = {name: str(tmp_path / "token") for name in ("COLLECTOR_TOKEN_FILE", "COLLECTOR_GATEWAY_TOKEN_FILE")}
    env |= {name: str(tmp_path / "absent.pem") for name in ("COLLECTOR_TLS_CERT", "COLLECTOR_TLS_KEY", "COLLECTOR_TLS_CA")}
    env |= {"COLLECTOR_ALLOWLIST": str(configs.allowlist()), "COLLECTOR_QUEUE": str(tmp_path)}
    command = [str(build.binary("collector")), "validate", *(part for path in files for part in ("--config", str(path)))]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: str(path.relative_to(COLLECTOR)))
def test_every_pipeline_is_limited_and_guarded_first(path: Path) -> None:
    """The memory limiter is first, then the guard; only traces are sampled, after the guard."""
    guard = ["filter/guard", "transform/guard", "redaction/guard"] if path.parent == STOCK else ["otel_agent_guard"]
    for name, pipeline in load(path)["service"]["pipelines"].items():
        sampled = ["tail_sampling"] if name == "traces" and path.name == "gateway.yaml" else []
        assert pipeline["processors"] == ["memory_limiter", *guard, *sampled]


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: str(path.relative_to(COLLECTOR)))
def test_every_exporter_keeps_and_retries_for_ever(path: Path) -> None:
    """``validate`` does not look at the keys of the retry settings, so this does."""
    for name, exporter in load(path)["exporters"].items():
        retry, queue = exporter["retry_on_failure"], exporter["sending_queue"]
        assert retry.keys() == {"enabled", "initial_interval", "max_interval", "max_elapsed_time"}, name
        assert (retry["enabled"], retry["max_elapsed_time"]) == (True, 0), name
        assert queue["storage"] == "file_storage/queue", name
        assert {"sizer", "min_size", "max_size", "flush_timeout"} == queue["batch"].keys(), name
    assert load(path)["extensions"]["file_storage/queue"]["fsync"] is True


@pytest.mark.parametrize("name", ["agent.yaml", "gateway.yaml"])
def test_the_stock_form_differs_in_the_guard_alone(name: str) -> None:
    """Two files that must stay alike: everything but the guard is equal."""
    ours, stock = load(COLLECTOR / name), load(STOCK / name)
    del ours["processors"]["otel_agent_guard"]
    for each in (ours, stock):
        for pipeline in each["service"]["pipelines"].values():
            pipeline["processors"] = [part for part in pipeline["processors"] if "guard" not in part]
    assert ours == stock


def test_listens_on_loopback_unless_told() -> None:
    """Every default address in the files is loopback."""
    for path in PIPELINES:
        config = load(path)
        protocols = config["receivers"]["otlp"]["protocols"]
        addresses = [protocols["grpc"]["endpoint"], protocols["http"]["endpoint"], config["extensions"]["health_check"]["endpoint"]]
        assert all(":-127.0.0.1:" in address for address in addresses)


def test_the_stock_guard_is_up_to_date(tmp_path: Path) -> None:
    """Generating it anew gives the committed file."""
    made = tmp_path / "guard.yaml"
    script = COLLECTOR / "generate_contrib.py"
    subprocess.run([sys.executable, str(script), str(configs.ALLOWLIST), str(made)], check=True)
    assert made.read_text() == (STOCK / "guard.yaml").read_text()


def test_sampling_policies_speak_of_declared_facts() -> None:
    """Every key and every value in the policies is in the allow-list, so a renamed fact is noticed."""
    declared = yaml.safe_load(configs.allowlist().read_text())["own"]["span"]["attributes"]
    for policy in load(GATEWAY)["processors"]["tail_sampling"]["policies"]:
        rule = policy.get(policy["type"], {})
        if "key" not in rule:
            continue
        spec = declared[rule["key"]]
        assert spec["type"] in {"boolean_attribute": ["bool"], "numeric_attribute": ["int"]}.get(policy["type"], ["string"])
        if "enum" in spec and not rule.get("enabled_regex_matching"):
            assert set(rule["values"]) <= set(spec["enum"])
