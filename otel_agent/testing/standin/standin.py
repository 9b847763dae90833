"""The stand-in itself: scripts in, real wire formats out, every request kept."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self
from urllib.parse import quote

from otel_agent.testing.standin.answers import Answer
from otel_agent.testing.standin.counting import TokenRule, by_characters
from otel_agent.testing.standin.desk import Desk
from otel_agent.testing.standin.memory import Habits, Memory
from otel_agent.testing.standin.recording import Exchange, Recording
from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import After, Script
from otel_agent.testing.standin.selection import Scripts
from otel_agent.testing.standin.server import LOOPBACK, LoopbackServer


class Standin:
    """A loopback HTTP server that answers provider SDKs from scripts.

    ```python
    with Standin() as standin:
        standin.script(
            "claude-sonnet-4-6",
            [Reply([Thinking("..."), ToolUse("find_order", {"id": "A1"})]), Reply([Text("Done.")])],
        )
        client = anthropic.Anthropic(base_url=standin.anthropic_url, api_key="none")
    ```

    Args:
        port: 0 takes a free one. The server listens on the loopback interface only.
        seed: Made-up ids follow from it, the script's key and the step's number. Random by default.
        models: What an alias resolves to in answers.
        tokens: How many tokens a request has, segment by segment.
        caching: Whether repeated prefixes count as read from the cache.
        check_replay: Whether reasoning that comes back changed or not at all is rejected, as providers do.
        max_requests: How many exchanges are kept.
        max_bytes: How many bytes of request bodies are kept.

    """

    def __init__(
        self,
        *,
        port: int = 0,
        seed: str | None = None,
        models: Mapping[str, str] | None = None,
        tokens: TokenRule = by_characters,
        caching: bool = True,
        check_replay: bool = False,
        max_requests: int = 10_000,
        max_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        named = secrets.token_hex(4) if seed is None else seed
        self._habits = Habits(named, dict(models or {}), tokens, caching, check_replay)
        self._memory = Memory(self._habits)
        self._scripts = Scripts()
        self._recording = Recording(max_requests, max_bytes)
        self._server = LoopbackServer(self._answering, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="standin", daemon=True)

    def start(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving and end every connection."""
        if self._thread.is_alive():
            self._server.stop()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        """Serve until the block ends."""
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop serving."""
        self.stop()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def url(self, script: str | None = None) -> str:
        """The root address; with a script's key, the one whose requests get that script whatever model they name."""
        segment = "" if script is None else f"/s/{quote(script, safe='')}"
        return f"http://{LOOPBACK}:{self.port}{segment}"

    @property
    def anthropic_url(self) -> str:
        """`base_url` for the anthropic SDK."""
        return self.url()

    @property
    def openai_url(self) -> str:
        """`base_url` for the openai SDK."""
        return f"{self.url()}/v1"

    def anthropic_url_for(self, script: str) -> str:
        """`base_url` for the anthropic SDK that chooses a script."""
        return self.url(script)

    def openai_url_for(self, script: str) -> str:
        """`base_url` for the openai SDK that chooses a script."""
        return f"{self.url(script)}/v1"

    def script(self, key: str, steps: Script, *, after: After = "fail", flavour: str = "openai") -> Self:
        """File a script, from its first step on.

        Args:
            key: A model's name, a name used with `url(...)` or the `x-standin-script` header, a route, or `*` for the
                rest; a request is filed under the most particular of them that has a script.
            steps: Steps to be taken one by one, or one function of the request that answers every time.
            after: What happens once the steps are used up.
            flavour: Whose habits chat completions follow (`FLAVOURS`).

        """
        self._scripts.put(key, steps, after, flavour)
        return self

    def steps_left(self, key: str) -> int:
        """How many steps of a script have not been taken."""
        return self._scripts.left(key)

    def reset(self) -> None:
        """Forget scripts, records, the prompt cache and all that was issued."""
        self._scripts.clear()
        self._recording.clear()
        self._memory = Memory(self._habits)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Requests with the fate of their answers, oldest first."""
        return self._recording.exchanges()

    @property
    def requests(self) -> tuple[Request, ...]:
        """Requests, oldest first."""
        return tuple(exchange.request for exchange in self.exchanges)

    @property
    def dropped(self) -> int:
        """How many exchanges were let go because there was no more room."""
        return self._recording.dropped

    def clear_requests(self) -> None:
        """Forget the recorded requests, and nothing else."""
        self._recording.clear()

    def _answering(self, method: str, target: str, headers: tuple[tuple[str, str], ...], body: bytes, at: float) -> tuple[Answer, Exchange]:
        received = Request(self._recording.next_number(), method, target, headers, body, at)
        request = self._memory.conversations.recall(received)
        exchange = Exchange(request)
        self._recording.add(exchange)
        desk = Desk(request, exchange, self._scripts, self._memory)
        found = desk.respond()
        exchange.status = found.status
        identity = ((desk.format.request_id_header, desk.request_id),)
        return replace(found, headers=(*identity, *found.headers)), exchange
