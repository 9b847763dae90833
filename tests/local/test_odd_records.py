"""Whatever the guard lets in can be read again: one odd record, sent by anybody, must not hide all others."""

from __future__ import annotations

import io
import json
import random
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from otel_agent import allowlist
from otel_agent.cli import main
from otel_agent.local import queries, render
from otel_agent.local.guard import guard_logs
from otel_agent.local.rows import log_rows
from otel_agent.local.server import LocalServer
from otel_agent.local.store import Store
from otel_agent.local.views import RECORD_VIEWS
from otel_agent.records import facts

from . import payloads
from .senders import send_http

RULES = json.loads(files("otel_agent").joinpath("schema_data/allowlist.json").read_text("utf-8"))["own"]["log"]["attributes"]
RUN = "otel_agent.run.id"
WORDS = ("r1", "a", "0", "1.0", "gpt-5", "hmac-sha256:k:" + "0" * 64)
INTEGERS = (0, 1, -1, 2, 10**6, 2**63 - 1, -(2**63))
NUMBERS: dict[str, tuple[Any, ...]] = {
    "int": INTEGERS, "double": (0.0, -1.0, 0.5, 1e-320, 9.3e9, 1e300, -1e300, *INTEGERS), "bool": (True, False),
}  # fmt: skip
TIMES = (0, 1, payloads.START, 2**63 - 1, 2**64 - 1)


def odd_value(name: str, chance: random.Random) -> Any:
    """Something that the guard takes for an attribute."""
    rule = RULES[name]
    if rule["type"] in NUMBERS:
        return chance.choice(NUMBERS[rule["type"]])
    words = rule.get("enum") or [word for word in WORDS if re.fullmatch(rule["pattern"], word, re.ASCII)]
    word = chance.choice(words) if words else ""
    return [word] if rule["type"] == "string[]" else word


def odd_request(chance: random.Random, runs: int) -> Any:
    """Records of every kind, each lacking some of its facts, at times that no clock shows, with and without ids."""
    request = payloads.logs()
    records = request.resource_logs[0].scope_logs[0].log_records
    for _ in range(runs * 3):
        kind, whole = chance.choice(list(RECORD_VIEWS.values())), chance.random()
        given = {fact.name: odd_value(fact.name, chance) for fact in facts(kind).values() if chance.random() < whole}
        if chance.random() < 0.9:
            given[RUN] = f"run-{chance.randrange(runs)}"
        trace = payloads.trace_id(chance.randrange(1, runs)) if chance.random() < 0.8 else b""
        records.add(
            time_unix_nano=chance.choice(TIMES), event_name=kind.event_name, trace_id=trace, span_id=payloads.span_id(1) if trace else b"",
            attributes=payloads.pairs(given),
        )  # fmt: skip
    return request


def printed(renderable: Any) -> str:
    """As a terminal shows it."""
    out = io.StringIO()
    Console(file=out, width=100).print(renderable)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(4))
def test_odd_records_are_listed_and_shown(seed: int, database: Path) -> None:
    """Lists, trees, ids and JSON of them, and of the sound run among them."""
    request = odd_request(random.Random(seed), 30)
    guard_logs(request, allowlist.load(), Counter())
    store = Store(database)
    store.append([log_rows(request), log_rows(payloads.logs(payloads.turn("sound", 1), payloads.ended("sound")))])
    connection = store.cursor()
    found = queries.list_runs(connection, limit=1000)
    assert "sound" in printed(render.render_runs(found))
    for identity in [*(run["run_id"] for run in found["runs"]), *(trace["trace_id"] for trace in found["no_run"])]:
        shown = queries.show_run(connection, identity)
        assert shown is not None
        assert json.dumps(shown, default=str)
        assert identity in printed(render.render_run(shown))
    assert queries.which_runs(connection, "run")
    connection.close()
    store.close()


