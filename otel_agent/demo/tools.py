"""The tools of the demo's agents: ordinary functions, watched by a decorator."""

from __future__ import annotations

import time
from typing import Any, Final

import otel_agent
from otel_agent import Decision, Governance, Principal, ToolCallView

LIMIT: Final = 50


def refund_policy(call: ToolCallView) -> Decision:
    """Refunds above a limit are for people."""
    amount = call.arguments.get("amount", 0)
    return Decision("allow", "refund.small") if amount <= LIMIT else Decision("deny", "refund.limit")


GOVERNED: Final = Governance(policy=refund_policy, principal=lambda: Principal("customer-77"), phase=lambda: "resolution")

BOOKING: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"people": {"type": "integer"}, "hour": {"type": "integer"}},
    "required": ["people", "hour"],
}


@otel_agent.tool(effect="read", result_ids=lambda found: [found["order"]])
def find_order(order: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order": order, "state": "shipped"}


@otel_agent.tool(effect="read")
def read_policy(topic: str) -> str:
    """Read a page of the handbook."""
    return f"The page on {topic}."


@otel_agent.tool(effect="read")
def search(query: str) -> list[str]:
    """Search, and find nothing new."""
    return [f"{query}-1"]


@otel_agent.tool(effect="read")
def read_page(page: int) -> str:
    """A page of some length."""
    return f"page {page} " * 40


@otel_agent.tool(effect="write")
def charge_card(amount: int) -> str:
    """A tool that raises."""
    raise ConnectionError("the terminal is off")


@otel_agent.tool(effect="write")
def send_mail(to: str) -> dict[str, Any]:
    """A tool that returns its failure as data, as MCP tools do."""
    return {"isError": True, "content": [{"type": "text", "text": f"no mailbox {to}"}]}


@otel_agent.tool(effect="write", governance=GOVERNED)
def issue_refund(order: str, amount: int) -> dict[str, Any]:
    """Pay money back."""
    return {"refund": f"R-{order}", "amount": amount}


@otel_agent.tool(effect="write")
def update_stock(item: str, by: int) -> int:
    """A write that takes a moment."""
    time.sleep(0.05)
    return by


@otel_agent.tool(effect="write", schema=BOOKING)
def book_table(people: int, hour: int) -> str:
    """Book a table."""
    if not isinstance(people, int):
        raise TypeError("people must be a number")
    return f"T-{people}-{hour}"


TOOLS: Final = {
    function.__name__: function
    for function in (
        find_order, read_policy, search, read_page, charge_card, send_mail, issue_refund, update_stock, book_table,
    )
}  # fmt: skip
