"""A far end of files: whatever a collector writes, as OTLP in JSON or in its binary form, plain or gzipped. Read from where it ended."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from otel_agent.verify.far_ends import MODEL_TURN, OWN_SCOPE, Arrived
from otel_agent.verify.web import CannotAsk

PIECE: Final = 4 * 1024 * 1024
OVERLAP: Final = 64 * 1024
"""Pieces overlap, so that nothing hides on a border."""

GZIP: Final = b"\x1f\x8b"


class Files:
    """A file or a folder of files. What was in them before is left alone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = f"file {path}"
        self._before: dict[Path, int] = {}

    def check(self) -> None:
        """It is there, or can come into being; what is there now is remembered."""
        if not self._path.exists() and not self._path.absolute().parent.is_dir():
            raise CannotAsk(f"{self._path} is not there, nor is the folder that it would be in")
        self._before = {file: file.stat().st_size for file in self._files()}

    def _files(self) -> list[Path]:
        found = [self._path] if self._path.is_file() else sorted(self._path.rglob("*"))
        return [file for file in found if file.is_file()]

    def _contents(self) -> Iterator[bytes]:
        """What was written since. A file that became shorter was begun anew; a gzipped one can only be read whole."""
        for file in self._files():
            try:
                content = file.read_bytes()
            except OSError as error:
                raise CannotAsk(f"{file} cannot be read ({type(error).__name__})") from None
            before = self._before.get(file, 0)
            yield _unzipped(content) if content[:2] == GZIP else content[before if len(content) >= before else 0 :]

    def count(self, mark: str) -> Arrived:
        """Records in JSON and in binary form."""
        turns = others = 0
        for content in self._contents():
            pairs = [pair for line in content.splitlines() for pair in _records(_parsed(line), mark)]
            turns += sum(record.get("eventName", record.get("event_name")) == MODEL_TURN for _, record in pairs)
            turns += len(_binary(mark).findall(content))
            others += sum(scope not in {None, OWN_SCOPE} for scope, _ in pairs)
        return Arrived(turns, others)

    def texts(self, mark: str) -> Iterator[bytes]:
        """All that was written."""
        for content in self._contents():
            yield from (content[start : start + PIECE + OVERLAP] for start in range(0, len(content), PIECE))


def _unzipped(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return content


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line) if line[:1] in {b"{", b"["} else None
    except (ValueError, RecursionError):
        return None


def _records(value: Any, mark: str, scope: str | None = None) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Spans and log records of the trace, with their scope's name, wherever they are in a JSON value."""
    if isinstance(value, list):
        for item in value:
            yield from _records(item, mark, scope)
    elif isinstance(value, dict):
        named = value.get("scope")
        scope = str(named.get("name", "")) if isinstance(named, dict) else scope
        if value.get("traceId", value.get("trace_id")) in {mark, b64encode(bytes.fromhex(mark)).decode()}:
            yield scope, value
        for inner in value.values():
            yield from _records(inner, mark, scope)


def _binary(mark: str) -> re.Pattern[bytes]:
    """A log record in OTLP's binary form: the trace id, then, a few short fields later, the event's name."""
    return re.compile(re.escape(bytes.fromhex(mark)) + rb".{10,40}" + re.escape(MODEL_TURN.encode()), re.DOTALL)
