"""The Weaver registries."""

from __future__ import annotations


def files() -> dict[str, str]:
    """Path to content."""
    return {}
