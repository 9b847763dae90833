"""What a person is shown: the list of runs with their flags and reasons, one run as a tree, and turns without a run."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from otel_agent.cli import main
from otel_agent.local import queries, reader, state
from otel_agent.local.render import render_run, render_runs, seconds
from otel_agent.local.rows import log_rows
from otel_agent.local.server import LocalServer
from otel_agent.local.store import Store, StoreError
from otel_agent.records import Feedback, Retrieval, TextStep

from . import payloads
from .payloads import SECOND, START, ended, logs, started, tool, turn
from .senders import post, send_grpc, send_http

MINUTE = 60 * SECOND


def fill(server: LocalServer) -> None:
    """One run of each kind, a minute apart, and two turns without one."""
    send_http(server, logs(
        started("good"), turn("good", 1, tool_call_ids=("c1",)), tool("good", 1, call_id="c1"), turn("good", 2), ended("good"), at=START,
    ))  # fmt: skip
    cut = {"finish_reason": "length", "truncated": True, "truncated_by": "token_limit", "reasoning_tokens": 90, "empty_truncated": True}
    send_http(server, logs(started("cut"), turn("cut", 1, **cut), ended("cut", truncated_turns=1), at=START + MINUTE))
    looped = [tool("loop", number, "search", repeat=number, consecutive=number) for number in range(1, 5)]
    send_grpc(server, logs(
        started("loop"), *looped, tool("loop", 5, "fetch", cycle=2), ended("loop", end_reason="turn_limit", max_repeat=4),
        at=START + 2 * MINUTE,
    ))  # fmt: skip
    broken = turn("broken", 2, prefix_break="tools_changed", first_changed=0, stable_prefix=0)
    send_grpc(server, logs(started("broken"), turn("broken", 1), broken, ended("broken"), at=START + 3 * MINUTE))
    refused = tool("denied", 1, "issue_refund", outcome="denied", decision="deny", rule_id="refund-limit")
    send_grpc(server, logs(started("denied", "support"), turn("denied", 1), refused, ended("denied", "support"), at=START + 4 * MINUTE))
    send_grpc(server, logs(started("lost"), turn("lost", 1), tool("lost", 1, outcome="error"), at=START + 5 * MINUTE))
    send_grpc(server, logs(turn("unannounced", 1), at=START + 6 * MINUTE))
    send_grpc(server, logs(turn(None, None), turn(None, None, request_model="gpt-5.6"), tool(None, None), trace=77, at=START))


@pytest.fixture(params=["running", "ended"], scope="module")
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The store while a receiver holds it, and after; for tests that only read."""
    database = tmp_path_factory.mktemp(request.param) / "store.duckdb"
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        fill(server)
        if request.param == "running":
            yield database
            return
    yield database


def by_id(database: Path) -> dict[str, dict[str, Any]]:
    """Runs by id."""
    return {run["run_id"]: run for run in reader.runs(database)["runs"]}


def test_runs_are_listed_newest_first(filled: Path) -> None:
    """With who ran, when, how long, how much, and how it ended; absent facts are left out."""
    assert list(by_id(filled)) == ["unannounced", "lost", "denied", "broken", "loop", "cut", "good"]
    run = by_id(filled)["good"]
    names = ("agent_name", "state", "end_reason", "turns", "tool_calls", "duration", "input_tokens", "flags")
    assert {name: run[name] for name in names} == {
        "agent_name": "refunds", "state": "ended", "end_reason": "answered", "turns": 2, "tool_calls": 1, "duration": 3.5,
        "input_tokens": 2000, "flags": [],
    }  # fmt: skip
    assert run["started_at"] == "2027-01-15T08:00:00.000Z"
    assert run["ended_at"] == "2027-01-15T08:00:04.000Z"
    assert None not in run.values()


def test_a_run_without_an_end_is_running_or_lost(filled: Path) -> None:
    """Its totals are counted from what arrived; a run whose beginning was lost too is found by its turns."""
    runs = by_id(filled)
    assert runs["lost"]["state"] == runs["unannounced"]["state"] == "running or lost"
    assert (runs["lost"]["turns"], runs["lost"]["tool_failures"], runs["lost"]["input_tokens"]) == (1, 1, 1000)
    assert "end_reason" not in runs["lost"]
    assert runs["unannounced"]["agent_name"] == "refunds"


