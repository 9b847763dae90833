"""What an alert means, apart from any engine: which amounts are compared, grouped by what, over which window.

An *amount* is the increase of one or several metrics within a window, filtered by attributes. Every meaning is made of amounts,
so an engine that can add up increases can evaluate all of them: :mod:`dashboards.promql` writes them for Prometheus, and
``rules/meaning.json`` carries them, with their limits, to any other engine. The numbers live in ``thresholds.yml``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from dashboards.names import Part

Severity = Literal["info", "warning", "critical", "none"]
Unit = Literal["share", "number", "count", "none"]


@dataclass(frozen=True, slots=True)
class Where:
    """Keeps the points whose attribute is one of ``any_of`` and none of ``none_of``. The empty string stands for absent."""

    attribute: str
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Amount:
    """The increase of all ``metrics`` together. ``above``: only the observations of a histogram above the limit's ``edge``."""

    metrics: tuple[str, ...]
    where: tuple[Where, ...] = ()
    part: Part = "value"
    above: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """``part / whole`` beyond ``threshold`` while ``whole`` is at least ``minimum``; ``below``: under it instead."""

    part: Amount
    whole: Amount
    below: bool = False
    unit: Unit = "share"
    needs: ClassVar[tuple[str, ...]] = ("threshold", "minimum")


@dataclass(frozen=True, slots=True)
class Drift:
    """``part / whole`` in the window against the same in the ``baseline`` that ended when the window began.

    Rising: above ``factor`` times the baseline's ratio, taken as ``floor`` at the least. Falling: below ``factor`` times it, when
    that was at least ``floor``. ``volume`` must reach ``minimum`` in the window and in the baseline.
    """

    part: Amount
    whole: Amount
    volume: Amount
    falling: bool = False
    unit: Unit = "number"
    needs: ClassVar[tuple[str, ...]] = ("baseline", "factor", "floor", "minimum")


@dataclass(frozen=True, slots=True)
class Tally:
    """``amount`` at or above ``threshold``."""

    amount: Amount
    unit: Unit = "count"
    needs: ClassVar[tuple[str, ...]] = ("threshold",)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A value of ``attribute`` with at least ``minimum`` in the window and nothing in the baseline, in a group that had something then."""

    amount: Amount
    attribute: str
    unit: Unit = "count"
    needs: ClassVar[tuple[str, ...]] = ("baseline", "minimum")


@dataclass(frozen=True, slots=True)
class Fill:
    """Gauge ``size`` over gauge ``capacity`` above ``threshold``. Of the pipeline only."""

    size: str
    capacity: str
    unit: Unit = "share"
    needs: ClassVar[tuple[str, ...]] = ("threshold",)


@dataclass(frozen=True, slots=True)
class Silence:
    """A gauge that reported within the window and no longer does. Of the pipeline only."""

    gauge: str
    unit: Unit = "none"
    needs: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Always:
    """True at all times: proves that the way from rule to person works."""

    unit: Unit = "none"
    needs: ClassVar[tuple[str, ...]] = ()


Meaning = Share | Drift | Tally | Arrival | Fill | Silence | Always


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share that is recorded for panels and explanations, without an alert of its own."""

    key: str
    by: tuple[str, ...]
    part: Amount
    whole: Amount
    window: str = "1h"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert: ``by`` what it is told apart, ``means`` what, ``says`` what happened and ``act`` what a person should do.

    ``says`` holds the places ``{where}``, ``{value}``, ``{window}``, ``{baseline}``, ``{edge}`` and ``{new}``. ``panel`` is
    ``board/panel``. ``explained_by`` names a :class:`Ratio` of the same groups and the sentence for its ``{value}``.
    """

    key: str
    name: str
    by: tuple[str, ...]
    means: Meaning
    says: str
    act: str
    panel: str
    severity: Severity = "warning"
    explained_by: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """Another threshold for the groups with these attribute values."""

    where: tuple[tuple[str, str], ...]
    threshold: float


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of one alert. Durations as Prometheus writes them (``30s``, ``5m``, ``1h``, ``1d``)."""

    window: str
    hold: str
    keep: str
    baseline: str
    severity: Severity
    threshold: float | None = None
    minimum: float | None = None
    edge: float | None = None
    factor: float | None = None
    floor: float | None = None
    overrides: tuple[Override, ...] = field(default=())


def amounts(means: Meaning) -> tuple[Amount, ...]:
    """All amounts of a meaning."""
    match means:
        case Share():
            return (means.part, means.whole)
        case Drift():
            return (means.part, means.whole, means.volume)
        case Tally() | Arrival():
            return (means.amount,)
        case _:
            return ()
