"""A long run: two calls, then it waits to be killed. Arguments: the provider's address."""

import sys
import time

import anthropic

import otel_agent

otel_agent.instrument()
with otel_agent.agent_run("keeper"), anthropic.Anthropic(base_url=sys.argv[1], api_key="none") as client:
    for _ in range(2):
        client.messages.create(model="claude-sonnet-4-6", max_tokens=8, messages=[{"role": "user", "content": "Where?"}])
    time.sleep(600)
