"""What the stand-in answers in each scenario. Every carrier of deliberation holds a canary sentence, which must not reach the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from otel_agent.testing.canaries import Canaries
from otel_agent.testing.standin import Failure, Redacted, Reply, Standin, Text, Thinking, ToolUse, Usage

Steps = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run of an agent. ``shows``: what to look for in the record. ``ends``: whether the run gets to its end."""

    name: str
    shows: str
    steps: Callable[[Thinker], Steps]
    flavour: str = "openai"
    ends: bool = True


class Thinker:
    """Hands out deliberation, each piece with a canary of its own."""

    def __init__(self, canaries: Canaries, scenario: str) -> None:
        self._canaries = canaries
        self._scenario = scenario
        self.sent = 0

    def __call__(self) -> Thinking:
        """A block of thinking with a signature."""
        self.sent += 1
        place = f"demo.{self._scenario}.{self.sent}"
        return Thinking(self._canaries[place], summary=self._canaries[f"{place}.summary"])

    def sealed(self) -> Redacted:
        """A block that only the provider can read."""
        self.sent += 1
        return Redacted(self._canaries[f"demo.{self._scenario}.{self.sent}.sealed"])


def _answered(think: Thinker) -> Steps:
    return (
        Reply([think(), ToolUse("find_order", {"order": "A-1041"})]),
        Reply([think(), think.sealed(), ToolUse("read_policy", {"topic": "refunds"})]),
        Reply([think(), Text("Your order A-1041 arrives on Tuesday.")]),
    )


def _truncated(think: Thinker) -> Steps:
    spent = Usage(output=1024, reasoning=1024)
    return (Reply([think(), ToolUse("find_order", {"order": "A-1042"})]), Reply([think()], stop="max_tokens", usage=spent))


def _cut_short(think: Thinker) -> Steps:
    return (Reply([think(), Text("The quarter began with")], stop="max_tokens", usage=Usage(output=300, reasoning=260)),)


def _loop(think: Thinker) -> Steps:
    return tuple(Reply([think(), ToolUse("search", {"query": "warranty"})]) for _ in range(7))


def _circle(think: Thinker) -> Steps:
    pair = ("find_order", {"order": "A-7"}), ("read_policy", {"topic": "returns"})
    turns = [Reply([think(), ToolUse(name, args)]) for _ in range(3) for name, args in pair]
    return (*turns, Reply([Text("I could not settle this.")]))


def _tool_errors(think: Thinker) -> Steps:
    return (
        Reply([think(), ToolUse("charge_card", {"amount": 12})]),
        Reply([think(), ToolUse("send_mail", {"to": "desk"})]),
        Reply([think(), Text("Neither worked; a colleague will take over.")]),
    )


def _cache_break(think: Thinker) -> Steps:
    turns = [Reply([think(), ToolUse("read_page", {"page": page})]) for page in range(1, 5)]
    return (*turns, Reply([think(), Text("All four pages are read.")]))


def _rate_limited(think: Thinker) -> Steps:
    busy = Failure(429, retry_after=0, echo_request=True)
    return busy, busy, Reply([think(), Text("Done at the third try.")])


def _denied(think: Thinker) -> Steps:
    return (
        Reply([think(), ToolUse("issue_refund", {"order": "A-1041", "amount": 900})]),
        Reply([think(), ToolUse("issue_refund", {"order": "A-1041", "amount": 20})]),
        Reply([think(), Text("A refund of 20 was issued; a larger one needs a manager.")]),
    )


def _stream(think: Thinker) -> Steps:
    return (Reply([think(), Text("Streamed to the end, one piece after another, as a person would read it.")]),)


def _rejected(think: Thinker) -> Steps:
    think()
    return (Failure(400, echo_request=True),)


def _writes(think: Thinker) -> Steps:
    both = [ToolUse("update_stock", {"item": "k1", "by": 1}), ToolUse("update_stock", {"item": "k1", "by": 2})]
    return Reply([think(), *both]), Reply([think(), Text("Stock was updated twice.")])


