"""``make wheel``: build the wheel, install it alone into empty environments, and use it there.

Three tries: the bare install imports and knows its verbs, and pulls in no SDK; the demo works from the bare install (it fetches what it
needs into a cache folder of its own); the extra ``demo`` brings everything.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

BARE = """
import sys, otel_agent
heavy = sorted(name for name in ("anthropic", "openai", "duckdb", "pyarrow", "starlette", "rich") if name in sys.modules)
assert not heavy, heavy
report = otel_agent.instrument(settings=otel_agent.Settings(exporters=dict.fromkeys(("traces", "metrics", "logs"), "none")))
assert report.absent == ("anthropic", "openai") and not report.covered, report
otel_agent.uninstrument()
print("bare import: fine")
"""


def say(text: str) -> None:
    """Progress."""
    print(f"wheel: {text}", flush=True)


def run(*command: str | Path, **environment: str) -> str:
    """Run a command in an empty folder; its output. Raises when it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PYTHON", "VIRTUAL_ENV"))}
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=empty,
            env={**kept, **environment},
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    if done.returncode != 0:
        print(done.stdout)
        raise SystemExit(f"wheel: {' '.join(str(part) for part in command[:4])} ... ended with code {done.returncode}")
    return done.stdout


def build(folder: Path) -> Path:
    """The wheel, built from this checkout."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl"))


def environment(folder: Path, *requirements: str) -> Path:
    """An empty environment with the wheel; its folder of programs."""
    venv.create(folder, with_pip=True, clear=True)
    programs = folder / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)
    return programs


def main() -> int:
    """Build and try."""
    with tempfile.TemporaryDirectory(prefix="otel-agent-wheel-") as name:
        folder = Path(name)
        wheel = build(folder)
        say(f"built {wheel.name}, {wheel.stat().st_size:,} bytes")
        bare = environment(folder / "bare", str(wheel))
        say(run(bare / "python", "-c", BARE).strip())
        for verb in ("--help", "demo", "run", "local", "runs", "show", "economics", "doctor", "digest"):
            run(bare / "otel-agent", *([verb] if verb == "--help" else [verb, "--help"]))
        say("every verb has its help")
        output = run(bare / "otel-agent", "demo", XDG_CACHE_HOME=str(folder / "cache"))
        say(output.strip().splitlines()[-1])
    say("works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
