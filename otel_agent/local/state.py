"""The state file beside the database: how readers find the process that holds it. Private to its owner, since it holds a token."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from otel_agent.local.settings import LAST_PORT

SUFFIX: Final = ".server.json"
FILE_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Running:
    """A receiver that holds the database: where it answers, and the token its queries need."""

    pid: int
    host: str
    port: int
    token: str


def real(path: Path) -> Path:
    """The file itself, behind links: whoever comes by another name must find the same log and the same state file beside it."""
    return Path(os.path.realpath(path))


def state_path(database: Path) -> Path:
    """Where the state file of a database is."""
    database = real(database)
    return database.with_name(database.name + SUFFIX)


def write(database: Path, running: Running) -> None:
    """Replace the state file in one step, never readable by others."""
    path = state_path(database)
    fresh = path.with_name(f"{path.name}.{running.pid}")
    fresh.touch(mode=FILE_MODE)
    fresh.chmod(FILE_MODE)  # a file of that name may have been left behind
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(asdict(running), file)
    fresh.replace(path)


def read(database: Path) -> Running | None:
    """What the state file says; ``None`` when there is none or it is not readable. The process may have died since."""
    try:
        found = Running(**json.loads(state_path(database).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return found if _is_sound(found) else None


def _is_sound(found: Running) -> bool:
    texts = all(isinstance(text, str) and text.isascii() and text.isprintable() for text in (found.host, found.token))
    return texts and type(found.port) is int and 0 < found.port <= LAST_PORT


def remove(database: Path) -> None:
    """Remove the state file when the receiver ends."""
    state_path(database).unlink(missing_ok=True)
