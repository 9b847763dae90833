"""Facts → attributes: the one gate everything recorded passes, made from the record types.

A form takes facts by field name, holds each against its field's type, and gives those that fit back by attribute name, in one step of the
validator. So a fact is looked at once on its way out, and there is no other way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Required, TypeAlias, Union, get_args, get_origin

from pydantic import AliasGenerator, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from otel_agent import guard
from otel_agent.records import Fact, ModelTurn, Record, facts
from otel_agent.tally import tally

Value: TypeAlias = str | int | float | bool | tuple[str, ...]
Attributes: TypeAlias = dict[str, Value]
Facts: TypeAlias = Mapping[str, Any]
"""Facts by field name. An absent fact is left out, never ``None``."""

Moment: TypeAlias = Literal["begin", "finish", "event"]
"""``begin``: the start facts, others are for later. ``finish``: the rest, and whatever start fact is known only now. ``event``: all."""


class Form:
    """What one record type lets through at one moment."""

    __slots__ = ("_all", "_stand_ins", "_validate")

    def __init__(self, record: type[Record], moment: Moment) -> None:
        self._validate = _adapter(record, moment).validator.validate_python
        # Beginning, there may be facts among the values that are for the end. That all were taken is seen by their number: the validator's
        # own way to refuse others takes as long as all the rest of it.
        self._all = frozenset() if moment == "begin" else frozenset(record.model_fields)
        self._stand_ins: Facts = STAND_INS.get(record, {}) if moment != "event" else {}

    def of(self, values: Facts) -> Attributes:
        """The attributes of ``values``. One that does not fit is left out and tallied: one bad fact must not cost the rest.

        So is a fact that the record does not have; under test it is a ``LookupError``. Raises ``ValidationError`` when a required fact is
        missing, or does not fit and nothing stands in for it.
        """
        try:
            made: Attributes = self._validate(values)
        except ValidationError as error:
            return self._without(values, error)
        if self._all and len(made) != len(values):
            guard.note("form.unknown", LookupError(f"no facts of this record: {', '.join(sorted(values.keys() - self._all))}"))
        return made

    def _without(self, values: Facts, error: ValidationError) -> Attributes:
        unfit = {str(problem["loc"][0]) for problem in error.errors(include_url=False, include_context=False, include_input=False)}
        fitting = {name: value for name, value in values.items() if value is not None and name not in unfit}
        for name in unfit:
            tally("unfit", "record")
            if name in self._stand_ins:
                fitting[name] = self._stand_ins[name]
        made: Attributes = self._validate(fitting)
        return made


STAND_INS: Final[dict[type[Record], Facts]] = {
    ModelTurn: {
        "operation": "chat", "api": "messages", "provider": "unknown", "provider_source": "unknown", "finish_reason": "unknown",
        "truncated": False, "usage_state": "missing", "duration": 0.0,
    },
}  # fmt: skip
"""What stands for a required fact that did not fit."""


@cache
def form(record: type[Record], moment: Moment) -> Form:
    """The form of ``record`` at ``moment``, made once."""
    return Form(record, moment)


@cache
def defaults(record: type[Record], moment: Moment) -> Attributes:
    """What a record says at ``moment`` without having been told, by attribute name."""
    told = {name: field.default for name, field in record.model_fields.items() if not field.is_required()}
    return {fact.name: told[name] for name, fact in facts(record).items() if told.get(name) is not None and _due(fact, moment)}


def _due(fact: Fact, moment: Moment) -> bool:
    """Whether a fact should be known by then, and not before."""
    return moment == "event" or fact.start is (moment == "begin")


def _adapter(record: type[Record], moment: Moment) -> TypeAdapter[Attributes]:
    """A dictionary from attribute names to values, read from one from field names to values."""
    members = {
        fact.name: _member(record.model_fields[name], _due(fact, moment))
        for name, fact in facts(record).items()
        if fact.start or moment != "begin"
    }
    kind: Any = _dictionary(record.__name__, members)
    field_of = {fact.name: name for name, fact in facts(record).items()}
    # No ``Field`` with an alias among the types: beside a second one pydantic 2.11 forgets a type's own bounds.
    names = AliasGenerator(validation_alias=field_of.__getitem__)
    kind.__pydantic_config__ = ConfigDict(strict=True, extra="ignore", alias_generator=names)
    return TypeAdapter(kind)


_dictionary: Final[Any] = TypedDict  # made at run time, where no type checker can follow


def _member(field: FieldInfo, due: bool) -> Any:
    kind = Annotated[_present(field), *field.metadata]  # type: ignore[valid-type]
    return Required[kind] if due and field.is_required() else NotRequired[kind]


def _present(field: FieldInfo) -> Any:
    """The field's type without ``None``: an absent fact is not there at all."""
    if get_origin(field.annotation) not in (Union, UnionType):
        return field.annotation
    return Union[*(kind for kind in get_args(field.annotation) if kind is not type(None))]
