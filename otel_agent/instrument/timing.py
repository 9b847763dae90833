"""When a stream produced what. Only phases and the clock; no content."""

from __future__ import annotations

from otel_agent.protocol import DELIBERATION, SILENT, VISIBLE, Phase


class StreamTimes:
    """Times of one stream, in seconds since the request was issued. ``None`` until the thing happened."""

    __slots__ = ("_begun", "_since", "chunks", "first_chunk", "first_visible_chunk", "phase", "thinking_seconds")

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self.phase = SILENT
        """What was produced last."""
        self._since = begun
        self.chunks = 0
        self.first_chunk: float | None = None
        self.first_visible_chunk: float | None = None
        self.thinking_seconds: float | None = None

    def enter(self, phase: Phase, now: float) -> None:
        """The stream turned to another phase. Called on changes only, so not per chunk."""
        if self.first_chunk is None:
            self.first_chunk = now - self._begun
        if phase is VISIBLE and self.first_visible_chunk is None:
            self.first_visible_chunk = now - self._begun
        self._leave(now)
        self.phase, self._since = phase, now

    def _leave(self, now: float) -> None:
        if self.phase is DELIBERATION:
            self.thinking_seconds = (self.thinking_seconds or 0.0) + now - self._since

    def close(self, now: float) -> None:
        """The stream is over; deliberation that was still going on ends here."""
        self._leave(now)
        self.phase = SILENT
