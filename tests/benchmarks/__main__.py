"""``make bench``: what observation costs, in one run, as ratios. Nothing here fails for being slow; a person reads it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from tests.benchmarks import call_cost


def against_floor(name: str, seen: dict[str, float], size: str) -> dict[str, Any]:
    """One line of the table."""
    ours = seen["observed"] - seen["bare"]
    return {
        "what": name,
        "ours_us": round(ours, 1),
        "floor_us": round(seen["floor"], 1),
        "ratio": round(ours / seen["floor"], 3),
        "emits": size,
    }


def gather() -> dict[str, Any]:
    """All figures."""
    rows = [against_floor("one call", *call_cost.calls())]
    per_stream = {}
    for chunks in call_cost.CHUNKS:
        seen, size = call_cost.streams(chunks)
        per_stream[chunks] = seen["observed"] - seen["bare"]
        rows.append(against_floor(f"stream of {chunks} chunks", seen, size))
    rows.append(against_floor(f"loop of {call_cost.STEPS} turns with tools", *call_cost.loops()))
    few, many = call_cost.CHUNKS
    history = {old: seen["observed"] - seen["bare"] for old, seen in call_cost.histories().items()}
    shortest = history[call_cost.HISTORIES[0]]
    return {
        "against_floor": rows,
        "per_chunk_us": round((per_stream[many] - per_stream[few]) / (many - few), 3),
        "history": [{"messages": old, "ours_us": round(cost, 1), "ratio_to_1": round(cost / shortest, 3)} for old, cost in history.items()],
    }


def show(found: dict[str, Any]) -> None:
    """The figures as text."""
    print("cost of observation (observed minus bare) against the floor: the same spans, points and log records made by hand")
    for row in found["against_floor"]:
        print(f"  {row['what']:32} {row['ours_us']:9.1f} us  floor {row['floor_us']:9.1f} us  ratio {row['ratio']:.2f}   ({row['emits']})")
    print(f"cost of one streamed chunk: {found['per_chunk_us']:.2f} us")
    print("a turn of a run, by messages of history before it")
    for row in found["history"]:
        print(f"  {row['messages']:4} messages {row['ours_us']:9.1f} us  {row['ratio_to_1']:.2f} times the cost with 1")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--without-ingest", action="store_true", help="leave the local receiver out")
    arguments = parser.parse_args()
    found = gather()
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)
    if not arguments.without_ingest:
        from tests.benchmarks import local_ingest

        local_ingest.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
