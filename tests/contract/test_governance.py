"""The team's own rules: they decide, we record what they decided, and a gate holds whatever else fails."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest
from opentelemetry import context as otel_context

import otel_agent
from otel_agent import Decision, Governance, Principal, ToolCallView, ToolDenied
from otel_agent.emit import Emitter
from otel_agent.instrument.executions import Execution
from otel_agent.instrument.stepping import attached
from otel_agent.testing import Capture, Standin
from otel_agent.testing.standin import Reply, ToolUse

from .drivers import Driver, reach
from .test_host_safety import boom
from .ways import MESSAGES, SAID

ALLOW, DENY, ASK = Decision("allow", "r1"), Decision("deny", "r2"), Decision("needs_approval", "r3")


def governed(**rules: Any) -> tuple[Any, list[Any]]:
    """A tool under these rules, and the calls that reached it."""
    ran: list[Any] = []

    def issue_refund(order: str, amount: int) -> str:
        ran.append((order, amount))
        return "done"

    return otel_agent.tool(effect="write", governance=Governance(**rules))(issue_refund), ran


ANSWERS = {
    "allowed": ({"policy": lambda _: ALLOW}, True, {"otel_agent.policy.decision": "allow", "otel_agent.policy.rule_id": "r1"}),
    "modified": ({"policy": lambda _: Decision("modify", "r4")}, True, {"otel_agent.policy.decision": "modify"}),
    "denied": ({"policy": lambda _: DENY}, False, {"otel_agent.policy.decision": "deny", "otel_agent.policy.rule_id": "r2"}),
    "approved": ({"policy": lambda _: ASK, "approve": lambda _: "approved"}, True, {"otel_agent.approval.state": "approved"}),
    "not required": ({"policy": lambda _: ASK, "approve": lambda _: "not_required"}, True, {"otel_agent.approval.state": "not_required"}),
    "rejected": ({"policy": lambda _: ASK, "approve": lambda _: "rejected"}, False, {"otel_agent.approval.state": "rejected"}),
    "pending": ({"policy": lambda _: ASK, "approve": lambda _: "pending"}, False, {"otel_agent.approval.state": "pending"}),
    "nobody to ask": ({"policy": lambda _: ASK}, False, {"otel_agent.approval.state": "pending"}),
    "approver fails": ({"policy": lambda _: ASK, "approve": boom}, False, {"otel_agent.approval.state": "pending"}),
    "approver babbles": ({"policy": lambda _: ASK, "approve": lambda _: "why not"}, False, {"otel_agent.approval.state": "pending"}),
    "policy fails": ({"policy": boom}, False, {"otel_agent.policy.decision": "deny", "otel_agent.policy.rule_id": "policy_failed"}),
    "policy forgets": ({"policy": lambda _: None}, False, {"otel_agent.policy.rule_id": "policy_failed"}),
    "policy babbles": ({"policy": lambda _: Decision("yes please")}, False, {"otel_agent.policy.rule_id": "policy_failed"}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_decisions(name: str, quiet_telemetry: Capture) -> None:
    """Design 1 (the auditor's question): the tool runs where the rules let it, and the record says by which rule."""
    rules, allowed, facts = ANSWERS[name]
    refund, ran = governed(**rules)
    with otel_agent.agent_run("desk"):
        if allowed:
            assert refund("A1", amount=5) == "done"
        else:
            with pytest.raises(ToolDenied) as denied:
                refund("A1", amount=5)
            assert denied.value.tool == "issue_refund"
    assert ran == ([("A1", 5)] if allowed else [])
    (record,) = quiet_telemetry.tools
    assert {key: record.get(key) for key in facts} == facts
    assert record["otel_agent.tool.outcome"] == ("ok" if allowed else "denied")
    assert quiet_telemetry.runs[0]["otel_agent.run.denied"] == (not allowed)
    assert quiet_telemetry.total("otel_agent.policy_decisions") == 1


def test_what_the_rules_are_shown(telemetry: Capture) -> None:
    """The real arguments, in the process alone; principal and phase are on the record, the principal as a digest."""
    seen: list[ToolCallView] = []

    def policy(view: ToolCallView) -> Decision:
        seen.append(view)
        return ALLOW

    refund, _ = governed(policy=policy, phase=lambda: "checkout", principal=lambda: Principal("customer-4711"))
    with otel_agent.tool_call("toolu_9"):
        refund("A1", amount=5)
    assert seen == [ToolCallView("issue_refund", {"order": "A1", "amount": 5}, "write", "checkout", "toolu_9")]
    (record,) = telemetry.tools
    assert (record["otel_agent.tool.phase"], record["otel_agent.principal.kind"]) == ("checkout", "user")
    assert record["otel_agent.principal.digest"].startswith("hmac-sha256:")
    assert "customer-4711" not in telemetry.everything()


@pytest.mark.parametrize("how", ["suppressed", "telemetry fails", "watched already", "no run"])
def test_the_gate_holds_without_a_record(how: str, quiet_telemetry: Capture) -> None:
    """Policy is the host's, not telemetry's: a call that nothing is recorded of is refused all the same."""
    refund, ran = governed(policy=lambda view: DENY if view.arguments.get("amount", 0) > 3 else ALLOW)
    with pytest.MonkeyPatch.context() as patch, attached(otel_context.set_value("suppress_instrumentation", how == "suppressed")):
        if how == "telemetry fails":
            patch.setattr(Execution, "__init__", boom)
            patch.setattr(Emitter, "begin", boom)
        target = otel_agent.tool("issue_refund")(refund) if how == "watched already" else refund
        with pytest.raises(ToolDenied):
            target("A1", amount=5)
        assert target("A1", amount=2) == "done"
    assert ran == [("A1", 2)]
    assert len(quiet_telemetry.tools) == (2 if how in {"watched already", "no run"} else 0)


async def test_a_governed_tool_in_a_runner(driver: Driver, standin: Standin, telemetry: Capture) -> None:
    """Case 071: a tool of the SDK's runner that is governed by a decorator inside is one execution, with decision and call id."""
    refund, ran = governed(policy=lambda _: DENY)

    def issue_refund(order: str, amount: int) -> str:
        """Issue a refund."""
        return str(refund(order, amount=amount))

    async def issue_refund_async(order: str, amount: int) -> str:
        await asyncio.sleep(0)
        return issue_refund(order, amount)

    issue_refund_async.__name__, issue_refund_async.__doc__ = "issue_refund", issue_refund.__doc__
    start = reach(driver.client("anthropic", standin), "beta.messages.tool_runner")
    reach(anthropic.lib.tools, "_beta_runner.BaseSyncToolRunner._run_tool")
    made = anthropic.beta_async_tool(issue_refund_async) if driver.is_async else anthropic.beta_tool(issue_refund)
    standin.script("*", [Reply([ToolUse("issue_refund", {"order": "A1", "amount": 5}, id="toolu_7")]), SAID])
    with otel_agent.agent_run("desk"):
        await driver.items(start(tools=[made], **MESSAGES))
    assert ran == []
    (record,) = telemetry.tools
    assert (record["otel_agent.tool.outcome"], record["otel_agent.policy.rule_id"], record["gen_ai.tool.call.id"]) == (
        "denied",
        "r2",
        "toolu_7",
    )
    assert [turn["otel_agent.response.tool_call_ids"] for turn in telemetry.turns[:1]] == [["toolu_7"]]


async def test_rules_hold_for_every_kind(telemetry: Capture) -> None:
    """Case 018: coroutines, generators and async generators are governed too."""
    rules = Governance(policy=lambda _: DENY)
    ran: list[str] = []

    @otel_agent.tool(governance=rules)
    async def waiting() -> None:
        ran.append("waiting")

    @otel_agent.tool(governance=rules)
    def steps() -> Any:
        ran.append("steps")
        yield 1

    @otel_agent.tool(governance=rules)
    async def events() -> Any:
        ran.append("events")
        yield 1

    with pytest.raises(ToolDenied):
        await waiting()
    with pytest.raises(ToolDenied):
        next(steps())
    with pytest.raises(ToolDenied):
        await anext(events())
    assert ran == []
    assert [record["otel_agent.tool.outcome"] for record in telemetry.tools] == ["denied"] * 3
