"""What the stand-in does beside speaking formats: scripts, records, pacing, counting."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from otel_agent.testing.standin import (
    SCRIPT_HEADER,
    Body,
    BreakOff,
    Chopped,
    Held,
    PerTurn,
    RawStream,
    Reply,
    Request,
    SlowReply,
    Standin,
    Text,
    Thinking,
    ToolUse,
    Usage,
)

HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


class Plain:
    """An HTTP client that does nothing by itself; one connection, kept alive."""

    def __init__(self, standin: Standin) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", standin.port, timeout=10)

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, bytes]:
        """Status and body."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request("POST", path, sent, headers)
        response = self.connection.getresponse()
        return response.status, response.read()


@pytest.fixture
def plain(standin: Standin) -> Any:
    """A plain client of the stand-in."""
    client = Plain(standin)
    yield client
    client.connection.close()


class TestRecording:
    """What is kept of requests."""

    def test_a_request_is_kept_byte_for_byte(self, standin: Standin, plain: Plain) -> None:
        """Target, headers in their spelling and order, and body are what was sent."""
        standin.script("*", [Body({})])
        body = b'{"model": "m",\n  "x": "\xc3\xa9", "n": 1.0}'
        plain.post("/v1/messages?beta=true&a=b", body, **{"X-Odd-Case": "Yes", "traceparent": "00-a-b-01"})
        kept = standin.requests[0]
        assert (kept.method, kept.target, kept.body) == ("POST", "/v1/messages?beta=true&a=b", body)
        assert ("X-Odd-Case", "Yes") in kept.headers
        assert kept.header("TraceParent") == "00-a-b-01"

    def test_a_chunked_request_is_kept_whole(self, standin: Standin, plain: Plain) -> None:
        """A body sent in chunks is put together."""
        standin.script("*", [Body({"ok": True})])
        plain.connection.request("POST", "/v1/messages", iter([b'{"mod', b'el": "m"}']), encode_chunked=True)
        assert plain.connection.getresponse().read() == b'{"ok":true}'
        assert standin.requests[0].body == b'{"model": "m"}'

    def test_records_are_bounded(self) -> None:
        """The oldest go first, and the loss is counted."""
        with Standin(max_requests=3) as small:
            small.script("*", [Body({})], after="repeat")
            client = Plain(small)
            for number in range(5):
                client.post("/v1/messages", {"n": number})
            assert [request.sent("n") for request in small.requests] == [2, 3, 4]
            assert (small.dropped, small.requests[-1].number) == (2, 5)
            client.connection.close()

    def test_a_client_that_leaves_is_noticed(self, standin: Standin) -> None:
        """The exchange ends as `client_gone`, with the events that had left."""
        gate = threading.Event()
        many = Reply([Text("word " * 4000)], delta_chars=5)
        standin.script("m", [Held(many, gate, at_event=3)])
        client = Plain(standin)
        client.connection.request("POST", "/v1/messages", json.dumps({**HELLO, "stream": True}))
        client.connection.getresponse().read(20)
        client.connection.sock.shutdown(socket.SHUT_RDWR)
        client.connection.close()
        gate.set()
        assert standin.exchanges[0].wait() == "client_gone"


