"""Writes amounts as PromQL.

``increase()`` alone misses the first value of a new series: a counter that appears with value 1 and stays there has an increase of
0, so the first cycle, denial or truncation of a process would never be seen. Hence :func:`increased`: a series that did not exist
in the window before counts with its whole value. (Prometheus' feature ``created-timestamp-zero-ingestion`` mends the same for
plain ``increase()`` in panels; the rules hold without it.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dashboards import names
from dashboards.meaning import Amount, Where


def selector(name: str, where: Iterable[Where] = (), part: names.Part = "value", *extra: str) -> str:
    """Selects a metric of the vocabulary or a series of the pipeline. Raises ``ValueError`` for names or values nobody declares."""
    matchers = [matcher(name, condition) for condition in where]
    if name in names.PIPELINE:
        spelled = names.pipeline_selector(name)
        named = "" if spelled.startswith("__name__") else spelled
        matchers = ([] if named else [spelled]) + matchers
    else:
        named = names.series(name, part)
    inside = ", ".join([*matchers, *extra])
    return f"{named}{{{inside}}}" if inside else named


def matcher(name: str, where: Where) -> str:
    """One condition as a label matcher, checked against the metric's attributes and the attribute's closed set."""
    if where.attribute not in names.attributes(name):
        raise ValueError(f"{name} has no attribute {where.attribute}")
    _check_values(where)
    members = where.any_of or where.none_of
    sign = ("=" if where.any_of else "!=") if len(members) == 1 else ("=~" if where.any_of else "!~")
    return f'{names.label(where.attribute)}{sign}"{"|".join(members)}"'


def _check_values(where: Where) -> None:
    closed = names.values(where.attribute)
    odd = [value for value in (*where.any_of, *where.none_of) if value and closed is not None and value not in closed]
    if odd:
        raise ValueError(f"{where.attribute} is never {', '.join(odd)}")


def increased(selection: str, window: str) -> str:
    """The increase of each series within the window, the first value of a series that is absent from the window before included."""
    new = f"last_over_time({selection}[{window}]) unless last_over_time({selection}[{window}] offset {window})"
    return f"(({new}) or increase({selection}[{window}]))"


def amount(what: Amount, by: Sequence[str], window: str, edge: float | None = None) -> str:
    """An amount, summed by the attributes ``by``."""
    groups = grouping(by)
    parts = [_one(name, what, groups, window, edge) for name in what.metrics]
    if len(parts) == 1:
        return parts[0]
    # Two metrics may have the same labels, and `or` would then keep only the first: a label of their own keeps them apart.
    apart = [f'label_replace({part}, "summand", "{number}", "", "")' for number, part in enumerate(parts)]
    return f"sum by ({groups}) ({' or '.join(apart)})"


def _one(name: str, what: Amount, groups: str, window: str, edge: float | None) -> str:
    whole = f"sum by ({groups}) ({increased(selector(name, what.where, what.part), window)})"
    if not what.above:
        return whole
    below = increased(selector(name, what.where, "bucket", bucket(edge or 0)), window)
    return f"{whole} - sum by ({groups}) ({below})"


def bucket(edge: float) -> str:
    """The matcher of one bucket. OTLP writes a whole edge as 20, a scraped one as 20.0."""
    return f'le=~"{edge:g}([.]0)?"' if float(edge).is_integer() else f'le="{edge:g}"'


def grouping(by: Iterable[str]) -> str:
    """Attributes as a list of labels."""
    return ", ".join(names.label(attribute) for attribute in by)


def check_groups(name: str, by: Iterable[str]) -> None:
    """Raises ``ValueError`` when a metric cannot be told apart by one of the attributes."""
    foreign = [attribute for attribute in by if attribute not in names.attributes(name)]
    if foreign:
        raise ValueError(f"{name} has no attribute {', '.join(foreign)}")
