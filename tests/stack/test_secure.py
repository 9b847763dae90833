"""Beyond loopback: an agent reaches the gateway by TLS and a bearer token, and nobody else does."""

from __future__ import annotations

import shutil
import subprocess
import urllib.error
from pathlib import Path

import pytest

from tests.stack import build, otlp
from tests.stack.http_client import eventually
from tests.stack.pair import collector, sink

pytestmark = pytest.mark.stack


def certificate(folder: Path) -> dict[str, str]:
    """A self-signed certificate for loopback; it is its own authority."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not on PATH: no certificate for the test")
    key, cert = folder / "key.pem", folder / "cert.pem"
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-addext", names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return {"COLLECTOR_TLS_CERT": str(cert), "COLLECTOR_TLS_KEY": str(key), "COLLECTOR_TLS_CA": str(cert)}


def test_agent_to_gateway(go_toolchain: None, tmp_path: Path) -> None:
    """The span comes through agent and gateway; a sender without the token, or without TLS, is refused."""
    build.build(("collector",))
    token = tmp_path / "token"
    token.write_text("an-agent-of-this-test")
    env = {**certificate(tmp_path), "COLLECTOR_TOKEN_FILE": str(token), "COLLECTOR_GATEWAY_TOKEN_FILE": str(token)}
    shipped = build.COLLECTOR
    server = [shipped / "gateway.yaml", shipped / "secure-server.yaml", sink(tmp_path)]
    with collector("gateway", tmp_path, server, env) as gateway:
        for base in (gateway.base, gateway.base.replace("http:", "https:")):
            with pytest.raises((urllib.error.URLError, OSError)):
                otlp.send(base, otlp.traces("app", [otlp.span(1, 1, "chat", {})]))
        client = [shipped / "agent.yaml", shipped / "secure-client.yaml"]
        env["COLLECTOR_GATEWAY"] = f"127.0.0.1:{gateway.grpc}"
        with collector("agent", tmp_path, client, env) as agent:
            otlp.send(agent.base, otlp.traces("app", [otlp.span(0xABCD, 2, "chat gpt-5", {})]))
            arrived = tmp_path / "traces.json"
            eventually("the span behind the gateway", lambda: f"{0xABCD:032x}" in arrived.read_text())


def test_a_wrong_token_is_refused(go_toolchain: None, tmp_path: Path) -> None:
    """The agent with another token keeps its data and keeps trying."""
    build.build(("collector",))
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text("right")
    wrong.write_text("wrong")
    env = {**certificate(tmp_path), "COLLECTOR_TOKEN_FILE": str(right), "COLLECTOR_GATEWAY_TOKEN_FILE": str(wrong)}
    shipped = build.COLLECTOR
    server = [shipped / "gateway.yaml", shipped / "secure-server.yaml", sink(tmp_path)]
    with collector("gateway", tmp_path, server, env) as gateway:
        env["COLLECTOR_GATEWAY"] = f"127.0.0.1:{gateway.grpc}"
        with collector("agent", tmp_path, [shipped / "agent.yaml", shipped / "secure-client.yaml"], env) as agent:
            otlp.send(agent.base, otlp.traces("app", [otlp.span(1, 2, "chat gpt-5", {})]))
            eventually("a refusal in the agent's log", lambda: "Unauthenticated" in agent.process.tail(20000))
        assert (tmp_path / "traces.json").read_text() == ""
