"""The table of cases: which test holds which, read from the docstrings. ``python -m tests.cases`` writes ``tests/CASES.md``."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent
NAMED: Final = re.compile(r"[Cc]ases? (\d{3}(?:(?:,| and|, and) \d{3})*)")

TITLES: Final[dict[str, str]] = {
    "002": "helper stream managers keep their helpers",
    "003": "raw responses are handed on as they are",
    "006": "streams keep the context-manager protocol",
    "007": "entering a stream gives the observed one",
    "008": "whatever ends a stream first ends its record, once",
    "010": "a stream that is dropped ends as abandoned",
    "013": "a stream that raises ends as failed",
    "016": "one-shot iterables are not walked",
    "017": "chunks come as many and as soon as without us",
    "018": "the kind of a callable is preserved",
    "019": "endpoints that are not observed are not touched",
    "021": "a client can be used again, on every Python",
    "022": "another product's wrapper, in either order",
    "023": "usage of the Responses stream helper",
    "026": "sentinels are no values",
    "027": "null and foreign types never reach an attribute",
    "028": "a stream without its closing event",
    "031": "cumulative usage of Messages streams",
    "033": "Gemini: thoughts are not in the candidates count",
    "034": "Gemini: running usage is not summed",
    "036": "OpenAI cache writes",
    "037": "Bedrock cache counts",
    "040": "missing usage is missing, not zero",
    "041": "the request is not changed to get usage",
    "042": "metrics do not depend on sampling",
    "043": "the last of several snapshots counts",
    "047": "effort exactly as sent",
    "054": "exceptions say class, status and code alone",
    "055": "no path has access to content",
    "056": "tool schemas and parameters stay out",
    "059": "no command line of the process",
    "061": "no connection but the configured one",
    "062": "no global provider is set",
    "063": "a framework's own provider does not displace an explicit one",
    "064": "digests are keyed and their canonical form is pinned",
    "065": "no exact length beside a digest",
    "066": "our diagnostics stay out of the exported logs",
    "067": "no source lines, no frames",
    "068": "reasoning goes back byte for byte",
    "069": "unknown stop reasons pass",
    "070": "tools in thread pools and under gather have their parent",
    "071": "tool failures returned as data",
    "072": "MCP: trace context in every call",
    "073": "MCP: HTTP propagation is left working",
    "075": "user objects are never copied or stringified",
    "077": "maps are emptied",
    "078": "no threads that stay",
    "079": "async graphs stay one trace",
    "080": "the HTTP span is the model span's child",
    "081": "request metadata is left alone",
    "082": "clients of every make and age are covered, or said not to be",
    "083": "repeated set-up, exact removal",
    "086": "one record per model call",
    "087": "suppression does not leak",
    "088": "different arguments are no repeat",
    "089": "repeats are counted",
    "091": "the reason of a hand-off is read at the end",
    "094": "one bad value costs no batch",
    "097": "no flush in the hot path",
    "100": "one flush for all signals",
    "101": "a start record for each run",
    "102": "no JSON in attributes",
    "103": "an export answered by a redirect",
    "104": "labels are capped",
    "109": "no metrics derived from spans",
    "114": "finish reasons raw and normal",
    "116": "empty and truncated is told apart",
    "117": "truncation is one word for all providers",
    "118": "thresholds by model and baseline",
    "119": "each kind of tool failure moves the panel",
    "120": "no network on the request path",
    "122": "servers that die by signal",
}

ELSEWHERE: Final[dict[str, str]] = {
    "033": "the Gemini SDK is not observed yet",
    "034": "the Gemini SDK is not observed yet",
    "037": "the Bedrock SDK is not observed yet",
    "059": "no resource detector of ours is on; the collector's guard is tested with the native stack",
    "064": "vectors of the canonical form: tests/unit/test_digest.py, tests/unit/test_canonical.py",
    "072": "MCP is not observed yet",
    "073": "MCP is not observed yet",
    "103": "the exporters are the OpenTelemetry SDK's",
    "109": "no dashboard needs metrics derived from spans",
    "118": "the rules of the alerts are tested with the dashboards",
}
"""Why a case has no test that names it."""


def tests_of(path: Path) -> Iterator[tuple[str, str]]:
    """Case and test, for every docstring of a test that names a case."""
    tree = ast.parse(path.read_text("utf-8"))
    names = path.relative_to(ROOT.parent).as_posix()
    for node in tree.body:
        members = [(node, names)] if not isinstance(node, ast.ClassDef) else [(inner, f"{names}::{node.name}") for inner in node.body]
        for member, prefix in members:
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and member.name.startswith("test_"):
                said = ast.get_docstring(member) or ""
                yield from ((case, f"{prefix}::{member.name}") for found in NAMED.findall(said) for case in re.findall(r"\d{3}", found))


def table() -> dict[str, list[str]]:
    """Case to tests."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("test_*.py")):
        for case, test in tests_of(path):
            found[case].append(test)
    return found


def document() -> str:
    """The table as Markdown."""
    found = table()
    lines = [
        "# Cases",
        "",
        "Written by `python -m tests.cases` from the docstrings of the tests.",
        "",
        "| case | what must hold | tests |",
        "| --- | --- | --- |",
    ]
    for case, title in TITLES.items():
        tests = "<br>".join(f"`{test}`" for test in dict.fromkeys(found.get(case, ())))
        lines.append(f"| {case} | {title} | {tests or 'not covered yet: ' + ELSEWHERE.get(case, 'no test names it')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "CASES.md").write_text(document(), "utf-8")
