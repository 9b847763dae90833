"""Far ends: how each is asked how much of a verification has arrived, and for everything it can show of it.

Each counts our own records, one per model turn that was sent, and what arrived of other scopes. Searching is not done here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from otel_agent import semconv
from otel_agent.records.turn import ModelTurn
from otel_agent.verify.planting import SERVICE
from otel_agent.verify.web import CannotAsk, NotThere, Web

MODEL_TURN: Final = ModelTurn.event_name
OWN_SCOPE: Final = semconv.SCOPE_NAME
CLIENT: Final = (3, "SPAN_KIND_CLIENT")


@dataclass(frozen=True, slots=True)
class Arrived:
    """``turns``: records of model turns. ``others``: spans, log records or series of other scopes."""

    turns: int = 0
    others: int = 0


class FarEnd(Protocol):
    """A place where records end up."""

    @property
    def name(self) -> str:
        """As it is reported."""

    def check(self) -> None:
        """Raise :class:`CannotAsk` unless this is what it was said to be. Called before anything is sent."""

    def count(self, mark: str) -> Arrived:
        """What has arrived by now. Raises :class:`CannotAsk`."""

    def texts(self, mark: str) -> Iterator[bytes]:
        """Everything it shows of the verification. Raises :class:`CannotAsk`."""


class Store:
    """The file of ``otel-agent local``, held by a receiver that runs or by nobody."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = f"store {path}"

    def check(self) -> None:
        """It can be read."""
        self._rows("")

    def _rows(self, mark: str) -> dict[str, list[dict[str, Any]]]:
        from otel_agent.local import reader
        from otel_agent.local.store import StoreError

        try:
            return reader.sent_by(self._path, mark)
        except StoreError:
            raise CannotAsk(f"{self._path} cannot be read as a store of otel-agent local") from None

    def count(self, mark: str) -> Arrived:
        """Log records by event."""
        rows = [row for table in self._rows(mark).values() for row in table]
        return Arrived(
            sum(row.get("event_name") == MODEL_TURN for row in rows), sum(row["scope"] != OWN_SCOPE for row in rows if "trace_id" in row)
        )

    def texts(self, mark: str) -> Iterator[bytes]:
        """Every row of it, since a database compresses; and the bytes of the files, since what was freed is in no row."""
        yield json.dumps(self._rows(mark), default=str).encode()
        for file in sorted(self._path.parent.glob(f"{self._path.name}*")):
            if file.is_file():
                yield file.read_bytes()


class Jaeger:
    """Jaeger's query interface, version 3: the trace, and the names on its lists."""

    def __init__(self, url: str) -> None:
        self._web = Web(url)
        self.name = f"jaeger {self._web.address}"

    def check(self) -> None:
        """It lists services; one that has none yet answers with nothing in it."""
        answer = self._web.json("/api/v3/services")
        if not isinstance(answer, dict) or set(answer) - {"services"}:
            raise CannotAsk(f"{self._web.address} is not Jaeger's query interface (api/v3)")

    def count(self, mark: str) -> Arrived:
        """Spans of model calls, and of other scopes."""
        try:
            answer = self._web.json(f"/api/v3/traces/{mark}")
        except NotThere:
            return Arrived()
        spans = list(_spans(answer))
        turns = sum(scope == OWN_SCOPE and span.get("kind") in CLIENT for scope, span in spans)
        return Arrived(turns, sum(scope != OWN_SCOPE for scope, _ in spans))

    def texts(self, mark: str) -> Iterator[bytes]:
        """The trace in both forms, and all names. A trace that is not there is counted as such; it does not end the search."""
        yield from _optional(self._web, f"/api/v3/traces/{mark}")
        yield from _optional(self._web, f"/api/traces/{mark}")
        yield self._web.read("/api/v3/services")
        yield from _optional(self._web, "/api/v3/operations", {"service": SERVICE})


def _spans(answer: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for by_resource in answer.get("result", {}).get("resourceSpans", ()):
        for by_scope in by_resource.get("scopeSpans", ()):
            name = by_scope.get("scope", {}).get("name", "")
            yield from ((name, span) for span in by_scope.get("spans", ()))


def _optional(web: Web, path: str, parameters: Mapping[str, str] | None = None) -> Iterator[bytes]:
    """An answer that not every version or kind of server has. A server that fails to give what it has leaves the search unfinished."""
    try:
        yield web.read(path, parameters)
    except NotThere:
        return


class Prometheus:
    """Prometheus, or whatever speaks its query interface: series, labels, metadata and exemplars."""

    INSTANCE_LABELS: Final = ("instance", "exported_instance", "service_instance_id")

    def __init__(self, url: str) -> None:
        self._web = Web(url)
        self.name = f"prometheus {self._web.address}"

    def check(self) -> None:
        """It answers a query."""
        answer = self._web.json("/api/v1/query", {"query": "vector(1)"})
        if not isinstance(answer, dict) or answer.get("status") != "success":
            raise CannotAsk(f"{self._web.address} is not a query interface of Prometheus")

    def _selectors(self, mark: str) -> list[str]:
        return [f'{{{label}="{mark}"}}' for label in self.INSTANCE_LABELS]

    def count(self, mark: str) -> Arrived:
        """Turns by the counter of turns."""
        either = " or ".join(self._selectors(mark))
        result = self._web.json("/api/v1/query", {"query": either})["data"]["result"]
        named = [(series["metric"].get("__name__", ""), float(series["value"][1])) for series in result]
        turns = sum(value for name, value in named if name.startswith(f"{OWN_SCOPE}_turns"))
        return Arrived(int(turns), sum(name.startswith("http_client") for name, _ in named))

    def texts(self, mark: str) -> Iterator[bytes]:
        """Whatever it tells of our series, and every name and description that it knows."""
        always = {"start": "0", "end": "99999999999"}
        for selector in self._selectors(mark):
            yield self._web.read("/api/v1/series", {"match[]": selector, **always})
            yield from _optional(self._web, "/api/v1/query_exemplars", {"query": selector, **always})
        yield from _optional(self._web, "/api/v1/metadata")
        yield from _optional(self._web, "/api/v1/labels")


class Logs:
    """VictoriaLogs: records, streams and field names."""

    def __init__(self, url: str) -> None:
        self._web = Web(url)
        self.name = f"logs {self._web.address}"

    def check(self) -> None:
        """It answers a query."""
        self._web.read("/select/logsql/query", {"query": "_time:1s", "limit": "1"})

    def _query(self, mark: str) -> str:
        return f'_time:1d (trace_id:="{mark}" or "{semconv.SERVICE_INSTANCE_ID}":="{mark}")'

    def _records(self, mark: str) -> bytes:
        return self._web.read("/select/logsql/query", {"query": self._query(mark), "limit": "1000000"})

    def count(self, mark: str) -> Arrived:
        """Records by event; whatever does not name our scope is of others."""
        rows = [json.loads(line) for line in self._records(mark).splitlines() if line]
        return Arrived(sum(MODEL_TURN in row.values() for row in rows), sum(OWN_SCOPE not in row.values() for row in rows))

    def texts(self, mark: str) -> Iterator[bytes]:
        """The records, and the names."""
        yield self._records(mark)
        for question in ("streams", "field_names"):
            yield from _optional(self._web, f"/select/logsql/{question}", {"query": self._query(mark)})


def all_of(stores: Sequence[Path], jaegers: Sequence[str], prometheis: Sequence[str], logs: Sequence[str]) -> list[FarEnd]:
    """The far ends that were named, files apart."""
    return [*map(Store, stores), *map(Jaeger, jaegers), *map(Prometheus, prometheis), *map(Logs, logs)]