class TestScripts:
    """Which script answers, and with what."""

    def test_the_most_particular_key_wins(self, standin: Standin, plain: Plain) -> None:
        """Header, then path segment, then route, then model, then the rest."""
        for key in ("by-header", "by/segment", "/v1/messages", "m", "*"):
            standin.script(key, [Body({"by": key})], after="repeat")
        asked = [
            plain.post("/s/by%2Fsegment/v1/messages", HELLO, **{SCRIPT_HEADER: "by-header"}),
            plain.post("/s/by%2Fsegment/v1/messages", HELLO),
            plain.post("/v1/messages", HELLO),
            plain.post("/v1/chat/completions", HELLO),
            plain.post("/v1/chat/completions", {"model": "other"}),
        ]
        by = [json.loads(body)["by"] for _status, body in asked]
        assert by == ["by-header", "by/segment", "/v1/messages", "m", "*"]

    def test_a_function_decides_by_the_request(self, standin: Standin, plain: Plain) -> None:
        """It sees the turn, the tool results, the last thing said and the tools offered."""

        def decide(request: Request) -> Reply:
            if request.answers_tools:
                return Reply([Text(str(request.tool_results[-1].content))])
            return Reply([ToolUse(request.tool_names[0], {"said": request.last_user_text})])

        standin.script("m", decide)
        tools = [{"name": "look", "input_schema": {}}]
        first = json.loads(plain.post("/v1/messages", {**HELLO, "tools": tools})[1])
        assert first["content"][0]["input"] == {"said": "Hello"}
        result = {"type": "tool_result", "tool_use_id": first["content"][0]["id"], "content": "seen"}
        history = [{"role": "assistant", "content": first["content"]}, {"role": "user", "content": [result]}]
        second = {**HELLO, "tools": tools, "messages": [*HELLO["messages"], *history]}
        assert json.loads(plain.post("/v1/messages", second)[1])["content"][0]["text"] == "seen"

    def test_what_follows_the_last_step_is_a_choice(self, standin: Standin, plain: Plain) -> None:
        """Fail, repeat the last step, or begin again."""
        steps = [Body(1), Body(2)]
        standin.script("m", steps)
        standin.script("r", steps, after="repeat")
        standin.script("b", steps, after="restart")

        def answers(model: str) -> list[tuple[int, Any]]:
            found = (plain.post("/v1/messages", {"model": model}) for _ in range(4))
            return [json.loads(body) if status == 200 else status for status, body in found]

        assert (answers("m"), answers("r"), answers("b")) == ([1, 2, 400, 400], [1, 2, 2, 2], [1, 2, 1, 2])

    def test_agents_run_side_by_side(self, standin: Standin) -> None:
        """Forty conversations at once each get their own steps in their own order."""

        def talk(name: str) -> list[str]:
            standin.script(name, [Reply([Text(f"{name}-{turn}")]) for turn in range(5)])
            client = Plain(standin)
            answers = [json.loads(client.post("/v1/messages", {**HELLO, "model": name})[1]) for _ in range(5)]
            client.connection.close()
            return [answer["content"][0]["text"] for answer in answers]

        names = [f"agent-{number}" for number in range(40)]
        with ThreadPoolExecutor(20) as pool:
            assert list(pool.map(talk, names)) == [[f"{name}-{turn}" for turn in range(5)] for name in names]

    def test_the_same_script_answers_the_same_bytes(self, standin: Standin, plain: Plain) -> None:
        """Filing a script again starts it anew, with the same made-up ids."""

        def run() -> bytes:
            standin.script("m", [Reply([Thinking("hm"), ToolUse("f")], usage=Usage(input=1, output=1))])
            return plain.post("/v1/messages", HELLO)[1]

        assert run() == run()

    def test_two_standins_make_up_different_ids(self) -> None:
        """Without a seed, ids do not repeat from one stand-in to the next."""

        def name() -> str:
            with Standin() as fresh:
                fresh.script("m", [Reply([Text("x")])])
                client = Plain(fresh)
                answer = json.loads(client.post("/v1/messages", HELLO)[1])
                client.connection.close()
                return str(answer["id"])

        assert name() != name()


