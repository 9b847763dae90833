"""Write everything that follows from the records; with ``--check``, only say what is out of date.

Run from the top of the repository: ``python -m schema.generate``.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

REMEDY = "run: python -m schema.generate"


def stand_in_for_root() -> None:
    """Let the records be imported without the package's public surface.

    That surface imports the rest of the package, which needs the constants that are written here: after a fact is added
    or renamed, it cannot be imported until they are.
    """
    root = ModuleType("otel_agent")
    root.__path__ = [str(Path(__file__).resolve().parent.parent / "otel_agent")]
    sys.modules.setdefault(root.__name__, root)


def _outputs() -> Any:
    return import_module("schema.outputs")


def _write() -> int:
    print("\n".join(f"wrote {name}" for name in _outputs().write()) or "nothing to do")
    return 0


def _check() -> int:
    out_of_date = _outputs().stale()
    for name in out_of_date:
        print(f"out of date: {name}", file=sys.stderr)
    if out_of_date:
        print(REMEDY, file=sys.stderr)
    return bool(out_of_date)


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 when ``--check`` finds anything."""
    about = "Generate names, schemas, allow-list and registry."
    parser = argparse.ArgumentParser(prog="python -m schema.generate", description=about)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    return _check() if parser.parse_args(arguments).check else _write()


if __name__ == "__main__":
    stand_in_for_root()
    sys.exit(main())
