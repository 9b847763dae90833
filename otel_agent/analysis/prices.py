"""Prices, from a file the user gives and from nowhere else.

```toml
currency = "USD"                      # optional, shown as it stands
[models."a-model"]                    # the name as asked for, or as the provider returned it
input = 3.0                           # per million tokens
cached_input = 0.3                    # needed when a run read from the cache
cache_write = 3.75                    # needed when a run wrote to it
output = 15.0
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

MILLION: Final = Decimal(1_000_000)
HIGHEST: Final = Decimal(1_000_000_000)
"""In any currency: a thousand for one token. Sums of what is below it stay exact."""
NEEDED: Final = ("input", "output")
FIELDS: Final = (*NEEDED, "cached_input", "cache_write")


class PricesError(ValueError):
    """The file of prices cannot be used. ``problem`` names the field and the remedy."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of one model, per million tokens. ``None``: the file does not say."""

    model: str
    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None

    def input_cost(self, tokens: int, cached: int, written: int) -> Decimal:
        """Price of an input of which ``cached`` were read from the cache and ``written`` to it."""
        fresh = max(tokens - cached - written, 0)
        parts = ((fresh, "input"), (cached, "cached_input"), (written, "cache_write"))
        return sum((amount * self.of(field) for amount, field in parts if amount), Decimal()) / MILLION

    def output_cost(self, tokens: int) -> Decimal:
        """Price of an output, reasoning included."""
        return tokens * self.output / MILLION

    def of(self, field: str) -> Decimal:
        """One price that is needed now. Raises :class:`PricesError` when the file does not give it."""
        found: Decimal | None = getattr(self, field)
        if found is None:
            raise PricesError(f"models.{self.model}.{field} is missing, and the run has such tokens")
        return found


@dataclass(frozen=True, slots=True)
class Prices:
    """The whole file."""

    models: Mapping[str, Price]
    currency: str | None = None

    def find(self, *names: str | None) -> Price | None:
        """The price of the first of these names that the file lists."""
        return next((self.models[name] for name in names if name is not None and name in self.models), None)


def load(path: Path) -> Prices:
    """Read a file of prices. Raises :class:`PricesError` that names the field, or says that the file cannot be read."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError:
        raise PricesError("the file cannot be read") from None
    except (ValueError, RecursionError):  # no TOML, no UTF-8, a number of thousands of digits, a list without bottom
        raise PricesError("the file is no TOML") from None
    return parse(document)


def parse(document: Mapping[str, Any]) -> Prices:
    """Prices of a parsed file. Raises :class:`PricesError`."""
    currency, models = document.get("currency"), document.get("models")
    if currency is not None and not (isinstance(currency, str) and currency.isprintable() and len(currency) <= 16):
        raise PricesError('currency must be a short text, such as "USD"')
    if not isinstance(models, dict) or not models:
        raise PricesError("models is missing: the file needs a table [models.NAME] for each model")
    return Prices({name: _price(name, table) for name, table in models.items()}, currency)


def _price(model: str, table: Any) -> Price:
    if not isinstance(table, dict):
        raise PricesError(f"models.{model} must be a table with {' and '.join(NEEDED)}; quote a name that has dots in it")
    for field in table:
        if field not in FIELDS:
            known = ", ".join(FIELDS)
            raise PricesError(f"models.{model}.{field} is no price; the fields are {known} (quote a name that has dots in it)")
    for field in NEEDED:
        if field not in table:
            raise PricesError(f"models.{model}.{field} is missing")
    return Price(model, **{field: _amount(f"models.{model}.{field}", value) for field, value in table.items()})


def _amount(field: str, value: Any) -> Decimal:
    """A price as a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise PricesError(f"{field} must be a number (money per million tokens), not {type(value).__name__}")
    amount = Decimal(value)
    if not amount.is_finite() or not 0 <= amount <= HIGHEST:
        raise PricesError(f"{field} must be a finite number from zero to {HIGHEST:,} (money per million tokens)")
    return amount
