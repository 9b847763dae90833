"""The legacy completions interface: a prompt in, text out.

https://platform.openai.com/docs/api-reference/completions. The module itself is the adapter
(:class:`otel_agent.protocol.Adapter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from otel_agent.adapters import effort, errors, finish, models, usage
from otel_agent.adapters.blocks import counted
from otel_agent.fields import count, get, identifier, items, model_name, number
from otel_agent.protocol import SILENT, VISIBLE, Answer, Conversation, ErrorFacts, Phase, RequestFacts, ResponseFacts
from otel_agent.records.closed import Api, FinishReason

api: Api = "completions"


def read_request(body: dict[str, Any], directives: Sequence[Any] | None = None) -> RequestFacts:
    """Facts of a request body."""
    wanted = effort.read(body)
    model = model_name(body.get("model"))
    choices = count(body.get("n"))
    return RequestFacts(
        operation="text_completion",
        api=api,
        request_model=model,
        model_kind=models.kind(model),
        stream=True if body.get("stream") is True else None,
        max_tokens=count(body.get("max_tokens")),
        choice_count=None if choices == 1 else choices,
        temperature=number(body.get("temperature")),
        top_p=number(body.get("top_p")),
        reasoning_level=wanted.level,
        reasoning_budget=wanted.budget,
        reasoning_mode=wanted.mode,
    )


def conversation(body: dict[str, Any]) -> Conversation | None:
    """A prompt is no history."""
    return None


def read_response(response: Any, request: RequestFacts, answer: Answer | None) -> ResponseFacts:
    """Facts of a whole completion: the same shape as the one chunk of a stream."""
    stream = accumulator(request, answer)
    stream.feed(response)
    facts = stream.finish()
    facts.request_id = identifier(get(response, "_request_id"))
    return facts


def read_error(error: BaseException, request: RequestFacts) -> ErrorFacts:
    """Facts of an exception."""
    return errors.read(error)


class CompletionStream:
    """One completion as it comes. Only the first choice's text goes to the answer."""

    __slots__ = ("_answer", "_asked", "_id", "_model", "_reasons", "_spoken", "_usage")

    def __init__(self, request: RequestFacts, answer: Answer | None) -> None:
        self._answer = answer
        self._asked = request.choice_count
        self._id: str | None = None
        self._model: str | None = None
        self._reasons: dict[int, str | None] = {}
        self._spoken: set[int] = set()
        self._usage: usage.Tally = {}

    def feed(self, event: Any) -> Phase:
        """Read one chunk."""
        if self._model is None:
            self._model = model_name(get(event, "model"))
            self._id = identifier(get(event, "id"))
        counts = get(event, "usage")
        if counts is not None:
            usage.gather_chat(self._usage, counts)
        phase = SILENT
        for position, choice in enumerate(items(get(event, "choices"))):
            phase = self._choice(choice, position) or phase
        return phase

    def _choice(self, choice: Any, position: int) -> Phase:
        index = get(choice, "index")
        index = index if type(index) is int else position
        self._reasons[index] = finish.spelled(get(choice, "finish_reason")) or self._reasons.get(index)
        text = get(choice, "text")
        if type(text) is not str or not text:
            return SILENT
        self._spoken.add(index)
        if index == 0 and self._answer is not None:
            self._answer.update(text)
        return VISIBLE

    def finish(self) -> ResponseFacts:
        """The facts seen so far."""
        places = finish.places(self._asked, self._reasons)
        raws = [self._reasons.get(index) for index in places]
        missing: FinishReason = "error" if self._reasons else "unknown"
        reasons = tuple(
            finish.normal(finish.CHAT, raw) if index in self._reasons else missing for index, raw in zip(places, raws, strict=True)
        )
        return ResponseFacts(
            response_model=self._model,
            response_id=self._id,
            finish_reasons=reasons,
            finish_reasons_raw=finish.parallel(raws),
            truncated_by=finish.truncated_by(reasons, raws),
            blocks=counted([VISIBLE] * len(self._spoken)),
            usage=usage.inclusive_form(self._usage),
        )


def accumulator(request: RequestFacts, answer: Answer | None) -> CompletionStream:
    """A fresh accumulator for one stream."""
    return CompletionStream(request, answer)
