"""``schema/attributes.md``: the tables a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from otel_agent.records import RECORDS, Record
from otel_agent.records.metrics import METRIC_ONLY, METRICS, OLDER, Metric
from schema import names
from schema.shapes import Attribute, Shape, attributes

HEAD = """# Attributes, events and metrics

Generated from `otel_agent/records/` by `python -m schema.generate`; do not edit.

A string is a closed set, an identifier that fits its pattern, or a digest: nothing here can hold a sentence. *Always*
means that every record of the kind has the attribute; the others are absent when nobody said, and absent is not zero.
*Start* marks what is known when the span starts, where a sampler can see it. A value that does not fit is `_OTHER`.
"""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def values(shape: Shape) -> str:
    """What a shape allows, in words."""
    if shape.values:
        return f"{shape.type}: {_code(shape.values)}"
    return f"{shape.type}: `{shape.pattern}`" if shape.pattern else shape.type


def _row(attribute: Attribute) -> tuple[str, ...]:
    when = "always" if attribute.required else "when known"
    return f"`{attribute.name}`", values(attribute.shape), attribute.brief, when, "start" if attribute.start else ""


def _sentence(record: type[Record]) -> str:
    return (record.__doc__ or "").strip().splitlines()[0]


def _carriers(record: type[Record]) -> str:
    span = f"span `{record.span_operation}` and " if record.span_operation else ""
    return f"Carried by {span}log record `{record.event_name}`."


def _record(record: type[Record]) -> Iterator[str]:
    yield from ("", f"## {record.__name__}", "", f"{_sentence(record)} {_carriers(record)}", "")
    yield from _table(("attribute", "type and values", "meaning", "present", "set at"), map(_row, attributes(record)))


def _metric(metric: Metric) -> tuple[str, ...]:
    buckets = " ".join(f"{edge:.12g}" for edge in metric.buckets)
    return f"`{metric.name}`", metric.kind, f"`{metric.unit}`", metric.brief, _code(metric.attributes), buckets


def _metrics(title: str, metrics: Iterable[Metric]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from _table(("metric", "instrument", "unit", "meaning", "attributes", "bucket edges"), map(_metric, metrics))


def _pairs(title: str, found: Iterable[tuple[str, tuple[str, Shape]]]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from _table(
        ("attribute", "type and values", "meaning"),
        ((f"`{name}`", values(shape), brief) for name, (brief, shape) in found),
    )


def _lines() -> Iterator[str]:
    for record in RECORDS:
        yield from _record(record)
    yield from _metrics("Metrics", METRICS)
    yield from _metrics("Metrics under older names, sent beside the new ones on request", OLDER)
    yield from _pairs("Attributes of metrics alone", ((name, names.metric_attributes()[name]) for name in METRIC_ONLY))
    yield from _pairs("Resource attributes that the guards let through", names.RESOURCE.items())


def text() -> str:
    """The page."""
    return HEAD + "\n".join(_lines()) + "\n"
