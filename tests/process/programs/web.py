"""An ASGI app that makes one call per request. Arguments: provider, file for the port, ``lifespan`` to shut down by the lifespan."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anthropic
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import otel_agent

otel_agent.instrument()
client = anthropic.AsyncAnthropic(base_url=sys.argv[1], api_key="none")


async def ask(_request: object) -> PlainTextResponse:
    answer = await client.messages.create(model="claude-sonnet-4-6", max_tokens=64, messages=[{"role": "user", "content": "Where?"}])
    return PlainTextResponse(str(answer.stop_reason))


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    yield
    if sys.argv[3] == "lifespan":
        await asyncio.to_thread(otel_agent.shutdown, 5.0)


listener = socket.create_server(("127.0.0.1", 0))
Path(sys.argv[2]).write_text(str(listener.getsockname()[1]), "utf-8")
app = Starlette(routes=[Route("/", ask)], lifespan=lifespan)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
