"""``python -m dashboards.build``: writes boards and rules; ``--check`` says whether the committed files are what would be written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from dashboards import grafana, rules, thresholds
from dashboards.boards import boards, find_panel
from dashboards.thresholds import Thresholds

HERE: Final = Path(__file__).parent


def files(numbers: Thresholds) -> Mapping[str, str]:
    """Every generated file by its path below ``dashboards/``."""
    found = boards(numbers)
    panel_id = partial(find_panel, found)
    return {
        **{f"json/{board.key}.json": grafana.resource(board) for board in found},
        "rules/recording.yml": rules.recording_file(numbers),
        "rules/alerts.yml": rules.alerts_file(numbers, panel_id),
        "rules/meaning.json": rules.meaning_file(numbers),
    }


def stale(content: Mapping[str, str], folder: Path) -> list[str]:
    """The files that are missing or differ."""
    return [name for name, text in content.items() if not (folder / name).is_file() or (folder / name).read_text() != text]


def write(content: Mapping[str, str], folder: Path) -> None:
    """Writes all files."""
    for name, text in content.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; 1 when ``--check`` found files that are out of date."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.build", description="Builds dashboards and alert rules.")
    parser.add_argument("--check", action="store_true", help="write nothing, say which files are out of date")
    parser.add_argument("--thresholds", type=Path, default=thresholds.FILE, help="other numbers than dashboards/thresholds.yml")
    parser.add_argument("--out", type=Path, default=HERE, help="where to write; dashboards/ unless given")
    options = parser.parse_args(arguments)
    try:
        content = files(thresholds.load(options.thresholds))
    except ValueError as error:
        print(f"{options.thresholds}: {error}", file=sys.stderr)
        return 2
    if not options.check:
        write(content, options.out)
        return 0
    old = stale(content, options.out)
    for name in old:
        print(f"{options.out / name} is out of date: run python -m dashboards.build", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