FLAGS = {
    "cut": [("truncated", "turn 1 was cut off by the output cap after 100 output tokens, 90 of them reasoning; nothing visible had come")],
    "loop": [("looping", "search was called 4 times with the same arguments"), ("looping", "a cycle of 2 calls came round again")],
    "broken": [("prefix broken", "turn 2: tools changed at message 0")],
    "denied": [("denied", "issue_refund was denied by rule refund-limit")],
    "good": [],
    "lost": [("tool failed", "get_order ended as error")],
}


@pytest.mark.parametrize(("run", "right"), FLAGS.items(), ids=FLAGS)
def test_flags_say_what_and_why(filled: Path, run: str, right: list[tuple[str, str]]) -> None:
    """Each flag comes with the facts it rests on."""
    found = by_id(filled)[run]["flags"]
    assert [(flag["flag"], flag["why"]) for flag in found] == right


def test_turns_outside_any_run_are_listed_by_trace(filled: Path) -> None:
    """And can be shown by the trace's id."""
    [trace] = reader.runs(filled)["no_run"]
    assert trace["trace_id"] == payloads.trace_id(77).hex()
    assert (trace["turns"], trace["tool_calls"], trace["models"]) == (2, 1, ["claude-opus-5", "gpt-5.6"])
    shown = reader.show(filled, trace["trace_id"])
    assert shown is not None
    assert len(shown["turn_records"]) == 2


def test_the_list_can_be_narrowed(filled: Path) -> None:
    """By agent and by number; both are bounded."""
    assert [run["run_id"] for run in reader.runs(filled, agent="support")["runs"]] == ["denied"]
    assert len(reader.runs(filled, limit=2)["runs"]) == 2
    assert len(reader.runs(filled, limit=0)["runs"]) == 1
    assert reader.runs(filled, agent="' OR 1=1 --") == {"runs": [], "no_run": []}


def test_show_nests_tools_under_their_turn(filled: Path) -> None:
    """By the provider's call id, else by the turn's number; what belongs to no turn stands beside them."""
    good, loop = reader.show(filled, "good"), reader.show(filled, "loop")
    assert good is not None
    assert loop is not None
    assert [[tool["tool"] for tool in turn["executions"]] for turn in good["turn_records"]] == [["get_order"], []]
    assert good["executions"] == []
    assert [tool["tool"] for tool in loop["executions"]] == ["search"] * 4 + ["fetch"]
    assert good["turn_records"][0]["started_at"] == "2027-01-15T08:00:00.500Z"


def test_show_of_an_unknown_id_is_none(filled: Path) -> None:
    """Nothing is guessed."""
    for wanted in ("nope", "a/b", "", "..", "%2e"):
        assert reader.show(filled, wanted) is None


def test_the_beginning_of_an_id_will_do(filled: Path) -> None:
    """When it is the beginning of one run or trace only; a whole id is itself even where it begins another."""
    for start, right in (("goo", "good"), ("unann", "unannounced")):
        found = reader.show(filled, start)
        assert found is not None
        assert found["run_id"] == right
    assert reader.show(filled, "lo") is None
    assert reader.show(filled, "g_o%") is None
    trace = reader.show(filled, "0" * 30)
    assert trace is not None
    assert trace["trace_id"] == payloads.trace_id(77).hex()


def test_what_is_read_is_json(filled: Path) -> None:
    """For ``--json``: plain values only."""
    for found in (reader.runs(filled), reader.show(filled, "good")):
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def drawn(what: Any) -> str:
    """As a wide terminal shows it."""
    console = Console(width=200, force_terminal=False, record=True, file=io.StringIO())
    console.print(what)
    return console.export_text()


def test_the_table_marks_what_is_remarkable(filled: Path) -> None:
    """One line per run with its flags, and below it each reason."""
    text = drawn(render_runs(reader.runs(filled)))
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "answered" in lines["good"]
    assert "3.5 s" in lines["good"]
    assert "truncated" in lines["cut"]
    assert "turn_limit" in lines["loop"]
    assert "running or lost" in lines["lost"]
    assert "denied: issue_refund was denied by rule refund-limit" in lines["denied:"]
    assert payloads.trace_id(77).hex() in lines


def test_a_narrow_terminal_keeps_the_essentials(filled: Path) -> None:
    """At 80 columns the id, the end and the flags are still whole."""
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(render_runs(reader.runs(filled)))
    text = console.export_text()
    for word in ("unannounced", "answered", "running or lost", "truncated", "denied"):
        assert word in text


