"""Intake: from a body to committed rows, the same for both transports.

Bodies are decoded, guarded and turned into rows on one thread of their own, so that a large one holds up neither the network nor
the commits, and so that only one is expanded in memory at a time.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import Message

from otel_agent import guard
from otel_agent.allowlist import Allowlist
from otel_agent.local.admission import Admission
from otel_agent.local.bodies import PROTOBUF, READERS
from otel_agent.local.refusals import FAULT, TOO_LARGE, UNKNOWN_SENDER, Refusal, Refused
from otel_agent.local.rows import Rows
from otel_agent.local.settings import LocalSettings
from otel_agent.local.signals import Signal
from otel_agent.local.wire import count
from otel_agent.local.writer import Writer

BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Prepared:
    """One decoded request: rows to commit and the answer to give once they are."""

    rows: Rows
    answer: Message


def is_bearer(header: str | None, token: str) -> bool:
    """Whether an ``Authorization`` header carries ``token``; takes the same time for every wrong one."""
    header = header or ""
    given = header[len(BEARER) :] if header[: len(BEARER)].lower() == BEARER else ""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode("utf-8"))


class Intake:
    """Takes admitted bodies; keeps the counts that ``/api/stats`` shows."""

    def __init__(self, settings: LocalSettings, allowed: Allowlist, writer: Writer) -> None:
        self.settings = settings
        self.admission = Admission(max_requests=settings.max_pending_requests, max_bytes=settings.max_pending_bytes)
        self.removed: Counter[str] = Counter()
        self._allowed = allowed
        self._writer = writer
        self._decoder = ThreadPoolExecutor(1, thread_name_prefix="otel-agent-decoder")

    @property
    def stored(self) -> Mapping[str, int]:
        """Rows on disk since the start, by table."""
        return self._writer.stored

    def check_sender(self, header: str | None) -> None:
        """Raises :class:`Refused` when a token is required and ``header`` does not carry it."""
        if self.settings.token is not None and not is_bearer(header, self.settings.token):
            raise Refused(UNKNOWN_SENDER)

    def prepare(self, signal: Signal, body: bytes, media_type: str) -> Future[Prepared | Refusal]:
        """Decode on the decoder's thread. What goes wrong is a :class:`Refusal`, a fault of ours too."""
        return self._decoder.submit(self._prepare, signal, body, media_type)

    def _prepare(self, signal: Signal, body: bytes, media_type: str) -> Prepared | Refusal:
        return guard.run("local.intake", self._decode, signal, body, media_type) or FAULT

    def _decode(self, signal: Signal, body: bytes, media_type: str) -> Prepared | Refusal:
        limit = self.settings.max_records
        try:
            if media_type == PROTOBUF and count(body, signal.way, limit) > limit:
                return TOO_LARGE
            request = READERS[media_type](body, signal.request, self.settings.max_depth)
        except Refused as refused:
            return refused.refusal
        rejected = signal.guard(request, self._allowed, self.removed)
        return Prepared(signal.rows(request), signal.answer(rejected))

    def commit(self, prepared: Prepared) -> Future[None]:
        """Queue the rows; resolves once they are on disk."""
        return self._writer.put(prepared.rows)

    def close(self) -> None:
        """Finish what is being decoded."""
        self._decoder.shutdown()
