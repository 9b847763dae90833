"""Whether reasoning comes back as it was issued, in an open tool loop, with the providers' own words when it does not.

The messages quote what they reject, as the real ones do: code that records an error's text records a prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from otel_agent.testing.standin.bounded import Bounded
from otel_agent.testing.standin.request import Request, as_dict, as_list, is_from_model
from otel_agent.testing.standin.script import Failure
from otel_agent.testing.standin.wire.flavours import Flavour

Json = dict[str, Any]
_SEALED = {"thinking", "redacted_thinking"}


class Issued:
    """What was handed out, and what may be said of a request that brings it back."""

    def __init__(self) -> None:
        self._turns: Bounded[list[Json]] = Bounded()
        self._signatures: Bounded[Json] = Bounded()
        self._reasons: Bounded[Json] = Bounded()

    def remember(self, dialect: str | None, body: Json) -> None:
        """Keep the reasoning of an answer."""
        if dialect == "anthropic":
            self._remember_turn(as_list(body.get("content")))
        if dialect == "openai.responses":
            self._remember_items(as_list(body.get("output")))

    def _remember_turn(self, content: Sequence[Json]) -> None:
        for block in content:
            if block.get("type") == "tool_use":
                self._turns[str(block.get("id"))] = _skeleton(content)
            if block.get("type") == "thinking":
                self._signatures[str(block.get("signature"))] = block

    def _remember_items(self, output: Sequence[Json]) -> None:
        reason: Json | None = None
        for item in output:
            reason = item if item.get("type") == "reasoning" else reason
            if reason is not None and item is not reason:
                self._reasons[str(item.get("id"))] = reason

    def objection(self, request: Request, flavour: Flavour) -> Failure | None:
        """The error that a provider answers to a broken replay, or None."""
        checks: Mapping[str, Callable[[], Iterator[Failure]]] = {
            "anthropic": lambda: self._anthropic(request),
            "openai.responses": lambda: self._responses(request.conversation),
            "openai.chat": lambda: _chat(request, flavour),
        }
        return next(checks.get(request.dialect or "", lambda: iter(()))(), None)

    def _anthropic(self, request: Request) -> Iterator[Failure]:
        if not _thinks(request):
            return
        for place, message in _open_loop(request.messages):
            blocks = [block for block in as_list(message.get("content")) if isinstance(block, dict)]
            calls = (str(block.get("id")) for block in blocks if block.get("type") == "tool_use")
            issued = next((self._turns[call] for call in calls if call in self._turns), None)
            if issued is not None and issued != _skeleton(blocks):
                yield self._complaint(place, blocks, issued)

    def _complaint(self, place: int, blocks: Sequence[Json], issued: Sequence[Json]) -> Failure:
        kept = _skeleton(blocks)
        differing = (number for number, block in enumerate(kept) if number >= len(issued) or block != issued[number])
        first = next(differing, len(kept))
        block = kept[first] if first < len(kept) else {}
        at = f"messages.{place}.content.{first}"
        if block.get("type") == "tool_use":
            return _rejected(f"{at}.type: {_EXPECTED}", blocks)
        if block.get("type") == "thinking" and not block.get("thinking"):
            return _rejected(f"{at}.thinking: each thinking block must contain thinking", blocks)
        if block.get("type") == "thinking" and str(block.get("signature")) not in self._signatures:
            return _rejected(f"{at}: Invalid `signature` in `thinking` block", blocks)
        return _rejected(f"{at}: {_MODIFIED}", blocks)

    def _responses(self, items: Sequence[Mapping[str, Any]]) -> Iterator[Failure]:
        present = {str(item.get("id")): item for item in items if item.get("type") == "reasoning"}
        for item in items:
            reason = self._reasons.get(str(item.get("id")))
            if reason is not None:
                yield from _missing_reason(item, reason, present)
        pairs = zip(items, [*items[1:], {}], strict=True)
        yield from (_unfollowed(item) for item, after in pairs if _alone(item, after))


_EXPECTED = (
    "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` "
    "message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
)
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


def _rejected(message: str, quoted: Any, code: str | None = None, param: str | None = None) -> Failure:
    """A 400 that quotes what it rejects."""
    text = f"{message} Received: {json.dumps(quoted)}"
    return Failure(400, "invalid_request_error", text, code=code, param=param)


def _skeleton(content: Sequence[Json]) -> list[Json]:
    """What has to come back unchanged and in order: sealed blocks, and where the calls stand."""
    kept = [block for block in content if block.get("type") in _SEALED or block.get("type") == "tool_use"]
    return [block if block.get("type") in _SEALED else {"type": "tool_use", "id": block.get("id")} for block in kept]


def _thinks(request: Request) -> bool:
    return str(as_dict(request.setting("thinking")).get("type", "disabled")) != "disabled"


def _open_loop(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The assistant messages after the last thing that a user said."""
    said = [place for place, message in enumerate(messages) if _is_said(message)]
    first = said[-1] if said else 0
    return ((place, message) for place, message in enumerate(messages) if place > first and is_from_model(message))


def _is_said(message: Mapping[str, Any]) -> bool:
    blocks = as_list(message.get("content"))
    answers = any(as_dict(block).get("type") == "tool_result" for block in blocks)
    said: bool = message.get("role") == "user"
    return said and not answers


def _missing_reason(item: Mapping[str, Any], reason: Json, present: Mapping[str, Mapping[str, Any]]) -> Iterator[Failure]:
    name = str(reason.get("id"))
    if name not in present:
        kind = f"Item '{item.get('id')}' of type '{item.get('type')}'"
        yield _rejected(f"{kind} was provided without its required 'reasoning' item: '{name}'.", item, param="input")
    elif present[name].get("encrypted_content") not in (None, reason.get("encrypted_content")):
        words = "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed."
        yield _rejected(words, present[name], code="invalid_encrypted_content", param="input")


def _alone(item: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return str(item.get("type")) == "reasoning" and not is_from_model(after)


def _unfollowed(item: Mapping[str, Any]) -> Failure:
    words = f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
    return _rejected(words, item, param="input")


def _chat(request: Request, flavour: Flavour) -> Iterator[Failure]:
    needed = flavour.must_replay
    for _place, message in _open_loop(request.messages) if needed else ():
        if message.get("tool_calls") and needed not in message:
            yield _rejected(f"The `{needed}` in the thinking mode must be passed back to the API.", message)