IDS = ("4d76e1e1ca874622b6b1418e570d3a1f", "4d76e1e1cb874622b6b1418e570d3a1f", "31477556a86e42dfb64d0f76458ed186")
WIDTHS = {
    60: ("run", "agent", "ended", "flags"),
    80: ("run", "agent", "took", "ended", "flags"),
    100: ("run", "agent", "took", "turns", "tools", "ended", "flags"),
    160: ("run", "agent", "started", "took", "turns", "tools", "failed", "tokens in", "out", "ended", "flags"),
    200: ("run", "agent", "started", "took", "turns", "tools", "failed", "tokens in", "out", "ended", "flags"),
}


@pytest.mark.parametrize("width", WIDTHS)
def test_what_there_is_room_for_is_whole(width: int) -> None:
    """Less important columns go first; nothing is cut off; ids are as long as they need be."""
    flagged = [
        {"flag": name, "why": "turn 1 was cut off by the output cap after 1024 output tokens"} for name in ("tool failed", "unknown tool")
    ]
    run = {
        "agent_name": "billing-tool-errors", "state": "open", "started_at": "2027-01-15T08:00:00.000Z", "duration": 0.345, "turns": 3,
        "tool_calls": 2, "tool_failures": 1, "input_tokens": 15_432, "output_tokens": 1060,
    }  # fmt: skip
    runs = [
        {**run, "run_id": IDS[0], "state": "running or lost", "flags": flagged},
        *({**run, "run_id": one, "flags": []} for one in IDS[1:]),
    ]
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render_runs({"runs": runs, "no_run": []}))
    text = console.export_text()
    title, head, *_ = text.splitlines()
    assert (title.strip(), tuple(re.split(r" {2,}", head.strip()))) == ("runs", WIDTHS[width])
    assert "…" not in text
    words = " ".join(text.split())
    for whole in ("running or lost", "1024 output tokens", *(("billing-tool-errors",) if width > 60 else ("billing-tool-", "errors"))):
        assert whole in words
    shown = IDS if width == 200 else [one[:10] for one in IDS]
    assert all(f"\n{one}  billing" in text for one in shown)
    assert f"  {shown[0]}: tool failed: turn 1 was cut off by" in text


LOST = [("reasoning lost", f"turn {turn}: 1 reasoning item left out") for turn in range(1, 30)]
FAILED = [("call failed", f"turn {turn} failed with BadRequestError") for turn in range(3, 15)]
UNKNOWN = [("unknown tool", "turn 1 called 2 tools that had not been offered")]
FOLDED = {
    "none": ([], [], 0),
    "as many as are told": (LOST[:5], LOST[:5], 0),
    "one more": (LOST[:6], LOST[:4], 2),
    "many": (LOST, LOST[:4], 25),
    "of two kinds": (LOST + FAILED, LOST[:2] + FAILED[:2], 37),
    "of three kinds": (LOST + FAILED + UNKNOWN, LOST[:2] + FAILED[:1] + UNKNOWN, 38),
    "of one run more than a thousand": (LOST * 50, LOST[:4], 1446),
}


@pytest.mark.parametrize("width", [80, 100, 160, 200])
@pytest.mark.parametrize("case", FOLDED)
def test_many_flags_of_a_run_are_folded(case: str, width: int) -> None:
    """A few lines for each run, one of every kind first; the kinds stand in the table all the same, and so for a trace."""
    given, told, more = FOLDED[case]
    flags = [{"flag": flag, "why": why} for flag, why in given]
    run = {"agent_name": "refunds", "state": "ended", "end_reason": "answered", "started_at": "x", "flags": flags}
    other = {**run, "run_id": IDS[2], "flags": [{"flag": "retried", "why": "turn 1 took 2 attempts"}]}
    trace = {"trace_id": "0af7" * 8, "started_at": "x", "models": ["m"], "turns": 1, "tool_calls": 0, "flags": flags}
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render_runs({"runs": [{**run, "run_id": IDS[0]}, other], "no_run": [trace]}))
    lines = [line.strip() for line in console.export_text().splitlines()]
    shown: dict[str, list[str]] = {}
    for head, parted, line in (line.partition(": ") for line in lines):
        if parted:
            shown.setdefault(head, []).append(line)
    [retried] = [head for head in shown if IDS[2].startswith(head)]
    assert shown.pop(retried) == ["retried: turn 1 took 2 attempts"]
    assert len(shown) == (2 if given else 0)
    for head, reasons in shown.items():
        assert reasons == [f"{flag}: {why}" for flag, why in told] + [f"and {more:,} more, see otel-agent show {head[:8]}"] * bool(more)
    words = " ".join(lines)
    assert all(flag in words for flag, _ in given)


