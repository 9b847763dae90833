"""Asking the team's own rules about a tool call. Independent of observation: a gate holds whether or not anything is recorded."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, get_args

from otel_agent import guard
from otel_agent.fields import identifier
from otel_agent.instrument.tool_spec import Decision, Governance, ToolCallView, ToolDenied
from otel_agent.records.closed import Approval, PolicyDecision

DECISIONS: Final = frozenset(get_args(PolicyDecision))
APPROVALS: Final = frozenset(get_args(Approval))
FAILED: Final = Decision("deny", "policy_failed")
"""A policy that fails, or answers something else than a decision, must not open the gate it guards."""


class Judgement(NamedTuple):
    """``values`` are record fields."""

    allowed: bool
    rule_id: str | None
    values: dict[str, Any]


def judge(governance: Governance, view: ToolCallView) -> Judgement | None:
    """What policy and approval say of a call; ``None`` where nobody set a policy."""
    if governance.policy is None:
        return None
    answer = guard.run("tool.policy", governance.policy, view)
    decision = answer if isinstance(answer, Decision) and answer.decision in DECISIONS else FAILED
    values = {"decision": decision.decision, "rule_id": identifier(decision.rule_id)}
    if decision.decision != "needs_approval":
        return Judgement(decision.decision in {"allow", "modify"}, decision.rule_id, values)
    approval = _approval(governance, view)
    return Judgement(approval in {"approved", "not_required"}, decision.rule_id, {**values, "approval": approval})


def _approval(governance: Governance, view: ToolCallView) -> str:
    given = guard.run("tool.approve", governance.approve, view) if governance.approve is not None else None
    return given if given is not None and given in APPROVALS else "pending"


def enforce(governance: Governance, view: ToolCallView) -> None:
    """Raise :class:`ToolDenied` where the rules refuse a call that nothing is recorded of."""
    judgement = judge(governance, view)
    if judgement is not None and not judgement.allowed:
        raise ToolDenied(view.tool, judgement.rule_id)
