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
    if dict.__len__(added):
        _take(into, finder(added), CHAT_EXTRA)
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
    find = seen.get
    given, sent, read, write = find("input"), find("output"), find("cache_read"), find("cache_write")
    if write is None:
        write = _total(seen, ("write_5m", "write_1h"))
    usage = Usage(
        input_tokens=None if given is None else given + (read or 0) + (write or 0),
        output_tokens=sent,
        cache_read_tokens=read,
        cache_write_tokens=write,
        reasoning_tokens=find("reasoning"),
        raw_input_tokens=given,
        raw_output_tokens=sent,
        web_searches=find("web_searches"),
    )
    if not seen.keys().isdisjoint(_COMPACTED):
        _add_compaction(usage, seen)
    return usage


_COMPACTED: Final = frozenset(word for _name, word in _COMPACTION)


def _add_compaction(usage: Usage, seen: Tally) -> None:
    """Compactions are billed with the reply. What the reply itself does not say stays absent, except for the cache."""
    read, write = seen.get("compaction_read"), seen.get("compaction_write")
    if usage.input_tokens is not None:
        usage.input_tokens += seen.get("compaction_input", 0) + (read or 0) + (write or 0)
    if usage.output_tokens is not None:
        usage.output_tokens += seen.get("compaction_output", 0)
    if read is not None:
        usage.cache_read_tokens = (usage.cache_read_tokens or 0) + read
    if write is not None:
        usage.cache_write_tokens = (usage.cache_write_tokens or 0) + write


def _total(seen: Tally, words: tuple[str, ...]) -> int | None:
    """The sum of what is known of these, ``None`` when nothing is."""
    total = None
    for word in words:
        if word in seen:
            total = seen[word] + (total or 0)
    return total
