"""What is known of a tool before it runs, and how a returned value is read as success or failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from otel_agent.fields import dig
from otel_agent.instrument.binding import declared
from otel_agent.records.closed import Approval, PolicyDecision, PrincipalKind, ToolEffect, ToolKind
from otel_agent.stored import stored

KINDS: Final[tuple[str, ...]] = get_args(ToolKind)
EFFECTS: Final[tuple[str, ...]] = get_args(ToolEffect)


@dataclass(frozen=True, slots=True)
class ToolCallView:
    """What a team's policy and approval functions are shown: the real arguments, which never leave the process through us."""

    tool: str
    arguments: Mapping[str, Any]
    effect: ToolEffect
    phase: str | None
    call_id: str | None


@dataclass(frozen=True, slots=True)
class Decision:
    """A policy's answer. ``rule_id`` is an identifier of the rule that decided."""

    decision: PolicyDecision
    rule_id: str | None = None


class ToolDenied(PermissionError):
    """A policy or a person refused the call; the tool did not run. ``tool`` and ``rule_id`` say which and by what rule."""

    def __init__(self, tool: str, rule_id: str | None) -> None:
        super().__init__(f"the call of {tool} was refused" + (f" by rule {rule_id}" if rule_id else ""))
        self.tool = tool
        self.rule_id = rule_id


@dataclass(frozen=True, slots=True)
class Principal:
    """On whose behalf a tool runs. ``id`` is digested, never recorded."""

    id: str
    kind: PrincipalKind = "user"


@dataclass(frozen=True, slots=True)
class Governance:
    """The team's own rules, as functions. A function that fails is tallied; a policy that fails denies.

    ``policy``: returns a :class:`Decision`; ``deny`` keeps the tool from running and raises :class:`ToolDenied`. ``approve``: asked when
    the decision is ``needs_approval``; only ``approved`` lets the tool run, and no answer counts as ``pending``. ``phase``: the phase
    of the task now. ``principal``: on whose behalf.
    """

    policy: Callable[[ToolCallView], Decision] | None = None
    approve: Callable[[ToolCallView], Approval] | None = None
    phase: Callable[[], str | None] | None = None
    principal: Callable[[], Principal | None] | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as declared.

    ``schema``: JSON Schema of its arguments. ``declared``: argument names the schema or the signature declares; ``None`` when nothing
    does. ``failed``: predicate on the returned value for failures returned as data that no protocol marks. ``result_ids``: picks the
    ids of rows or documents out of the result. ``truncated``: predicate, whether the result was cut short.

    Raises ``ValueError`` for a ``kind`` or ``effect`` outside its closed set: at declaration, where a person sees it.
    """

    name: str
    kind: ToolKind = "function"
    effect: ToolEffect = "unknown"
    schema: Mapping[str, Any] | None = None
    declared: frozenset[str] | None = None
    failed: Callable[[Any], bool] | None = None
    truncated: Callable[[Any], bool] | None = None
    result_ids: Callable[[Any], Iterable[str]] | None = None
    governance: Governance = Governance()

    def __post_init__(self) -> None:
        check_listed("kind", self.kind, KINDS)
        check_listed("effect", self.effect, EFFECTS)


def check_listed(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ``ValueError`` unless a tool's ``name`` is a value of its closed set."""
    if value not in allowed:
        raise ValueError(f"a tool's {name} is one of {', '.join(allowed)}")


def declared_names(schema: Mapping[str, Any] | None, function: Callable[..., Any] | None) -> frozenset[str] | None:
    """Argument names from the schema, else from the signature."""
    properties = dig(schema, "properties") if type(schema) is dict else None
    if type(properties) is dict:
        return frozenset(name for name in properties if isinstance(name, str))
    return None if function is None else declared(function)


FAILURE_WORDS: Final = frozenset({"error", "failure", "failed"})


def returned_failure(result: Any) -> bool:
    """Whether a protocol marks ``result`` as a failure.

    MCP's ``isError``, an Anthropic tool result's ``is_error``, a JSON-RPC error reply, a framework result whose ``status`` is a failure.
    Other values are not interpreted: ``{"success": 0}`` may be an answer. Of an object, what it stores is read: a property, or the
    ``__getattr__`` of a proxy, may ask a database.
    """
    if type(result) is dict:
        return _failed_mapping(result)
    if result is None or issubclass(type(result), _PLAIN):
        return False
    if stored(result, "isError") is True or stored(result, "is_error") is True:
        return True
    return _is_failure(stored(result, "status"))


_PLAIN: Final = (str, bytes, int, float, list, tuple)


def _is_failure(status: Any) -> bool:
    return issubclass(type(status), str) and str.lower(status) in FAILURE_WORDS


def _failed_mapping(result: dict[str, Any]) -> bool:
    if result.get("isError") is True or result.get("is_error") is True:
        return True
    if "jsonrpc" in result and type(result.get("error")) is dict:
        return True
    return "toolUseId" in result and _is_failure(result.get("status"))
