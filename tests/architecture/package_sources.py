"""The package's modules as syntax trees, and what they import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = "otel_agent"


@dataclass(frozen=True)
class Import:
    """One imported name: ``target`` is dotted, as far as the statement says."""

    target: str
    line: int
    for_types_only: bool


@dataclass(frozen=True)
class Module:
    """One module: its dotted name and its source."""

    name: str
    source: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.source)

    @cached_property
    def imports(self) -> list[Import]:
        """Everything imported, at any depth."""
        typed = set(_typing_only(self.tree))
        return [
            Import(target, node.lineno, node in typed)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for target in self._targets(node)
        ]

    def _targets(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        base = self._base(node)
        return [f"{base}.{alias.name}" for alias in node.names]

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def within(self, *rooms: str) -> bool:
        """Whether the module is one of these rooms (``emit``, ``records.fact``) or inside one."""
        return any(is_in(self.name, f"{PACKAGE}.{room}") for room in rooms)


def is_in(name: str, room: str) -> bool:
    """Whether a dotted name is ``room`` or below it."""
    return name == room or name.startswith(f"{room}.")


def _typing_only(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.body:
                yield from ast.walk(statement)


def _read(path: Path) -> Module:
    parts = path.relative_to(TOP).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    return Module(".".join(parts[:-1] if is_package else parts), path.read_text(encoding="utf-8"), is_package)


def modules() -> list[Module]:
    """Every module of the package."""
    return [_read(path) for path in sorted((TOP / PACKAGE).rglob("*.py"))]
