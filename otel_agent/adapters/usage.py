"""Token counts in one normal form: input with the cached tokens, output with the reasoning tokens.

Providers differ in what their totals include. A *tally* here is a plain dictionary of the counts met so far, keyed by our own words;
:func:`gather` adds what one usage object says (a later number replaces an earlier one, nothing is summed, a null erases nothing) and
``…_form`` turns a tally into the normal form. Counts that were not sent stay absent.
"""

from __future__ import annotations

from typing import Any, Final

from otel_agent.adapters.members import Find, extras, finder
from otel_agent.fields import count, get, items
from otel_agent.protocol import Usage

Tally = dict[str, int]
Rows = tuple[tuple[str, str], ...]
Table = tuple[tuple[str | None, Rows], ...]
"""``(member, ((count's name, our word), ...))``; a member of ``None`` is the usage object. The last spelling wins."""

CHAT: Final[Table] = (
    (None, (("prompt_tokens", "input"), ("completion_tokens", "output"), ("total_tokens", "total"))),
    (
        "prompt_tokens_details",
        (("cached_tokens", "cache_read"), ("cache_write_tokens", "cache_write"), ("audio_tokens", "audio_input")),
    ),
    ("completion_tokens_details", (("reasoning_tokens", "reasoning"), ("audio_tokens", "audio_output"))),
)
CHAT_EXTRA: Final[Rows] = (
    ("reasoning_tokens", "reasoning"),
    ("cached_tokens", "cache_read"),
    ("prompt_cache_hit_tokens", "cache_read"),
    ("cache_read_input_tokens", "cache_read"),
    ("cache_creation_input_tokens", "cache_write"),
)
"""Spellings of compatible servers, outside the interface: Perplexity, Moonshot, DeepSeek, bridges to Anthropic."""

RESPONSES: Final[Table] = (
    (None, (("input_tokens", "input"), ("output_tokens", "output"), ("total_tokens", "total"))),
    ("input_tokens_details", (("cached_tokens", "cache_read"), ("cache_write_tokens", "cache_write"))),
    ("output_tokens_details", (("reasoning_tokens", "reasoning"),)),
)
_MESSAGES_INPUT: Final[Rows] = (
    ("input_tokens", "input"),
    ("cache_read_input_tokens", "cache_read"),
    ("cache_creation_input_tokens", "cache_write"),
)
_MESSAGES_WRITES: Final = ("cache_creation", (("ephemeral_5m_input_tokens", "write_5m"), ("ephemeral_1h_input_tokens", "write_1h")))
MESSAGES_OPENING: Final[Table] = ((None, _MESSAGES_INPUT), _MESSAGES_WRITES)
"""What the opening event of a stream may be trusted for: its output counts are placeholders."""

MESSAGES: Final[Table] = (
    (None, (*_MESSAGES_INPUT, ("output_tokens", "output"))),
    _MESSAGES_WRITES,
    ("output_tokens_details", (("thinking_tokens", "reasoning"),)),
    ("server_tool_use", (("web_search_requests", "web_searches"),)),
)
_COMPACTION: Final[Rows] = (
    ("input_tokens", "compaction_input"),
    ("output_tokens", "compaction_output"),
    ("cache_read_input_tokens", "compaction_read"),
    ("cache_creation_input_tokens", "compaction_write"),
)


def gather(into: Tally, find: Find, table: Table) -> None:
    """Take the counts that ``table`` names from a usage object, looked up with ``find``, into the tally."""
    for name, rows in table:
        if name is None:
            _take(into, find, rows)
        elif (source := find(name)) is not None:
            _take(into, finder(source), rows)


def gather_chat(into: Tally, usage: Any) -> None:
    """As :func:`gather`, with the spellings of compatible servers. Own spellings win over theirs."""
    added = extras(usage)
    if added:
        _take(into, added.get, CHAT_EXTRA)
    gather(into, finder(usage), CHAT)


def gather_compaction(into: Tally, find: Find) -> None:
    """Counts of compactions inside an Anthropic reply: billed with it, and in none of its top-level counts."""
    iterations = items(find("iterations"))
    if not iterations:
        return
    entries = [entry for entry in iterations if get(entry, "type") == "compaction"]
    for name, word in _COMPACTION if entries else ():
        numbers = [count(get(entry, name)) for entry in entries]
        into[word] = sum(number for number in numbers if number is not None)


def _take(into: Tally, find: Find, rows: Rows) -> None:
    for name, word in rows:
        value = find(name)
        if value is not None and (number := count(value)) is not None:
            into[word] = number


def inclusive_form(seen: Tally) -> Usage:
    """Normal form where the input count holds the cached tokens: chat completions, Responses, Gemini's shape.

    Most such servers count reasoning inside the output. Where they do not (xAI, Gemini), the total gives them away.
    """
    sent, reasoning = seen.get("output"), seen.get("reasoning")
    output = sent
    if sent is not None and reasoning and _is_exclusive(seen.get("input"), sent, reasoning, seen.get("total")):
        output = sent + reasoning
    return Usage(
        input_tokens=seen.get("input"),
        output_tokens=output,
        cache_read_tokens=seen.get("cache_read"),
        cache_write_tokens=seen.get("cache_write"),
        reasoning_tokens=reasoning,
        audio_input_tokens=seen.get("audio_input"),
        audio_output_tokens=seen.get("audio_output"),
        raw_input_tokens=seen.get("input"),
        raw_output_tokens=sent,
        raw_total_tokens=seen.get("total"),
        web_searches=seen.get("web_searches"),
    )


def _is_exclusive(given: int | None, output: int, reasoning: int, total: int | None) -> bool:
    """Whether ``output`` leaves the reasoning out: by the total where it fits, else when it cannot hold it."""
    if given is not None and total is not None:
        if given + output == total:
            return False
        if given + output + reasoning == total:
            return True
    return reasoning > output


def messages_form(seen: Tally) -> Usage:
    """Normal form where the input count leaves the cached tokens out: Anthropic."""
    write = _total(seen, ("cache_write", "compaction_write") if "cache_write" in seen else _WRITE_SPLIT)
    inputs = _total(seen, ("input", "cache_read", "compaction_input", "compaction_read"))
    return Usage(
        input_tokens=None if inputs is None or "input" not in seen else inputs + (write or 0),
        output_tokens=_total(seen, ("output", "compaction_output")) if "output" in seen else None,
        cache_read_tokens=_total(seen, ("cache_read", "compaction_read")),
        cache_write_tokens=write,
        reasoning_tokens=seen.get("reasoning"),
        raw_input_tokens=seen.get("input"),
        raw_output_tokens=seen.get("output"),
        web_searches=seen.get("web_searches"),
    )


_WRITE_SPLIT: Final = ("write_5m", "write_1h", "compaction_write")


def _total(seen: Tally, words: tuple[str, ...]) -> int | None:
    """The sum of what is known of these, ``None`` when nothing is."""
    total = None
    for word in words:
        if word in seen:
            total = seen[word] + (total or 0)
    return total