def test_a_record_without_a_time_has_that_of_its_arrival(server: LocalServer, database: Path) -> None:
    """Neither 1970 nor nothing."""
    request = payloads.logs(payloads.started("r1"))
    request.resource_logs[0].scope_logs[0].log_records[0].time_unix_nano = 0
    send_http(server, request)
    server.__exit__(None, None, None)
    store = Store(database)
    ((arrived,),) = store.cursor().execute("SELECT received_at FROM logs").fetchall()
    (run,) = queries.list_runs(store.cursor())["runs"]
    store.close()
    assert run["started_at"] == f"{arrived.isoformat(timespec='milliseconds')}Z"


def test_a_duration_that_cannot_be_true_moves_no_beginning(database: Path) -> None:
    """Less than nothing counts as none."""
    store = Store(database)
    store.append([log_rows(payloads.logs(payloads.turn("r1", 1, duration=0.5), payloads.turn("r2", 1, duration=0.5)))])
    request = payloads.logs(payloads.turn("r3", 1), at=payloads.START)
    record = request.resource_logs[0].scope_logs[0].log_records[0]
    next(pair for pair in record.attributes if pair.key == "otel_agent.duration").value.double_value = -1e300
    store.append([log_rows(request)])
    began = {run["run_id"]: run["started_at"] for run in queries.list_runs(store.cursor())["runs"]}
    store.close()
    assert began == {"r3": queries.iso(payloads.START), "r2": queries.iso(payloads.START + payloads.SECOND // 2),
                     "r1": queries.iso(payloads.START - payloads.SECOND // 2)}  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_odd_records_are_analysed(seed: int, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each run by itself and beside another, as text and as JSON, with and without prices; nothing raises."""
    request = odd_request(random.Random(seed), 6)
    guard_logs(request, allowlist.load(), Counter())
    with_prices = tmp_path / "prices.toml"
    with_prices.write_text('[models."gpt-5"]\ninput = 1\noutput = 2\ncached_input = 1\ncache_write = 1\n')
    store = Store(database)
    store.append([log_rows(request), log_rows(payloads.logs(payloads.turn("sound", 1), payloads.ended("sound")))])
    found = queries.list_runs(store.cursor(), limit=1000)
    store.close()
    where = ["--store", str(database)]
    for identity in [*(run["run_id"] for run in found["runs"]), *(trace["trace_id"] for trace in found["no_run"])]:
        assert main(["economics", identity, *where]) == 0
        assert main(["economics", identity, "--prices", str(with_prices), *where]) in (0, 2)
        capsys.readouterr()
        for words in (["economics", identity], ["migration", f"odd={identity}", "sound"][: 2 if identity == "sound" else 3]):
            assert main([*words, "--json", *where]) == 0
            assert json.loads(capsys.readouterr().out)


def test_what_no_record_states_is_absent(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Never zero, and no failure either."""
    request = payloads.logs(payloads.turn("bare", 1), payloads.turn("bare", 2, replayed_items=1), payloads.tool("bare", 1))
    stated = {RUN, "otel_agent.run.turn", "otel_agent.replay.items"}
    for record in request.resource_logs[0].scope_logs[0].log_records:
        kept = [pair for pair in record.attributes if pair.key in stated]
        del record.attributes[:]
        record.attributes.extend(kept)
    store = Store(database)
    store.append([log_rows(request)])
    (listed,) = queries.list_runs(store.cursor())["runs"]
    store.close()
    assert "tool_failures" not in listed
    assert main(["economics", "bare", "--json", "--store", str(database)]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"turns", "failed_turns", "usage_missing_turns", "per_turn"}
    assert main(["migration", "bare", "--json", "--store", str(database)]) == 0
    (stage,) = json.loads(capsys.readouterr().out)["stages"]
    assert (stage["requests"], stage["tool_calls"], stage["usage_missing_turns"]) == (2, 1, 2)
    assert not {"tool_failures", "tool_failure_share", "checked", "mismatched", "mismatch_rate", "input_tokens"} & set(stage)
