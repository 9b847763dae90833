"""The same agent, started in every way there is, records the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from otel_agent.testing import Standin

from .receiving import Collector, collecting
from .starting import OTEL_AGENT_RUN, PYTHON, environment, ok, program, run

AUTO = Path(sys.executable).with_name("opentelemetry-instrument")
TURNS = 6


def timeless(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts without what differs from run to run: times, ports and the ids that a provider makes up."""
    changing = ("duration", "time_to", "seconds", "_id", ".id", "server.port", "chunk")
    return {name: value for name, value in facts.items() if not any(part in name for part in changing)}


def recorded(provider: Standin, name: str, before: tuple[Any, ...]) -> tuple[list[Any], set[str], Collector]:
    """Turns and metric names of one start."""
    with collecting() as collector:
        ok(program(name, provider.url(), env=environment(collector.http), before=before))
        return [timeless(turn) for turn in collector.facts("model_turn")], collector.metrics, collector


def test_no_line_one_line_and_auto_instrumentation_record_the_same(provider: Standin) -> None:
    """``otel-agent run``, ``otel_agent.instrument()`` and ``opentelemetry-instrument``."""
    turns, metrics, collector = recorded(provider, "one_line", ())
    assert len(turns) == TURNS
    assert {turn["otel_agent.api"] for turn in turns} == {"messages", "chat_completions", "responses"}
    assert all(turn["otel_agent.usage.state"] == "complete" for turn in turns)
    assert {"gen_ai.client.inference.duration", "otel_agent.turns"} <= metrics
    assert {span["scope"] for span in collector.spans} == {"otel_agent"}
    assert sorted(span["spanId"] for span in collector.spans) == sorted(record["spanId"] for record in collector.records)
    launched = recorded(provider, "agent", OTEL_AGENT_RUN)
    assert launched[:2] == (turns, metrics)
    if not AUTO.exists():
        pytest.skip("opentelemetry-instrument is not installed; the other two ways were compared")
    automatic = recorded(provider, "agent", (str(AUTO),))
    assert automatic[:2] == (turns, metrics)


def test_the_hosts_own_start_up_code_still_runs(provider: Standin, collector: Collector, tmp_path: Path) -> None:
    """The launcher's ``sitecustomize`` hides no other."""
    (tmp_path / "sitecustomize.py").write_text("print('host start-up code')\n", "utf-8")
    env = environment(collector.http)
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    ended = ok(program("agent", provider.url(), env=env, before=OTEL_AGENT_RUN))
    assert ended.out == "host start-up code\n" * 2 + "done\n"  # the command line itself is a Python program too
    assert len(collector.facts("model_turn")) == TURNS


CHILD = "import sys, otel_agent; sys.exit(40 + len(otel_agent.status().waiting))"
PARENT = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {CHILD!r}]))"


def test_the_launcher_keeps_exit_codes_and_children(collector: Collector) -> None:
    """The program is what the shell waits for: its exit code, its arguments, its children observed as well."""
    ended = run(*OTEL_AGENT_RUN, PYTHON, "-c", PARENT, env=environment(collector.http))
    assert ended.code == 42, ended.err
    ended = run(*OTEL_AGENT_RUN, "no-such-command", env=environment(collector.http))
    assert (ended.code, ended.out) == (127, "")
    assert "no such command" in ended.err


def test_a_script_without_its_interpreter_is_told_what_to_write(provider: Standin, collector: Collector, tmp_path: Path) -> None:
    """A file that is not executable, and a folder, end with a sentence and a shell's exit code, not with a traceback."""
    script = tmp_path / "app.py"
    script.write_text("print('never')\n", "utf-8")
    for command in (script, tmp_path):
        ended = run(*OTEL_AGENT_RUN, str(command), env=environment(collector.http))
        assert (ended.code, ended.out) == (126, "")
        assert "-- python app.py" in ended.err
        assert "Traceback" not in ended.err


def test_the_hosts_start_up_code_runs_whatever_happens_to_ours(tmp_path: Path) -> None:
    """A variable over which OpenTelemetry's own API stumbles keeps neither the host's ``sitecustomize`` nor its program from running."""
    (tmp_path / "sitecustomize.py").write_text("print('host start-up code')\n", "utf-8")
    env = environment(None, OTEL_PYTHON_TRACER_PROVIDER="no_such_provider")
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    ended = run(*OTEL_AGENT_RUN, PYTHON, "-c", "print('program')", env=env)
    assert (ended.code, ended.out) == (0, "host start-up code\n" * 2 + "program\n")
