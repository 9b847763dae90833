"""How much ``otel-agent local`` takes in: spans per second and peak memory, with the sender in a process of its own.

``python tests/benchmarks/local_ingest.py [--seconds 10] [--transport http|grpc] [--batch 512] [--senders 4]``. The sender
encodes its payloads beforehand and repeats them, so that what is measured is the receiver: reading, guarding, committing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import grpc

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from otel_agent.local import state  # noqa: E402 - the script runs from anywhere
from tests.local import payloads  # noqa: E402

SERVE = """
import sys
from pathlib import Path
from otel_agent.local.server import serve
from otel_agent.local.settings import LocalSettings
serve(LocalSettings(path=Path(sys.argv[1]), grpc_port=int(sys.argv[2]), http_port=0), say=lambda text: print(text, flush=True))
"""
METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def http_sender(port: int) -> Callable[[bytes], None]:
    """Posts bodies on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def send(body: bytes) -> None:
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"answered {response.status}")

    return send


def grpc_sender(port: int) -> Callable[[bytes], None]:
    """Calls on one channel."""
    call = grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary(METHOD)
    return lambda body: call(body, timeout=60)


SENDERS = {"http": http_sender, "grpc": grpc_sender}


def send_until(send: Callable[[bytes], None], bodies: list[bytes], until: float, waits: list[float]) -> None:
    """Send one body after the other; one answer's wait per body."""
    for number in range(sys.maxsize):
        began = time.perf_counter()
        if began >= until:
            return
        send(bodies[number % len(bodies)])
        waits.append(time.perf_counter() - began)


def sender_process(arguments: argparse.Namespace) -> None:
    """Send from several threads for a while, and print what was answered."""
    bodies = [payloads.spans(arguments.batch, first=1 + number * arguments.batch).SerializeToString() for number in range(8)]
    waits: list[list[float]] = [[] for _ in range(arguments.senders)]
    began = time.perf_counter()
    threads = [
        threading.Thread(target=send_until, args=(SENDERS[arguments.transport](arguments.port), bodies, began + arguments.seconds, own))
        for own in waits
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    every = sorted(wait for own in waits for wait in own)
    print(json.dumps({
        "spans": len(every) * arguments.batch, "seconds": seconds, "median": every[len(every) // 2], "slowest": every[-1],
        "bytes": len(bodies[0]),
    }))  # fmt: skip


def free_port() -> int:
    """A port that is free now; the state file names only the one for HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def peak_memory(pid: int) -> int:
    """Peak resident memory of a process in MiB, where the system tells."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return -1
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def processor_time(pid: int) -> float:
    """Seconds of processor time a process has used, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -1.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Start a receiver, run the sender against it, end it, count what is in the file."""
    with tempfile.TemporaryDirectory() as folder:
        database, grpc_port = Path(folder) / "bench.duckdb", free_port()
        receiver = subprocess.Popen([sys.executable, "-c", SERVE, str(database), str(grpc_port)], stdout=subprocess.PIPE, text=True)
        try:
            assert receiver.stdout is not None
            receiver.stdout.readline()
            while (running := state.read(database)) is None:
                time.sleep(0.01)
            idle, used = peak_memory(receiver.pid), processor_time(receiver.pid)
            port = running.port if arguments.transport == "http" else grpc_port
            sent = json.loads(subprocess.check_output([
                sys.executable, __file__, "--port", str(port), "--transport", arguments.transport, "--seconds", str(arguments.seconds),
                "--batch", str(arguments.batch), "--senders", str(arguments.senders),
            ]))  # fmt: skip
            sent |= {"peak": peak_memory(receiver.pid), "idle": idle, "processor": processor_time(receiver.pid) - used}
        finally:
            receiver.terminate()
            receiver.communicate(timeout=60)
        with duckdb.connect(str(database), read_only=True) as connection:
            row = connection.execute("SELECT count(*) FROM spans").fetchone()
        sent["stored"] = row[0] if row else 0
        sent["file"] = database.stat().st_size
    return sent


def report(arguments: argparse.Namespace, found: dict[str, Any]) -> str:
    """One line for a person."""
    rate = found["spans"] / found["seconds"]
    return (
        f"{arguments.transport}: {rate:,.0f} spans/s of {len(payloads.TWENTY)} attributes "
        f"({arguments.senders} senders, {arguments.batch} spans or {found['bytes'] // 1024} KiB a request); "
        f"answer median {found['median'] * 1000:.0f} ms, slowest {found['slowest'] * 1000:.0f} ms; "
        f"processor {found['processor'] / found['spans'] * 1e6:.0f} µs/span; peak memory {found['peak']} MiB (idle {found['idle']}); "
        f"{found['spans']:,} answered, {found['stored']:,} stored, {found['file'] // 1024 // 1024} MiB on disk"
    )


def main(argv: list[str] | None = None) -> None:
    """Measure, or be the sender of a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--transport", choices=sorted(SENDERS), default="http")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.port is not None:
        sender_process(arguments)
    else:
        print(report(arguments, measure(arguments)))


if __name__ == "__main__":
    main()
