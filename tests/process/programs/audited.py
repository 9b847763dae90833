"""One call; says every address that was connected to or looked up. Arguments: the provider's address."""

import json
import sys

seen: list[str] = []


def hook(event: str, arguments: tuple) -> None:
    """The interpreter's own audit trail."""
    if event == "socket.connect":
        seen.append(str(arguments[1]))
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        seen.append(f"lookup {arguments[0]}")


sys.addaudithook(hook)

import anthropic  # noqa: E402 - after the hook
import openai  # noqa: E402 - after the hook

import otel_agent  # noqa: E402 - after the hook

otel_agent.instrument()
ASK = [{"role": "user", "content": "Where?"}]
with otel_agent.agent_run("keeper"):
    anthropic.Anthropic(base_url=sys.argv[1], api_key="none").messages.create(model="claude-sonnet-4-6", max_tokens=8, messages=ASK)
    openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none").chat.completions.create(model="gpt-5.5", messages=ASK)
otel_agent.shutdown(10.0)
print(json.dumps(seen))
