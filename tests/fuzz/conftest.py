"""``--fuzz-cases N``: how many cases per adapter the long run plays."""

from __future__ import annotations

import pytest

DEFAULT = 100_000
SHARD = 1_000
"""Cases of one test item: small enough that workers share the work evenly and progress is seen."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-cases", type=int, default=DEFAULT, help=f"cases per adapter in the long run ({DEFAULT:,})")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shard" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--fuzz-cases", DEFAULT)
        starts = range(0, wanted, SHARD)
        metafunc.parametrize("shard", [range(start, min(start + SHARD, wanted)) for start in starts], ids=[str(start) for start in starts])
