"""The names that are not facts of a record: scope, schema URL, resource, and attributes that metrics alone have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from otel_agent.fields import IDENTIFIER, TOOL, WORD
from otel_agent.records import RECORDS
from otel_agent.records.metrics import METRIC_ONLY, METRICS, OLDER, Metric
from schema.shapes import Shape, merged

SCOPE_NAME: Final = "otel_agent"
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
"""The development channel of the GenAI conventions; to be set to the URL of their release once that is published."""
REGISTRY_URL: Final = "https://otel-agent.invalid/schemas/otel-agent/0.1.0"
"""Names our registry to Weaver and nobody else: a domain that cannot exist."""

_VERSION: Final = r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$"
LANGUAGES: Final = (
    "cpp", "dotnet", "erlang", "go", "java", "nodejs", "php", "python", "ruby", "rust", "swift", "webjs",
)  # fmt: skip

RESOURCE: Final[Mapping[str, tuple[str, Shape]]] = {
    "service.name": ("Name of the service.", Shape("string", pattern=IDENTIFIER)),
    "service.namespace": ("Group the service belongs to.", Shape("string", pattern=IDENTIFIER)),
    "service.version": ("Version of the service.", Shape("string", pattern=_VERSION)),
    "service.instance.id": ("Id of this instance of the service.", Shape("string", pattern=IDENTIFIER)),
    "deployment.environment.name": ("Deployment environment, such as production.", Shape("string", pattern=IDENTIFIER)),
    "telemetry.sdk.name": ("Name of the telemetry SDK.", Shape("string", pattern=WORD)),
    "telemetry.sdk.language": ("Language of the telemetry SDK.", Shape("string", LANGUAGES)),
    "telemetry.sdk.version": ("Version of the telemetry SDK.", Shape("string", pattern=_VERSION)),
    "telemetry.distro.name": ("Name of the distribution of it.", Shape("string", pattern=TOOL)),
    "telemetry.distro.version": ("Version of that.", Shape("string", pattern=_VERSION)),
}
"""What a resource may say. No host, process or owner: command lines hold secrets, and the service's own names do."""


@cache
def metric_attributes() -> dict[str, tuple[str, Shape]]:
    """Meaning and shape of every attribute of a metric, sorted. Raises ``KeyError`` for one that nothing declares."""
    declared = {name: (item.brief, item.shape) for name, item in merged(RECORDS).items()} | _metric_only()
    used = {name for metric in all_metrics() for name in metric.attributes}
    return {name: declared[name] for name in sorted(used)}


def _metric_only() -> dict[str, tuple[str, Shape]]:
    return {name: (brief, _shape(values)) for name, (brief, values) in METRIC_ONLY.items()}


def _shape(values: tuple[str, ...] | str) -> Shape:
    return Shape("string", pattern=values) if isinstance(values, str) else Shape("string", values)


def all_metrics() -> tuple[Metric, ...]:
    """Metrics of both sets of names."""
    return (*METRICS, *OLDER)


@cache
def own_attributes() -> dict[str, tuple[str, Shape]]:
    """Meaning and shape of every attribute our scope may set on any signal, sorted."""
    facts = {name: (item.brief, item.shape) for name, item in merged(RECORDS).items()}
    return dict(sorted((facts | metric_attributes()).items()))
