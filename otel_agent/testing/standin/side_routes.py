"""Routes beside generation: models and embeddings."""

from __future__ import annotations

import base64
import struct
from hashlib import blake2b
from typing import Any

from otel_agent.testing.standin.counting import tokens_in
from otel_agent.testing.standin.request import Request, as_list

_DIMENSIONS = 8


def models_body(request: Request, names: list[str], created: int) -> dict[str, Any]:
    """The list of models, in the manner of the provider whose SDK asks."""
    if request.header("anthropic-version"):
        return {
            "data": [_anthropic_model(name) for name in names],
            "has_more": False,
            "first_id": None,
            "last_id": None,
        }
    return {"object": "list", "data": [_openai_model(name, created) for name in names]}


def _anthropic_model(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}


def _openai_model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "standin"}


def embeddings_body(request: Request) -> dict[str, Any]:
    """A vector for each input, the same for the same text."""
    given = request.sent("input")
    texts = [str(text) for text in as_list(given)] or [str(given)]
    packed = request.sent("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(text) if packed else _vector(text)} for index, text in enumerate(texts)
    ]
    counted = sum(map(tokens_in, texts))
    usage = {"prompt_tokens": counted, "total_tokens": counted}
    return {"object": "list", "data": data, "model": request.model, "usage": usage}


def _vector(text: str) -> list[float]:
    return [byte / 256 for byte in blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIMENSIONS).digest()]


def _packed(text: str) -> str:
    return base64.b64encode(struct.pack(f"<{_DIMENSIONS}f", *_vector(text))).decode()
