"""Plain HTTP against loopback: no proxy, no connection reuse, no third-party client."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Found = TypeVar("Found")

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, timeout: float = 10) -> bytes:
    """The body of the answer. Raises ``urllib.error.HTTPError`` for a refusal, ``OSError`` when nobody listens."""
    request = urllib.request.Request(url, data=body, headers=dict(headers or {}))
    with _DIRECT.open(request, timeout=timeout) as answer:
        content: bytes = answer.read()
    return content


def fetch_json(url: str, **parameters: str) -> Any:
    query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
    return json.loads(fetch(url + query))


def answers(url: str) -> bool:
    """Whether anything at all is served there, with a status below 400."""
    try:
        fetch(url, timeout=2)
    except OSError:
        return False
    return True


def eventually(what: str, look: Callable[[], Found], seconds: float = 30, pause: float = 0.2) -> Found:
    """Look again and again until something true is found; the last thing seen is in the failure."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}; last seen: {seen!r}")
        time.sleep(pause)
    return seen
