"""A script that ends right after its one call, as command-line tools do. Arguments: the provider's address."""

import sys

import anthropic

import otel_agent

otel_agent.instrument()
client = anthropic.Anthropic(base_url=sys.argv[1], api_key="none")
client.messages.create(model="claude-sonnet-4-6", max_tokens=64, messages=[{"role": "user", "content": "Where?"}])
