"""The file of prices: every fault names its field."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from otel_agent.analysis.prices import PricesError, load

GOOD = """
currency = "EUR"
[models."a-model-1.5"]
input = 2.5
output = 10
cached_input = 0.25
"""


def written(tmp_path: Path, text: str) -> Path:
    """A file of prices."""
    path = tmp_path / "prices.toml"
    path.write_text(text)
    return path


def test_a_good_file_is_read_exactly(tmp_path: Path) -> None:
    """As decimals; what it does not say is absent."""
    price = load(written(tmp_path, GOOD)).models["a-model-1.5"]
    assert (price.input, price.output, price.cached_input, price.cache_write) == (
        Decimal("2.5"),
        10,
        Decimal("0.25"),
        None,
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "models is missing"),
        ("models = 3", "models is missing"),
        ("currency = 3\n[models.m]\ninput = 1\noutput = 1", "currency must be a short text"),
        ('currency = "\\u001b[31m"\n[models.m]\ninput = 1\noutput = 1', "currency must be a short text"),
        ("[models]\nm = 3", "models.m must be a table"),
        ("[models.m]\ninput = 1", "models.m.output is missing"),
        ("[models.m]\ninput = 1\noutput = '2'", "models.m.output must be a number"),
        ("[models.m]\ninput = true\noutput = 2", "models.m.input must be a number"),
        ("[models.m]\ninput = -1\noutput = 2", "models.m.input must be a finite number"),
        ("[models.m]\ninput = nan\noutput = 2", "models.m.input must be a finite number"),
        ("[models.m]\ninput = 1\noutput = 2\ncache = 1", "models.m.cache is no price"),
        ("[models.gpt-5.5]\ninput = 1\noutput = 2", "models.gpt-5.5 is no price"),
        ("[models.m]\ninput = 1e999999999\noutput = 2", "models.m.input must be a finite number"),
        ("[models.m]\ninput = 1000000001\noutput = 2", "from zero to 1,000,000,000"),
        ("[models.m]\ninput = " + "9" * 5000 + "\noutput = 2", "is no TOML"),
        ("a = " + "[" * 100_000, "is no TOML"),
        ("[models.m", "is no TOML"),
    ],
)
def test_a_fault_names_its_field(tmp_path: Path, text: str, named: str) -> None:
    """So that it can be mended."""
    with pytest.raises(PricesError) as caught:
        load(written(tmp_path, text))
    assert named in caught.value.problem


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Named by its path."""
    with pytest.raises(PricesError, match="cannot be read"):
        load(tmp_path / "none.toml")


def test_a_price_that_is_needed_and_missing_is_named(tmp_path: Path) -> None:
    """Only when there are such tokens."""
    price = load(written(tmp_path, GOOD)).models["a-model-1.5"]
    assert price.input_cost(10, 10, 0) == Decimal("0.0000025")
    with pytest.raises(PricesError) as caught:
        price.input_cost(10, 0, 1)
    assert caught.value.problem.startswith("models.a-model-1.5.cache_write is missing")
