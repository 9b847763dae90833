"""Counting instructions instead of time: the same figure on a busy machine as on an idle one.

The benchmark runs itself under valgrind's callgrind, which counts only between two *client requests*: a sequence of instructions that does
nothing on a processor and that valgrind understands (valgrind manual, "The Client Request mechanism"). So start-up costs nothing. Counts
say nothing of caches and of waiting, which is why time is what the targets are stated in.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.rig import Gauge

_TOOL = ord("C") << 24 | ord("T") << 16
_ZERO, _DUMP, _START, _STOP = _TOOL + 1, _TOOL + 3, _TOOL + 4, _TOOL + 5
# mov rax, rdi; xor edx, edx; four rotations that add up to nothing; xchg rbx, rbx; mov rax, rdx; ret
_CODE = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")


def under_valgrind(options: list[str]) -> int:
    """Run the benchmark again, counted. Takes a few minutes."""
    valgrind = shutil.which("valgrind")
    if valgrind is None or platform.machine() != "x86_64":
        print("counting instructions needs valgrind, on x86-64", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as found:
        out = Path(found, "counts")
        tool = [valgrind, "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        return subprocess.call(
            [*tool, sys.executable, "-m", "tests.benchmarks", *options, "--counting", str(out)], stderr=subprocess.DEVNULL
        )


def gauge(out: Path) -> Gauge:
    """Counts as callgrind writes them beside ``out``. One round: they do not vary."""
    send = _sender()

    def counted(act: Callable[[], Any], repeat: int) -> float:
        send(_START)
        send(_ZERO)
        for _ in range(repeat):
            act()
        send(_DUMP, ctypes.create_string_buffer(b"block"))
        send(_STOP)
        return _written(out) / repeat

    return Gauge(counted, 1, "instructions")


def _sender() -> Callable[..., None]:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_CODE)
    code = ctypes.c_char.from_buffer(page)  # keeps the page mapped for as long as `send` refers to it
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)

    def send(request: int, text: Any = None) -> None:
        words = (ctypes.c_uint64 * 6)(request, 0 if text is None else ctypes.addressof(text))
        function(ctypes.addressof(code))(ctypes.addressof(words))

    return send


def _written(out: Path) -> int:
    """The count of the block just dumped."""
    counts = []
    for path in out.parent.glob(f"{out.name}*"):
        text = path.read_text()
        path.unlink()
        if "Client Request: block" in text:
            counts.append(int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)[1]))  # type: ignore[index]
    return counts[-1]
