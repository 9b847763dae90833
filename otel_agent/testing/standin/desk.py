"""The answering of one request: route, replay check, script, format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from otel_agent.testing.standin.answers import EVENT_STREAM, Answer, Chunk, answer
from otel_agent.testing.standin.memory import Memory
from otel_agent.testing.standin.recording import Exchange
from otel_agent.testing.standin.rendering import format_for
from otel_agent.testing.standin.request import Request
from otel_agent.testing.standin.script import Reply
from otel_agent.testing.standin.selection import Picked, Scripts
from otel_agent.testing.standin.side_routes import embeddings_body, models_body
from otel_agent.testing.standin.stored import not_found
from otel_agent.testing.standin.wire.frames import encode
from otel_agent.testing.standin.wire.turn import Ids, Turn

CREATED = 1_790_000_000
"""The time of every answer, fixed so that two runs of one script answer the same bytes."""

_RESPONSE = re.compile(r"/responses/([^/]+)(/cancel)?$")


class Desk:
    """Turns a request into an answer, and steps into bytes in the request's own format."""

    def __init__(self, request: Request, exchange: Exchange, scripts: Scripts, memory: Memory) -> None:
        self.request = request
        self.exchange = exchange
        self.scripts = scripts
        self.memory = memory
        self.format = format_for("anthropic" if request.header("anthropic-version") else request.dialect)
        self.request_id = Ids(memory.habits.seed, "request", request.number)("req_")

    def respond(self) -> Answer:
        """Find the route and answer."""
        route = self.request.route
        if self.request.method == "POST" and self.request.dialect is not None:
            return self._generate()
        if found := _RESPONSE.search(route):
            return self._stored(found[1], cancel=bool(found[2]))
        side = next((make for ending, make in _SIDE_ROUTES.items() if route.endswith(ending)), None)
        return side(self) if side else self._scripted()

    def render(self, reply: Reply) -> bytes | Iterator[bytes]:
        """A reply as a body or as events, remembered as issued."""
        request = self.request
        turn = self._turn(reply, self.picked)
        whole = self.format.body(reply, turn)
        self.memory.remember(request, whole)
        if request.dialect == "openai.responses" and request.sent("store") is not False:
            whole = self.memory.responses.keep(reply, turn, whole)
        return self.format.events(reply, turn) if request.stream else encode(whole)

    def _turn(self, reply: Reply, picked: Picked) -> Turn:
        """Settle what a reply leaves open: its model, its ids, its counts."""
        habits, asked = self.memory.habits, self.request.model
        model = reply.model or habits.models.get(asked, asked)
        ids = Ids(habits.seed, picked.key, picked.position)
        return Turn(self.request, ids, model, picked.flavour, self.memory.usage(reply, self.request), CREATED)

    def _generate(self) -> Answer:
        failure = self.memory.objection(self.request, self.scripts.flavour(self.request))
        return self._scripted() if failure is None else answer(failure, self)

    def _scripted(self) -> Answer:
        self.picked = self.scripts.pick(self.request)
        self.exchange.script, self.exchange.position = self.picked.key, self.picked.position
        return answer(self.picked.step, self)

    def _stored(self, name: str, *, cancel: bool) -> Answer:
        if self.request.stream:
            return self._resumed(name)
        responses = self.memory.responses
        body = responses.cancel(name) if cancel else responses.read(name)
        return answer(not_found(name), self) if body is None else Answer(encode(body))

    def _resumed(self, name: str) -> Answer:
        events = self.memory.responses.resume(name, int(self.request.query.get("starting_after", -1)))
        if events is None:
            return answer(not_found(name), self)
        return Answer(content_type=EVENT_STREAM, chunks=map(Chunk, events))

    def count_tokens(self) -> Answer:
        """Anthropic's count of a request that is not sent on."""
        return Answer(encode({"input_tokens": self.memory.count(self.request)}))

    def embeddings(self) -> Answer:
        """Embeddings."""
        return Answer(encode(embeddings_body(self.request)))

    def models(self) -> Answer:
        """The models: every alias, and what it resolves to."""
        known = self.memory.habits.models
        return Answer(encode(models_body(self.request, sorted({*known, *known.values()}), CREATED)))


_SIDE_ROUTES: Mapping[str, Callable[[Desk], Answer]] = {
    "/messages/count_tokens": Desk.count_tokens,
    "/embeddings": Desk.embeddings,
    "/models": Desk.models,
}
