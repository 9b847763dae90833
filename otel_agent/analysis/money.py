"""A run in money, where the user's file of prices lists its models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from otel_agent.analysis.prices import Price, Prices
from otel_agent.analysis.rows import Row


@dataclass(frozen=True, slots=True)
class Bill:
    """Money, in the file's currency.

    ``resent``: the part of ``total`` that went for input read before. ``saved_by_caching``: what the same input would
    have cost more without a cache; negative when writing to it cost more than reading from it saved.
    """

    input: Decimal
    output: Decimal
    total: Decimal
    resent: Decimal
    saved_by_caching: Decimal
    turns_priced: int
    turns_unpriced: int = 0
    unpriced_models: tuple[str, ...] = ()
    currency: str | None = None


class Cost(NamedTuple):
    """Money of one turn, or of several. ``uncached``: its input at the full price."""

    input: Decimal = Decimal()
    output: Decimal = Decimal()
    resent: Decimal = Decimal()
    uncached: Decimal = Decimal()


def planned(price: Price, read: int, resent: int, output: int, turns: int, currency: str | None) -> Bill:
    """A planned run with a cache that holds all that was sent before (where the file has a price for cached input)."""
    cached = 0 if price.cached_input is None else resent
    written = 0 if price.cache_write is None or not cached else read - resent
    return _bill([_cost(price, read, output, cached, written, resent)], turns, currency=currency)


def of_turns(turns: Iterable[tuple[Row, int]], prices: Prices) -> Bill | None:
    """The bill of the turns whose model has a price and whose usage is known; ``None`` when there is no such turn.

    ``turns``: each with how many tokens of its input had been sent before.
    """
    found = [(turn, resent, prices.find(*_models(turn))) for turn, resent in turns]
    costs = [
        _turn(price, turn, resent)
        for turn, resent, price in found
        if price is not None and {"input_tokens", "output_tokens"} <= turn.keys()
    ]
    unknown = {next(filter(None, _models(turn)), "unknown") for turn, _, price in found if price is None}
    return _bill(costs, len(costs), len(found) - len(costs), tuple(sorted(unknown)), prices.currency) if costs else None


def _models(turn: Row) -> tuple[str | None, str | None]:
    """The snapshot that answered, then the name asked for: the first is what is billed."""
    return turn.get("response_model"), turn.get("request_model")


def _turn(price: Price, turn: Row, resent: int) -> Cost:
    cached, written = turn.get("cache_read_tokens", 0), turn.get("cache_write_tokens", 0)
    return _cost(price, turn["input_tokens"], turn["output_tokens"], cached, written, resent)


def _cost(price: Price, read: int, output: int, cached: int, written: int, resent: int) -> Cost:
    again = price.input_cost(resent, min(cached, resent), 0)
    return Cost(price.input_cost(read, cached, written), price.output_cost(output), again, price.input_cost(read, 0, 0))


def _bill(costs: list[Cost], priced: int, unpriced: int = 0, unknown: tuple[str, ...] = (), currency: str | None = None) -> Bill:
    spent, said, again, full = (sum(column, Decimal()) for column in zip(*costs, strict=True))
    return Bill(spent, said, spent + said, again, full - spent, priced, unpriced, unknown, currency)
