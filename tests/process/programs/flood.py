"""Many calls with a collector that never takes anything; says how memory fared. Arguments: provider, number of calls."""

import gc
import json
import resource
import sys
from pathlib import Path

import anthropic

import otel_agent

otel_agent.instrument()


def resident() -> int:
    """Resident bytes now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


client = anthropic.Anthropic(base_url=sys.argv[1], api_key="none")
sizes = []
for number in range(int(sys.argv[2])):
    client.messages.create(model="claude-sonnet-4-6", max_tokens=64, messages=[{"role": "user", "content": "Where?"}])
    if number % 500 == 499:
        gc.collect()
        sizes.append(resident())
print(json.dumps(sizes), flush=True)