def _invalid(think: Thinker) -> Steps:
    return (
        Reply([think(), ToolUse("book_table", {"people": "many", "hour": 19})]),
        Reply([think(), ToolUse("book_table", {"people": 4, "hour": 19})]),
        Reply([think(), Text("Booked for four at seven.")]),
    )


def _replay(think: Thinker) -> Steps:
    return (
        Reply([think(), ToolUse("find_order", {"order": "B-1"})]),
        Reply([think(), ToolUse("find_order", {"order": "B-2"})]),
        Reply([think(), Text("Both are found.")]),
    )


def _text_protocol(think: Thinker) -> Steps:
    thought = think().text
    return (
        Reply([Text(f'Thought: {thought}\nAction: search\nAction Input: {{"query": "lamps"}}')]),
        Reply([Text(f"Thought: {think().text}\nAction: search\nAction Input: lamps, the bright ones")]),
        Reply([Text(f'Thought: x\nAction: search\nAction Input: {{"query": "lamps"}}\nObservation: {think().text}\nFinal Answer: 3')]),
        Reply([Text(f"{think().text}")]),
        Reply([Text(f"Thought: {think().text}\nFinal Answer: We have three lamps.")]),
    )


def _rated(think: Thinker) -> Steps:
    return (Reply([think(), Text("Refunds take five days; see the page on returns.")]),)


def _invented_tool(think: Thinker) -> Steps:
    return Reply([think(), ToolUse("cancel_order", {"order": "C-3"})]), Reply([think(), Text("I cannot cancel it myself.")])


def _left_open(think: Thinker) -> Steps:
    return Reply([think(), ToolUse("read_page", {"page": 9})]), Reply([think(), Text("The export has begun.")])


SCENARIOS: Final = (
    Scenario("support", "a healthy run: two tools, an answer, cached prefix", _answered),
    Scenario("support-truncated", "thinking used up the output cap: empty and truncated", _truncated),
    Scenario("report-truncated", "an answer cut off in the middle (OpenAI Responses)", _cut_short),
    Scenario("research-looping", "the same call again and again until the turn budget is out", _loop),
    Scenario("returns-circling", "two calls taking turns", _circle),
    Scenario("billing-tool-errors", "a tool that raises, a tool that returns a failure as data", _tool_errors),
    Scenario("reader-cache-break", "a timestamp in the system prompt breaks the cached prefix", _cache_break),
    Scenario("busy-provider", "two 429 answers before success: three attempts, one turn", _rate_limited),
    Scenario("refund-denied", "a policy refuses one refund and allows another", _denied),
    Scenario("chat-streamed", "a streamed answer of a compatible server", _stream, flavour="deepseek"),
    Scenario("rejected", "a 400 whose message quotes the prompt", _rejected),
    Scenario("stock-conflict", "two writes of one turn at the same time", _writes),
    Scenario("booking-invalid", "arguments that do not fit the declared schema", _invalid),
    Scenario("replay-dropped", "reasoning items not sent back in an open tool loop", _replay),
    Scenario("replay-edited", "reasoning items sent back changed", _replay),
    Scenario("text-protocol", "an agent that still writes Thought/Action/Observation", _text_protocol),
    Scenario("handbook-rated", "documents found, an answer, and what the user thought of it", _rated),
    Scenario("tool-invented", "a call of a tool that was never offered", _invented_tool),
    Scenario("export-left-open", "a run whose end never came, as when its process is killed", _left_open, ends=False),
)


def load(standin: Standin, canaries: Canaries) -> int:
    """Give the stand-in all scripts. Returns how many pieces of deliberation they hold."""
    total = 0
    for scenario in SCENARIOS:
        think = Thinker(canaries, scenario.name)
        standin.script(scenario.name, scenario.steps(think), flavour=scenario.flavour)
        total += think.sent
    return total