class TestPacing:
    """When bytes leave."""

    def test_an_event_is_sent_before_the_next_exists(self, standin: Standin) -> None:
        """With the fourth event held back, the first three arrive and nothing more."""
        gate = threading.Event()
        standin.script("m", [Held(Reply([Text("ab")]), gate, at_event=3)])
        client = Plain(standin)
        client.connection.request("POST", "/v1/messages", json.dumps({**HELLO, "stream": True}))
        response = client.connection.getresponse()
        lines = [response.readline() for _ in range(9)]
        assert lines[6] == b"event: content_block_start\n"
        deadline = time.monotonic() + 5
        while standin.exchanges[0].events_sent < 3 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.05)
        assert standin.exchanges[0].events_sent == 3
        gate.set()
        assert b"message_stop" in response.read()
        client.connection.close()

    def test_delays_are_kept(self, standin: Standin, plain: Plain) -> None:
        """The answer takes as long as its delays together."""
        standin.script("m", [SlowReply(Reply([Text("ab")]), delays=[0.05, 0.0], before=0.1)])
        began = time.monotonic()
        plain.post("/v1/messages", {**HELLO, "stream": True})
        assert 0.15 <= time.monotonic() - began < 2

    def test_stopping_does_not_wait_for_slow_answers(self) -> None:
        """A stand-in in the middle of a long wait stops at once, and leaves no thread behind for long."""
        before = threading.active_count()
        slow = Standin().start()
        slow.script("m", [SlowReply(Reply([Text("ab")]), before=60)])
        client = Plain(slow)
        client.connection.request("POST", "/v1/messages", json.dumps(HELLO))
        while not slow.requests:
            time.sleep(0.01)
        began = time.monotonic()
        slow.stop()
        assert time.monotonic() - began < 2
        client.connection.close()
        deadline = time.monotonic() + 5
        while threading.active_count() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert threading.active_count() <= before

    def test_raw_streams_go_out_as_they_are(self, standin: Standin, plain: Plain) -> None:
        """Bytes that are no events at all are sent untouched."""
        standin.script("m", [RawStream([b"data: {not json\n\n", b"\xff\xfe", b""]), Chopped(RawStream([b"abc"]), 1)])
        assert plain.post("/v1/messages", HELLO)[1] == b"data: {not json\n\n\xff\xfe"
        assert plain.post("/v1/messages", HELLO)[1] == b"abc"

    def test_a_cut_body_promises_more_than_it_has(self, standin: Standin, plain: Plain) -> None:
        """The client reads half of what the length says."""
        standin.script("m", [BreakOff(Body({"a": "b" * 100}))])
        with pytest.raises(http.client.IncompleteRead):
            plain.post("/v1/messages", HELLO)

    def test_nothing_is_left_open(self) -> None:
        """No socket warns when a stand-in is gone."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with Standin() as quick:
                quick.script("*", [Body({})])
                client = Plain(quick)
                client.post("/v1/messages", HELLO)
                client.connection.close()
            Standin().stop()


def converse(client: Plain, turns: int, system: Any = None) -> list[dict[str, int]]:
    """Usage of each turn of an agent that calls a tool and goes on."""
    messages: list[Any] = [{"role": "user", "content": "Begin"}]
    found = []
    for turn in range(turns):
        prompt = system(turn) if system else "Be brief."
        answer = json.loads(client.post("/v1/messages", {"model": "m", "system": prompt, "messages": messages})[1])
        found.append(answer["usage"])
        result = {"type": "tool_result", "tool_use_id": answer["content"][-1]["id"], "content": f"result {turn}"}
        messages += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
    return found


class TestCounting:
    """Tokens and the cache."""

    @pytest.mark.parametrize(("turns", "total"), [(12, 98_700), (6, 32_250)])
    def test_the_worked_example_adds_up(self, turns: int, total: int) -> None:
        """3,000 stable tokens and 950 more each turn: the sum that the arithmetic says."""
        with Standin(tokens=PerTurn(stable=3000, growth=950)) as priced:
            priced.script("m", lambda _request: Reply([ToolUse("f")], usage=Usage(output=150)))
            client = Plain(priced)
            usages = converse(client, turns)
            client.connection.close()
        inputs = [usage["input_tokens"] + usage["cache_read_input_tokens"] for usage in usages]
        assert (sum(inputs), inputs[0], inputs[1]) == (total, 3000, 3950)
        assert sum(usage["output_tokens"] for usage in usages) == 150 * turns

    def test_a_stable_prefix_is_read_from_the_cache(self) -> None:
        """Each turn reads what the turn before had sent."""
        with Standin(tokens=PerTurn(stable=3000, growth=950)) as priced:
            priced.script("m", lambda _request: Reply([ToolUse("f")]))
            client = Plain(priced)
            reads = [usage["cache_read_input_tokens"] for usage in converse(client, 4)]
            client.connection.close()
        assert reads == [0, 3000, 3950, 4900]

    def test_a_changed_prefix_reads_nothing(self) -> None:
        """A system prompt with the time in it breaks the cache each turn."""
        with Standin(tokens=PerTurn(stable=3000, growth=950)) as priced:
            priced.script("m", lambda _request: Reply([ToolUse("f")]))
            client = Plain(priced)
            reads = [usage["cache_read_input_tokens"] for usage in converse(client, 4, lambda turn: f"It is {turn}.")]
            client.connection.close()
        assert reads == [0, 0, 0, 0]

    def test_a_marker_that_moves_does_not_break_the_cache(self, standin: Standin, plain: Plain) -> None:
        """`cache_control` is no part of the prompt; what it covers and was not read counts as written."""
        standin.script("m", [Reply([Text("x")])], after="repeat")
        said = {"role": "user", "content": [{"type": "text", "text": "long " * 50}]}
        marked = {"role": "user", "content": [{**said["content"][0], "cache_control": {"type": "ephemeral"}}]}
        first = json.loads(plain.post("/v1/messages", {"model": "m", "messages": [marked]})[1])["usage"]
        after = {"model": "m", "messages": [said, {"role": "assistant", "content": "x"}, marked]}
        second = json.loads(plain.post("/v1/messages", after)[1])["usage"]
        assert (first["input_tokens"], first["cache_read_input_tokens"]) == (0, 0)
        assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"] > 0


class TestByHand:
    """The verb for poking at it."""

    def test_it_serves_the_built_in_script(self) -> None:
        """It prints where it listens, thinks, calls the first tool, answers, and stops by itself."""
        command = [sys.executable, "-m", "otel_agent.testing.standin", "--seconds", "20"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip().removeprefix("ANTHROPIC_BASE_URL=")
            connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=10)
            tool = {"name": "look", "input_schema": {"properties": {"at": {"type": "string"}}}}
            connection.request("POST", "/v1/messages", json.dumps({**HELLO, "tools": [tool]}))
            answer = json.loads(connection.getresponse().read())
            connection.close()
            assert [block["type"] for block in answer["content"]] == ["thinking", "tool_use"]
            assert answer["content"][1]["input"] == {"at": "example"}
            assert "http" in process.stdout.readline()
            assert process.stdout.readline().strip() == "POST /v1/messages 200 whole"
            process.terminate()
