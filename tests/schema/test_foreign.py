"""What other instrumentations say of their own accord: the structure passes, the content does not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from schema import allowlist

SPAN = allowlist.document()["foreign"]["span"]
tracing = pytest.importorskip("anthropic._tracing", reason="this version of the anthropic package has no tracing of its own")

LEFT_OUT = {
    "anthropic.organization.id", "anthropic.workspace.id", "anthropic.session.thread.id", "anthropic.session.environment.id",
}  # fmt: skip
"""Ids of the account and of hosted sessions: nothing we ship reads them."""

CALLS = ("anthropic.messages.create", "anthropic.messages.count_tokens", "anthropic.sessions.create")


def set_by_the_package() -> set[str]:
    """Attributes that the anthropic package sets without being asked for content."""
    found = {*tracing.CLIENT_ATTRIBUTES, *tracing.RESPONSE_HEADER_ATTRIBUTES}
    for table in tracing.SPAN_ATTRIBUTES.values():
        for part in ("constants", "request", "request_headers", "response"):
            found |= set(table.get(part, {}))
    return found


def test_facts_of_the_anthropic_package_pass() -> None:
    """Its scope, its span names and every attribute that is a fact."""
    assert set_by_the_package() - set(SPAN["attributes"]) == LEFT_OUT & set_by_the_package()
    assert re.fullmatch(allowlist.document()["scopes"]["foreign_pattern"], tracing.INSTRUMENTATION_SCOPE)
    assert set(CALLS) <= set(SPAN["name_heads"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gen_ai.request.model", "claude-opus-4-1"),
        ("gen_ai.response.id", "msg_01XFDUDYJgAACzvnptvVoYEL"),
        ("anthropic.beta", "context-1m-2025-08-07"),
        ("anthropic.request.id", "req_011CSHoEeqs5C35K2UUqR7Fy"),
        ("anthropic.message.stop_reason", "end_turn"),
        ("http.route", "/v1/messages"),
        ("server.address", "api.anthropic.com"),
        ("error.type", "429"),
        ("error.type", "httpx.ConnectTimeout"),
    ],
)
def test_ordinary_values_fit(name: str, value: str) -> None:
    """A pattern that is too tight loses facts in silence."""
    spec: dict[str, Any] = SPAN["attributes"][name]
    assert re.fullmatch(spec["pattern"], value)
