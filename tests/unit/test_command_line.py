"""The command line explains itself."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from otel_agent.cli import parser


def verbs() -> Mapping[str, argparse.ArgumentParser]:
    """Each verb's own parser."""
    found = next(action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    assert isinstance(found, Mapping)
    return found


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_and_every_argument_is_explained(verb: str) -> None:
    """Also where one verb's help is all that is looked at: the line in the list of verbs is not shown there."""
    one = verbs()[verb]
    assert one.description
    assert [action.dest for action in one._actions if not action.help] == []
    assert one.description in " ".join(one.format_help().split())


CLI = (sys.executable, "-m", "otel_agent.cli")


@pytest.mark.parametrize("arguments", [("doctor", "--json"), ("economics", "--prefix", "3000", "--growth", "950", "--turns", "12")])
def test_a_reader_that_leaves_is_no_failure(arguments: tuple[str, ...]) -> None:
    """``otel-agent ... | head``: no traceback, and the exit code that a shell gives other programs for it."""
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run([*CLI, *arguments], stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")
