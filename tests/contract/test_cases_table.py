"""The table of cases speaks of tests that are there."""

from __future__ import annotations

import re

from tests import cases


def test_every_named_test_exists() -> None:
    """A renamed test is renamed in the table too; every case has a test or a reason."""
    written = (cases.ROOT / "CASES.md").read_text("utf-8")
    there = {test for tests in cases.table().values() for test in tests}
    assert set(re.findall(r"`(tests/[^`]+)`", written)) <= there
    assert "no test names it" not in written
    assert set(cases.table()) <= set(cases.TITLES)
