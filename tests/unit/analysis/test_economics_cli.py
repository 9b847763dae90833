"""The verb: a plan, a recorded run, and what it refuses."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from otel_agent.analysis import economics_cli

TURNS = [{"turn": number, "input_tokens": 100 * number, "output_tokens": 5, "request_model": "m"} for number in (1, 2, 3)]


def read(arguments: argparse.Namespace) -> Mapping[str, Any] | None:
    """A store with one run."""
    return {"turn_records": TURNS} if arguments.run == "r1" else None


def call(*words: str) -> int:
    """The verb with these words."""
    parser = argparse.ArgumentParser()
    economics_cli.add_arguments(parser)
    return economics_cli.run(parser.parse_args(words), read)


def test_a_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The example of the documentation."""
    assert call("--prefix", "3000", "--growth", "950", "--turns", "12", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["input_tokens"] == 98_700
    assert printed["half"] == {"turns": 6, "input_tokens": 32_250, "saved_share": 0.6733}


def test_a_recorded_run_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """With its projection."""
    assert call("r1", "--turns", "10") == 0
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    shown = {words[1]: words[-1].strip() for words in lines if len(words) > 2}
    assert (shown["input of 10 turns"], shown["growth per turn"]) == ("5,500", "100")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "missing: --prefix, --growth, --turns"),
        (("--prefix", "1"), "missing: --growth, --turns"),
        (("r2",), "there is no run r2; otel-agent runs lists them"),
        (("r1", "--prefix", "1"), "plan a run"),
        (("r1", "--prices", "/nowhere/prices.toml"), "economics: /nowhere/prices.toml: the file cannot be read\n"),
    ],
)
def test_what_cannot_be_answered_says_why(words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit code 2."""
    assert call(*words) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "9" * 20, ""])
def test_a_number_that_is_none_is_refused(text: str) -> None:
    """By the parser of the command line."""
    with pytest.raises(SystemExit):
        call("--prefix", text, "--growth", "1", "--turns", "1")


def test_prices_of_models_the_run_did_not_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said, not shown as nothing to pay."""
    path = tmp_path / "prices.toml"
    path.write_text("[models.other]\ninput = 1\noutput = 1\n")
    assert call("r1", "--prices", str(path)) == 2
    assert "lists no model of this run" in capsys.readouterr().err


def test_a_plan_takes_the_only_model_or_the_one_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With several and no name, it lists them."""
    words = (
        "--prefix",
        "3000",
        "--growth",
        "950",
        "--turns",
        "12",
        "--json",
        "--prices",
        str(tmp_path / "prices.toml"),
    )
    (tmp_path / "prices.toml").write_text("[models.a]\ninput = 10\noutput = 1\n")
    assert call(*words) == 0
    assert json.loads(capsys.readouterr().out)["bill"]["input"] == 0.987
    (tmp_path / "prices.toml").write_text("[models.a]\ninput = 10\noutput = 1\n[models.b]\ninput = 20\noutput = 1\n")
    assert call(*words) == 2
    assert "a, b" in capsys.readouterr().err
    assert call(*words, "--model", "b") == 0
    assert json.loads(capsys.readouterr().out)["bill"]["input"] == 1.974


TOLD = {
    "1": ("a run of 1 turn", "input of 1 turn"),
    "2": ("a run of 2 turns", "input of 1 turn"),
    "4": ("a run of 4 turns", "input of 2 turns"),
}


@pytest.mark.parametrize("turns", TOLD)
def test_one_turn_is_told_as_one(turns: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan, and half of it."""
    assert call("--prefix", "30", "--growth", "9", "--turns", turns) == 0
    lines = capsys.readouterr().out.splitlines()
    run, half = TOLD[turns]
    assert lines[0] == run
    assert [line.split("  ")[1] for line in lines if line.startswith("  input of ")] == [half]


@pytest.mark.parametrize(("turns", "told"), [("1", "input of 1 turn"), ("10", "input of 10 turns"), ("1000", "input of 1,000 turns")])
def test_a_projection_to_one_turn_is_told_as_one(turns: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a recorded run."""
    assert call("r1", "--turns", turns) == 0
    assert told in [line.split("  ")[1] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize(("models", "told"), [(("m", "x", "m"), "1 turn has no price"), (("m", "x", "x"), "2 turns have no price")])
def test_one_turn_without_a_price_is_told_as_one(
    models: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the models that the list of prices leaves out."""
    path = tmp_path / "prices.toml"
    path.write_text("[models.m]\ninput = 1\noutput = 1\n")
    parser = argparse.ArgumentParser()
    economics_cli.add_arguments(parser)
    turns = [{**turn, "request_model": model} for turn, model in zip(TURNS, models, strict=True)]
    assert economics_cli.run(parser.parse_args(["r1", "--prices", str(path)]), lambda _: {"turn_records": turns}) == 0
    assert f"{told} or no usage: x" in capsys.readouterr().out
