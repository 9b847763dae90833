"""``make bench``: what observation costs, in one run, as ratios. Nothing here fails for being slow; a person reads it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks import call_cost, instructions
from tests.benchmarks.rig import CPU_TIME, Gauge


def against_floor(name: str, cost: call_cost.Cost) -> dict[str, Any]:
    """One line of the table."""
    return {"what": name, "ours": round(cost.ours, 1), "floor": round(cost.floor, 1), "ratio": round(cost.ratio, 3), "emits": cost.emits}


def gather(gauge: Gauge) -> dict[str, Any]:
    """All figures."""
    rows = [against_floor("one call", call_cost.calls(gauge))]
    streamed = {chunks: call_cost.streams(gauge, chunks) for chunks in call_cost.CHUNKS}
    rows += [against_floor(f"stream of {chunks} chunks", cost) for chunks, cost in streamed.items()]
    rows.append(against_floor(f"loop of {call_cost.STEPS} turns with tools", call_cost.loops(gauge)))
    few, many = call_cost.CHUNKS
    return {
        "unit": gauge.unit,
        "against_floor": rows,
        "per_chunk": round((streamed[many].ours - streamed[few].ours) / (many - few), 3),
        "bare_span": round(call_cost.bare_span(gauge), 1),
        "history": [
            {"messages": old, "ours": round(cost, 1), "ratio_to_1": round(ratio, 3)}
            for old, (cost, ratio) in call_cost.histories(gauge).items()
        ],
    }


def show(found: dict[str, Any]) -> None:
    """The figures as text."""
    unit = found["unit"]
    print(f"cost of observation (observed minus bare) against the floor: the same spans, points and log records made by hand; {unit}")
    for row in found["against_floor"]:
        print(f"  {row['what']:32} {row['ours']:12,.1f}  floor {row['floor']:12,.1f}  ratio {row['ratio']:.2f}   ({row['emits']})")
    print(f"cost of one streamed chunk: {found['per_chunk']:,.2f} {unit}")
    print(f"for comparison of machines: the OpenTelemetry SDK's span of 30 attributes, nothing else: {found['bare_span']:,.1f} {unit}")
    print("a turn of a run, by messages of history before it")
    for row in found["history"]:
        print(f"  {row['messages']:4} messages {row['ours']:12,.1f}  {row['ratio_to_1']:.2f} times the cost with 1")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--without-ingest", action="store_true", help="leave the local receiver out")
    parser.add_argument("--instructions", action="store_true", help="count instructions instead of time (needs valgrind; x86-64 only)")
    parser.add_argument("--counting", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.instructions:
        return instructions.under_valgrind([*(["--json"] if arguments.json else [])])
    found = gather(instructions.gauge(arguments.counting) if arguments.counting else CPU_TIME)
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)
    if not (arguments.without_ingest or arguments.counting):
        from tests.benchmarks import local_ingest

        local_ingest.main([])
    return 0


if __name__ == "__main__":
    sys.exit(main())
