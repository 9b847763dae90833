"""Questions to far ends over HTTP: bounded, with a reason instead of an exception that quotes what the other side said."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

TIMEOUT: Final = 20.0
MOST: Final = 512 * 1024 * 1024
"""Bytes of one answer. More would be searched in part, and a search of a part proves nothing."""

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class CannotAsk(Exception):
    """A far end cannot be asked. ``why`` says it in our own words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NotThere(CannotAsk):
    """The far end answers that it has no such thing, or no such question."""


NOT_THERE: Final = frozenset({404, 405, 410, 501})


class Web:
    """One server. A user name and a password in the address become a header and are never shown."""

    def __init__(self, url: str) -> None:
        parts = _parts(url)
        host = parts.hostname or ""
        place = (f"[{host}]" if ":" in host else host) + (f":{parts.port}" if parts.port else "")
        self.address = urllib.parse.urlunsplit((parts.scheme, place, parts.path.rstrip("/"), "", ""))
        self._headers = _credentials(parts)
        handlers = [urllib.request.ProxyHandler({})] if host in LOOPBACK else []
        self._opener = urllib.request.build_opener(*handlers)

    def read(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        """The bytes of an answer. Raises :class:`CannotAsk`."""
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        request = urllib.request.Request(f"{self.address}{path}{query}", headers=self._headers)  # noqa: S310 - http and https only
        try:
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                content: bytes = answer.read(MOST + 1)
        except urllib.error.HTTPError as refused:
            refused.close()
            raise (NotThere if refused.code in NOT_THERE else CannotAsk)(f"{self.address}{path} answers {refused.code}") from None
        except urllib.error.URLError as error:
            raise CannotAsk(f"{self.address} cannot be reached ({type(error.reason).__name__})") from None
        except OSError as error:
            raise CannotAsk(f"{self.address} cannot be reached ({type(error).__name__})") from None
        if len(content) > MOST:
            raise CannotAsk(f"{self.address}{path} answers with more than {MOST:,} bytes")
        return content

    def json(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """The same as JSON."""
        content = self.read(path, parameters)
        try:
            return json.loads(content)
        except ValueError:
            raise CannotAsk(f"{self.address}{path} does not answer in JSON") from None


def _parts(url: str) -> urllib.parse.SplitResult:
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise CannotAsk("the address of a far end is not one of http or https; write for example http://127.0.0.1:16686")
    return parts


def _credentials(parts: urllib.parse.SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
    return {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
