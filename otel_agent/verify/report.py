"""What is said at the end: one finding per far end, the verdict, and what it does not cover. Names of carriers, never a text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from otel_agent.plural import plural

CLEAN: Final = "clean"
LEAK: Final = "leak"
NOT_PROVEN: Final = "not proven"


@dataclass(frozen=True, slots=True)
class Finding:
    """One far end. ``expected``, ``arrived``: records of model turns; ``others``: what arrived of other scopes. ``why``: if not asked."""

    far_end: str
    expected: int
    arrived: int
    others: int
    searched_bytes: int
    found: tuple[str, ...]
    why: str | None = None

    @property
    def verdict(self) -> str:
        """A leak is one however little arrived; clean is only what arrived whole and was searched."""
        if self.found:
            return LEAK
        whole = self.why is None and self.arrived >= self.expected > 0 and self.searched_bytes > 0
        return CLEAN if whole else NOT_PROVEN


@dataclass(frozen=True, slots=True)
class Result:
    """A whole verification. ``private``: the records went to a store of the verification's own, not through the user's pipeline."""

    verification: str
    findings: tuple[Finding, ...]
    planted: tuple[str, ...]
    left_out: tuple[str, ...]
    missing: tuple[str, ...]
    foreign: bool
    private: bool

    @property
    def verdict(self) -> str:
        """The worst one."""
        found = {finding.verdict for finding in self.findings}
        return next((word for word in (LEAK, NOT_PROVEN) if word in found), CLEAN if found else NOT_PROVEN)


def as_json(result: Result) -> dict[str, Any]:
    """The result for ``--json``."""
    findings = [{**asdict(finding), "verdict": finding.verdict} for finding in result.findings]
    proves = "this program's own side only" if result.private else "the pipeline up to these far ends"
    return {**asdict(result), "findings": findings, "proves": proves, "verdict": result.verdict}


def lines(result: Result) -> list[str]:
    """The result for a terminal."""
    text = [line for finding in result.findings for line in _finding_lines(finding, result)]
    text += [f"not planted, since {name} is not installed: its carriers" for name in result.missing]
    if not result.foreign:
        text.append("not tried: what other instrumentations emit (--no-with-foreign)")
    if result.private:
        text += PRIVATE
    return [*text, f"verdict: {result.verdict}"]


def _finding_lines(finding: Finding, result: Result) -> list[str]:
    """What arrived, and what was found in it."""
    came = f"{finding.far_end}: {finding.arrived} of {finding.expected} model turns arrived"
    if result.foreign:
        came += f", and {finding.others} {plural(finding.others, 'item')} of other scopes"
    if finding.why is not None:
        return [came, f"  not proven: {finding.why}", *_leaked(finding)]
    planted = len(result.planted)
    searched = f"  {finding.searched_bytes:,} bytes searched for the canaries of {planted} {plural(planted, 'carrier')}"
    return [came, searched, *_leaked(finding), *_judged(finding)]


def _leaked(finding: Finding) -> list[str]:
    return [f"  LEAK: {name}" for name in finding.found]


def _judged(finding: Finding) -> list[str]:
    if finding.verdict == CLEAN:
        return ["  clean: none was found"]
    if finding.arrived == 0:
        return ["  nothing arrived: not proven"]
    return ["  not all of it arrived: not proven"] if finding.arrived < finding.expected else []


PRIVATE: Final = [
    "This proves this program's own side only: the records went to a private store, not through your pipeline.",
    "To prove the pipeline, set OTEL_EXPORTER_OTLP_ENDPOINT as your applications have it and name its far ends:",
    "  --jaeger URL, --prometheus URL, --logs URL (VictoriaLogs), --store FILE (otel-agent local), --file PATH (what a collector writes)",
]
