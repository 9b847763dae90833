"""What the core install leaves out, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

EXTRAS: Final = {
    "local": ("duckdb", "pyarrow", "rich", "starlette", "uvicorn"),
    "demo": ("anthropic", "openai", "jsonschema", "duckdb", "pyarrow", "rich", "starlette", "uvicorn"),
}
"""Extra → the packages it brings, by import name."""


class MissingExtra(RuntimeError):
    """A verb needs packages that the core install leaves out. The message says how to install them."""


def missing(extra: str) -> list[str]:
    """Packages of ``extra`` that are not installed."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def need(extra: str) -> None:
    """Raise :class:`MissingExtra` unless all packages of ``extra`` are there."""
    if lacking := missing(extra):
        raise MissingExtra(f"this needs {', '.join(lacking)}; install them with: pip install 'otel-agent[{extra}]'")
