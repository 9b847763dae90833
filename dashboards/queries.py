"""PromQL of the panels. Every selection carries the board's variables for the attributes that its metric has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dashboards import names, promql
from dashboards.meaning import Where
from dashboards.panels import Metrics, Values
from dashboards.recording import recorded
from otel_agent import semconv as s

VARIABLES: Final = (
    Values("service", "Service", s.METRIC_OTEL_AGENT_TURNS, names.SERVICE),
    Values("agent", "Agent", s.METRIC_OTEL_AGENT_TURNS, s.GEN_AI_AGENT_NAME),
    Values("provider", "Provider", s.METRIC_OTEL_AGENT_TURNS, s.GEN_AI_PROVIDER_NAME),
    Values("model", "Model", s.METRIC_OTEL_AGENT_TURNS, s.GEN_AI_REQUEST_MODEL),
    Values("tool", "Tool", s.METRIC_OTEL_AGENT_TOOL_EXECUTIONS, s.GEN_AI_TOOL_NAME),
)
"""The variables of the metric boards. ``All`` matches an absent attribute too: a call outside a run has no agent."""

RATE: Final = "$__rate_interval"
RANGE: Final = "$__range"
_BY_ATTRIBUTE: Final[Mapping[str, str]] = {variable.attribute: variable.name for variable in VARIABLES}


def select(name: str, where: Sequence[Where] = (), part: names.Part = "value", *extra: str) -> str:
    """A metric under the board's variables."""
    return promql.selector(name, where, part, *_chosen(names.attributes(name)), *extra)


def _chosen(attributes: Sequence[str]) -> list[str]:
    return [f'{names.label(attribute)}=~"${name}"' for attribute, name in _BY_ATTRIBUTE.items() if attribute in attributes]


def _by(name: str, by: Sequence[str]) -> str:
    promql.check_groups(name, by)
    return f" by ({promql.grouping(by)})" if by else ""


def _legend(by: Sequence[str], label: str = "") -> str:
    """The groups' values. The service is left out: it is chosen above, and would fill every legend."""
    shown = " · ".join(f"{{{{{names.label(attribute)}}}}}" for attribute in by if attribute != names.SERVICE)
    return f"{shown} {label}".strip() if by else label


def per_minute(name: str, by: Sequence[str] = (), *where: Where, part: names.Part = "value", label: str = "") -> Metrics:
    """How often a minute; with ``part="sum"`` or a token counter, how much a minute."""
    expr = f"60 * sum{_by(name, by)} (rate({select(name, where, part)}[{RATE}]))"
    return Metrics(expr, _legend(by, label), exemplar=True)


def occurred(name: str, by: Sequence[str] = (), *where: Where) -> Metrics:
    """How many within the interval, the first value of a new series included: for what may happen once in a process's life."""
    return Metrics(f"sum{_by(name, by)} ({promql.increased(select(name, where), RATE)})", _legend(by))


def total(name: str, by: Sequence[str] = (), *where: Where, part: names.Part = "value", label: str = "") -> Metrics:
    """How many over the whole time range shown."""
    expr = f"sum{_by(name, by)} (increase({select(name, where, part)}[{RANGE}]))"
    return Metrics(expr, _legend(by, label), instant=True)


def quantile(share: float, name: str, by: Sequence[str]) -> Metrics:
    """A quantile of a histogram, estimated from its buckets."""
    groups = promql.grouping(by)
    promql.check_groups(name, by)
    expr = f"histogram_quantile({share:g}, sum by (le, {groups}) (rate({select(name, (), 'bucket')}[{RATE}])))"
    return Metrics(expr, _legend(by, f"p{share * 100:g}"), exemplar=True)


def quantiles(name: str, by: Sequence[str]) -> tuple[Metrics, Metrics]:
    """The median and the slow twentieth."""
    return quantile(0.5, name, by), quantile(0.95, name, by)


def share(part: str, whole: str, by: Sequence[str], part_where: Sequence[Where] = (), whole_where: Sequence[Where] = ()) -> Metrics:
    """One counter over another; zero where only the whole exists."""
    groups = promql.grouping(by)
    for name in (part, whole):
        promql.check_groups(name, by)
    over = f"sum by ({groups}) (rate({select(whole, whole_where)}[{RATE}]))"
    expr = f"(sum by ({groups}) (rate({select(part, part_where)}[{RATE}])) or 0 * {over}) / ({over} > 0)"
    return Metrics(expr, _legend(by))


def kept(key: str, kind: str, by: Sequence[str], label: str = "") -> Metrics:
    """What an alert reads: a recorded series, under the board's variables."""
    matchers = ", ".join(_chosen(by))
    return Metrics(f"{recorded(key, kind)}{{{matchers}}}" if matchers else recorded(key, kind), _legend(by, label))


def pipeline_per_minute(series: Sequence[str], by: Sequence[str]) -> tuple[Metrics, ...]:
    """Series of the pipeline, each with its name's end as label."""
    return tuple(Metrics(f"60 * sum{_by(name, by)} (rate({promql.selector(name)}[{RATE}]))", _legend(by, _tail(name))) for name in series)


def _tail(name: str) -> str:
    return " ".join(name.split("_")[2:])
