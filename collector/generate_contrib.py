"""Writes the guard for the stock contrib image from the allow-list: ``python collector/generate_contrib.py ALLOWLIST OUT``.

The stock processors cannot do all that our own processor does. What they do is generated here (``filter`` for names,
``transform`` for keys and texts, ``redaction`` for values); what they leave open is listed in collector/README.md and
tested. Standard library only: ``make generate`` runs this wherever Python is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HEAD = """\
# Generated from schema/allowlist.json by collector/generate_contrib.py. Do not edit: make generate.
# The guard of the stock contrib image; give it beside agent.yaml or gateway.yaml of this folder. Its limits: ../README.md.
"""
SEVERITY = "^((TRACE|DEBUG|INFO|WARN|ERROR|FATAL)[2-4]?)?$"
UNIT = "^[A-Za-z0-9{}/%._-]{0,32}$"
VERSION = "^[0-9A-Za-z.+_-]{0,32}$"
SCHEMA_URL = "^(https://opentelemetry\\.io/schemas/[A-Za-z0-9./_-]{1,64})?$"
WHITE_SPACE = r"(?s)^.*\s.*$"  # a value with white space is prose: no value of ours has any
TOO_LONG = "^(?s).{257,}$"

Allowlist = Mapping[str, Any]


def quoted(text: str) -> str:
    """An OTTL string. A dollar is doubled, since the collector expands variables in its files first."""
    return json.dumps(text, ensure_ascii=True).replace("$", "$$")


def listed(texts: Iterable[str]) -> str:
    """An OTTL list of strings."""
    return f"[{', '.join(quoted(text) for text in sorted(texts))}]"


def one_of(texts: Iterable[str]) -> str:
    """A pattern that matches any of the texts and nothing else."""
    return f"^({'|'.join(re.escape(text) for text in sorted(texts))})$"


def matches(path: str, pattern: str) -> str:
    """An OTTL condition: the path holds a string that fits."""
    return f"IsMatch({path}, {quoted(pattern)})"


def is_own(rules: Allowlist) -> str:
    """An OTTL condition: the scope is the project's own."""
    return matches("scope.name", one_of(rules["scopes"]["own"]))


def resource_and_scope(rules: Allowlist) -> list[dict[str, Any]]:
    """Statements that all signals share; each group has one context."""
    own = is_own(rules)
    known = f"{own} or {matches('scope.name', rules['scopes']['foreign_pattern'])}"
    return [
        group(
            f"keep_keys(resource.attributes, {listed(rules['resource']['attributes'])})",
            f'set(resource.schema_url, "") where not {matches("resource.schema_url", SCHEMA_URL)}',
        ),
        group(
            f'set(scope.schema_url, "") where not {matches("scope.schema_url", SCHEMA_URL)}',
            'delete_matching_keys(scope.attributes, ".*")',
            f'set(scope.version, "") where not ({own}) or not {matches("scope.version", VERSION)}',
            f'set(scope.name, "other") where not ({known})',
        ),
    ]


def group(*statements: str) -> dict[str, Any]:
    """Statements of one context."""
    return {"statements": list(statements)}


def kept(path: str, rules: Allowlist, part: str) -> list[str]:
    """Attributes by scope: ours by our list, others by theirs."""
    own = is_own(rules)
    return [
        f"keep_keys({path}, {listed(rules['own'][part]['attributes'])}) where {own}",
        f"keep_keys({path}, {listed(rules['foreign'][part]['attributes'])}) where not ({own})",
    ]


def span_statements(rules: Allowlist) -> list[dict[str, Any]]:
    """What is done to spans."""
    own, name = is_own(rules), matches("span.name", rules["own"]["span"]["name"])
    operation = 'span.attributes["gen_ai.operation.name"]'
    operations = rules["own"]["span"]["attributes"].get("gen_ai.operation.name", {}).get("enum", ["chat"])
    heads = one_of(rules["foreign"]["span"]["name_heads"]).replace(")$", ")( |$)")
    return [
        *resource_and_scope(rules),
        group(
            *kept("span.attributes", rules, "span"),
            f"set(span.name, {operation}) where {own} and not {name} and {matches(operation, one_of(operations))}",
            f'set(span.name, "redacted") where {own} and not {name}',
            f'set(span.name, "span") where not ({own}) and not {matches("span.name", heads)}',
            f'replace_pattern(span.name, {quoted("(?s) .*$")}, "") where not ({own})',
            'set(span.status.message, "")',
            'set(span.trace_state, "")',
        ),
        group(
            'keep_keys(spanevent.attributes, ["exception.type"])',
            'set(spanevent.name, "event") where spanevent.name != "exception"',
        ),
    ]


def metric_statements(rules: Allowlist) -> list[dict[str, Any]]:
    """What is done to metrics."""
    return [
        *resource_and_scope(rules),
        group(
            'set(metric.description, "")',
            f'set(metric.unit, "") where not {matches("metric.unit", UNIT)}',
            'delete_matching_keys(metric.metadata, ".*")',
        ),
        group(*kept("datapoint.attributes", rules, "metric")),
        group('delete_matching_keys(exemplar.filtered_attributes, ".*")'),
    ]


def log_statements(rules: Allowlist) -> list[dict[str, Any]]:
    """What is done to log records."""
    own = is_own(rules)
    odd = f"not ({own}) and not {matches('log.event_name', rules['scopes']['foreign_pattern'])}"
    return [
        *resource_and_scope(rules),
        group(
            *kept("log.attributes", rules, "log"),
            'set(log.body, "")',
            f'set(log.event_name, "") where {odd}',
            f'set(log.severity_text, "") where not {matches("log.severity_text", SEVERITY)}',
        ),
    ]


def filters(rules: Allowlist) -> dict[str, Any]:
    """Whole records that must not pass: our scope under a name that we do not know, others' metrics with odd names."""
    own = is_own(rules)
    event = matches("log.event_name", one_of(rules["own"]["log"]["event_names"]))
    metric = matches("metric.name", one_of(rules["own"]["metric"]["names"]))
    foreign = matches("metric.name", rules["foreign"]["metric"]["name"])
    return {
        "error_mode": "propagate",
        "log_conditions": [f"{own} and not {event}"],
        "metric_conditions": [f"{own} and not {metric}", f"not ({own}) and not {foreign}"],
    }


def keys(rules: Allowlist) -> list[str]:
    """Every key that may stand anywhere: redaction knows one list for all places."""
    parts = [rules["own"][part] for part in ("span", "log", "metric")] + [rules["foreign"][part] for part in ("span", "log", "metric")]
    return sorted({"exception.type"}.union(rules["resource"]["attributes"], *(part["attributes"] for part in parts)))


def guard(rules: Allowlist) -> dict[str, Any]:
    """The whole configuration: both processors and where they stand."""
    redaction = {
        "allow_all_keys": False,
        "allowed_keys": keys(rules),
        "blocked_values": [text.replace("$", "$$") for text in (WHITE_SPACE, TOO_LONG)],
        "redact_all_types": True,
        "summary": "silent",
    }
    transform = {
        "error_mode": "propagate",
        "trace_statements": span_statements(rules),
        "metric_statements": metric_statements(rules),
        "log_statements": log_statements(rules),
    }
    return {"processors": {"filter/guard": filters(rules), "transform/guard": transform, "redaction/guard": redaction}}


def main(source: str, target: str) -> None:
    """JSON is YAML, and needs no library to be written."""
    rules = json.loads(Path(source).read_text())
    Path(target).write_text(HEAD + json.dumps(guard(rules), indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