def test_json_keeps_every_flag(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the text is folded; and one run has all of its flags in its tree."""
    broken = [turn("broken", number, prefix_break="tools_changed", first_changed=0) for number in range(1, 21)]
    store = ["--store", str(database)]
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_http(server, logs(started("broken"), *broken, ended("broken")))
    whys = [f"turn {number}: tools changed at message 0" for number in range(1, 21)]
    assert main(["runs", *store, "--json"]) == 0
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert [flag["why"] for flag in run["flags"]] == whys
    assert main(["runs", *store]) == 0
    text = capsys.readouterr().out
    assert [why in text for why in whys] == [True] * 4 + [False] * 16
    assert "broken: and 16 more, see otel-agent show broken" in text
    assert main(["show", "broken", *store]) == 0
    text = capsys.readouterr().out
    assert all(why in text for why in whys)


def test_names_that_are_long_take_more_lines() -> None:
    """Also where there is no blank to part them at."""
    run = {"run_id": IDS[0], "agent_name": "a" * 40 + "z", "state": "ended", "end_reason": "answered", "flags": [], "started_at": "x"}
    console = Console(width=60, record=True, file=io.StringIO())
    console.print(render_runs({"runs": [run], "no_run": []}))
    text = console.export_text()
    assert "…" not in text
    assert text.count("a") >= 40
    assert "z" in text
    assert "answered" in text


def test_the_tree_shows_turns_tools_and_outcomes(filled: Path) -> None:
    """Facts, durations and outcomes, in order, tools below their turn."""
    text = drawn(render_run(reader.show(filled, "denied") or {}))
    lines = [line.strip("│├└─ ") for line in text.splitlines()]
    assert lines[0].startswith("run denied  support")
    assert "denied: issue_refund was denied by rule refund-limit" in lines
    positions = [
        next(i for i, line in enumerate(lines) if line.startswith(head)) for head in ("turn 1 chat", "issue_refund  100 ms  denied")
    ]
    assert positions == sorted(positions)
    assert "rule_id=refund-limit" in text


def test_the_empty_store_says_so(database: Path) -> None:
    """A store without records is no error; a store that does not exist is one."""
    with pytest.raises(StoreError, match="nothing has been recorded"):
        reader.runs(database)
    with LocalServer(database, grpc_port=0, http_port=0):
        assert "nothing has been recorded" in drawn(render_runs(reader.runs(database)))
    with pytest.raises(StoreError, match="no receiver"):
        reader.stats(database)


def test_every_kind_of_record_is_drawn(database: Path) -> None:
    """Retrievals, feedback and text steps have their line in the tree."""
    records = (
        started("all"), Retrieval(run_id="all", document_count=3, duration=0.2), TextStep(run_id="all", step=1, outcome="malformed"),
        Feedback(run_id="all", feedback="escalated"), ended("all"),
    )  # fmt: skip
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_http(server, logs(*records))
    text = drawn(render_run(reader.show(database, "all") or {}))
    for line in ("retrieval  200 ms  ok  document_count=3", "text step    malformed  step=1", "feedback    escalated"):
        assert line in text


@pytest.mark.parametrize(("value", "text"), [(None, ""), (0.0123, "12 ms"), (3.21, "3.2 s"), (125.0, "2 m 05 s")])
def test_durations_read_well(value: float | None, text: str) -> None:
    """In the unit that suits them."""
    assert seconds(value) == text


def test_queries_need_the_token_of_the_state_file(server: LocalServer) -> None:
    """The loopback queries answer nobody who cannot read the private file."""
    running = state.read(server.settings.path)
    assert running is not None
    for path in ("/api/runs", "/api/run?id=x", "/api/stats"):
        assert post(server, path, None, {}, method="GET").status == 401
        assert post(server, path, None, {"Authorization": "Bearer wrong"}, method="GET").status == 401
        assert post(server, path, None, {"Authorization": f"Bearer {running.token}"}, method="GET").status in (200, 404)


def test_the_sender_s_token_does_not_open_the_queries(database: Path) -> None:
    """Who may write may not read."""
    with LocalServer(database, grpc_port=0, http_port=0, token="sender") as server:
        assert post(server, "/api/runs", None, {"Authorization": "Bearer sender"}, method="GET").status == 401


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid":1,"host":"127.0.0.1","port":9,"token":"t"}'])
def test_a_bad_or_stale_state_file_is_seen_through(database: Path, text: str) -> None:
    """A file that says nothing, or names a process that is gone, does not keep anyone from reading."""
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_http(server, logs(ended("r1")))
    state.state_path(database).write_text(text)
    assert [run["run_id"] for run in reader.runs(database)["runs"]] == ["r1"]


WHY = {
    "lo": ("3 letters of an id are needed at least:", ["lost", "loop"]),
    "g": ("3 letters of an id are needed at least:", ["good"]),
    "": ("3 letters of an id are needed at least:", ["unannounced", "lost", "denied", "broken", "loop", "cut", "good", "0" * 30 + "4d"]),
    "nope": ("no such run; otel-agent runs lists them", []),
    "%": ("no such run; otel-agent runs lists them", []),
}


@pytest.mark.parametrize("start", WHY)
def test_too_little_of_an_id_says_so_and_names_the_candidates(start: str, filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Newest first, with the agent and the time."""
    first, ids = WHY[start]
    assert main(["show", start, "--store", str(filled)]) == 1
    said, *candidates = capsys.readouterr().err.splitlines()
    assert said == f"otel-agent show: {first}"
    assert [line.split()[0] for line in candidates] == ids
    if start == "lo":
        assert candidates[0] == "  lost  refunds  2027-01-15T08:05:00.000Z"


def test_an_id_that_begins_several_runs_names_them(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them when they are few; the same for the verbs that look into one run."""
    store = ["--store", str(database)]
    with LocalServer(database, grpc_port=0, http_port=0) as server:
        send_http(server, logs(*(started(f"abc{number}", f"agent{number}") for number in range(10))))
        assert main(["show", "abc", *store]) == 1
        said = capsys.readouterr().err
        assert said.startswith("otel-agent show: 10 runs begin like this; write more of the id:\n  abc9  agent9  2027-")
        assert len(said.splitlines()) == 11
        send_http(server, logs(started("abcd")))
    assert main(["show", "abc", *store]) == 1
    assert capsys.readouterr().err == (
        "otel-agent show: more than 10 runs begin like this; write more of the id; otel-agent runs lists them\n"
    )
    for verb in ("economics", "migration"):
        assert main([verb, "abc", *store]) == 2
        assert "more than 10 runs begin like this" in capsys.readouterr().err
        assert main([verb, "xyz", *store]) != 0
        assert "begin like this" not in capsys.readouterr().err
    assert main(["show", "abc1", *store]) == 0


def test_an_agent_that_never_ran_is_not_an_empty_store(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other runs are there; the answer must not deny them."""
    assert main(["runs", "--agent", "nobody", "--store", str(filled)]) == 0
    assert capsys.readouterr().out.strip() == "nothing is recorded of an agent named nobody"


def test_without_a_store_the_way_to_one_is_said(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whichever verb asks."""
    for words in (["runs"], ["show", "abc"], ["economics", "abc"], ["prune", "--keep", "1"]):
        assert main([*words, "--store", str(database)]) == 2
        assert "start otel-agent local" in capsys.readouterr().err


@pytest.mark.parametrize("run", ["waits", None])
def test_a_background_turn_counts_once(run: str | None, database: Path) -> None:
    """Both its records are shown, the run's totals have it once, and nobody is told that its usage is missing."""
    asked = turn(run, run and 1, response_id="a", finish_reason="pending", usage_state="missing", input_tokens=None, output_tokens=None)
    fetched = turn(run, run and 1, response_id="a", fetched=True)
    store = Store(database)
    store.append([log_rows(logs(asked, fetched, trace=7))])
    found = queries.list_runs(store.cursor())
    (listed,) = found["no_run" if run is None else "runs"]
    shown = queries.show_run(store.cursor(), listed["trace_id" if run is None else "run_id"])
    store.close()
    assert (listed["turns"], listed["input_tokens"], listed["output_tokens"], listed["flags"]) == (1, 1000, 100, [])
    assert shown is not None
    assert (len(shown["turn_records"]), shown["turns"]) == (2, 1)
    tree = drawn(render_run(shown))
    assert "pending" in tree
    assert "fetched=True" in tree
    assert "usage_state" not in tree


def test_the_end_of_another_runs_turn_is_no_turn_of_the_run_that_fetched_it(database: Path) -> None:
    """As in the totals of its own record; the tokens are its own."""
    store = Store(database)
    store.append([log_rows(logs(started("fetches"), turn("fetches", None, response_id="a", fetched=True)))])
    (listed,) = queries.list_runs(store.cursor())["runs"]
    store.close()
    assert (listed["turns"], listed["input_tokens"]) == (0, 1000)
