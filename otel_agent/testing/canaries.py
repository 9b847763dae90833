"""Canaries: unique sentences to put wherever text can hide, and a search for them in whatever came out.

Each carrier of `CARRIERS` has one. Its sentence reads like prose and holds a token of consonants that no other text
has, so that a piece of twelve letters is enough to tell where a leak began, in whatever encoding it left.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

FRAGMENT = 12
"""The shortest piece of a token that is recognised."""

_LETTERS = "bcdfghjklmnpqrstvwxz"
_TOKEN_LENGTH = 30
_RUN = re.compile(rb"[bcdfghjklmnpqrstvwxz]{%d,}" % FRAGMENT)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A place where text travels. `sealed` text has no white space, as signatures and encrypted forms have none."""

    name: str
    where: str
    form: Literal["prose", "sealed"] = "prose"


def _carriers(source: str, prose: Mapping[str, str], sealed: Mapping[str, str]) -> Iterator[Carrier]:
    yield from (Carrier(f"{source}.{name}", where) for name, where in prose.items())
    yield from (Carrier(f"{source}.{name}", where, "sealed") for name, where in sealed.items())


CARRIERS: tuple[Carrier, ...] = (
    *_carriers(
        "anthropic",
        {
            "thinking": "content[type=thinking].thinking, delta thinking_delta",
            "compaction": "content[type=compaction].content, delta compaction_delta",
            "advisor_result": "content[type=advisor_tool_result].content.text",
            "text": "content[type=text].text, delta text_delta",
            "inline_think": "content[type=text].text between think tags",
            "cited_text": "content[type=text].citations[*].cited_text",
            "tool_input": "content[type=tool_use].input, delta input_json_delta",
            "server_tool_input": "content[type=server_tool_use].input",
            "server_tool_result": "content[type=*_tool_result].content",
            "stop_sequence": "stop_sequence",
            "stop_explanation": "stop_details.explanation",
            "unknown_block": "a block of a type that no SDK knows",
            "unknown_field": "a field that no SDK knows",
        },
        {
            "signature": "content[type=thinking].signature, delta signature_delta",
            "redacted_thinking": "content[type=redacted_thinking].data",
            "compaction_sealed": "content[type=compaction].encrypted_content",
            "compaction_signature": "content[type=compaction].signature",
            "advisor_redacted": "content[type=advisor_tool_result].content.encrypted_content",
            "web_encrypted": "web_search_tool_result content[*].encrypted_content",
            "encrypted_index": "citations[*].encrypted_index",
            "encrypted_stdout": "code_execution_tool_result.content.encrypted_stdout",
        },
    ),
    *_carriers(
        "responses",
        {
            "reasoning_summary": "output[type=reasoning].summary[*].text, events response.reasoning_summary_*",
            "reasoning_text": "output[type=reasoning].content[*].text, events response.reasoning_text.*",
            "commentary": "output[type=message, phase=commentary]",
            "output_text": "output_text.text, events response.output_text.*",
            "refusal": "refusal.refusal, events response.refusal.*",
            "function_arguments": "output[type=function_call].arguments",
            "custom_input": "output[type=custom_tool_call].input",
            "mcp_output": "output[type=mcp_call].output and .error",
            "agent_message": "output[type=agent_message].content[*].text",
            "search_query": "output[type=web_search_call].action.query",
            "file_search_text": "output[type=file_search_call].results[*].text",
            "code": "output[type=code_interpreter_call].code",
            "annotation_title": "annotations[*].title",
            "logprob_token": "output_text.logprobs[*].token",
            "instructions": "instructions, echoed in the response",
            "error_message": "error.message",
            "unknown_item": "an output item of a type that no SDK knows",
            "unknown_field": "a field that no SDK knows",
        },
        {
            "encrypted_content": "output[type=reasoning].encrypted_content",
            "compaction_encrypted": "output[type=compaction].encrypted_content",
            "agent_encrypted": "output[type=agent_message].encrypted_content",
            "program_fingerprint": "output[type=program].fingerprint",
        },
    ),
    *_carriers(
        "chat",
        {
            "content": "choices[*].message.content, delta.content",
            "refusal": "choices[*].message.refusal, delta.refusal",
            "tool_arguments": "tool_calls[*].function.arguments",
            "custom_input": "tool_calls[*].custom.input",
            "function_arguments": "message.function_call.arguments",
            "annotation_title": "message.annotations[*].url_citation.title",
            "audio_transcript": "message.audio.transcript",
            "logprob_token": "choices[*].logprobs.content[*].token",
            "error_message": "error.message, in a body or a chunk",
            "unknown_field": "a field that no SDK knows",
        },
        {},
    ),
    *_carriers(
        "compatible",
        {
            "reasoning_content": "message.reasoning_content, delta.reasoning_content",
            "reasoning": "message.reasoning, delta.reasoning",
            "reasoning_text": "message.reasoning_text",
            "details_text": "message.reasoning_details[*].text",
            "details_summary": "message.reasoning_details[*].summary",
            "thinking": "message.thinking",
            "thinking_blocks": "message.thinking_blocks[*].thinking",
            "thought": "message.thought",
            "analysis": "message.analysis",
            "cot_summary": "message.cot_summary",
            "inline_think": "message.content between think tags, or before a lone closing tag",
            "harmony_analysis": "message.content after an analysis channel marker",
            "executed_tool_output": "message.executed_tools[*].output",
            "provider_specific": "message.provider_specific_fields.*",
        },
        {
            "details_data": "message.reasoning_details[*].data",
            "details_signature": "message.reasoning_details[*].signature",
            "reasoning_opaque": "message.reasoning_opaque",
            "encrypted_content": "message.encrypted_content",
        },
    ),
    *_carriers(
        "request",
        {
            "system": "system prompt, instructions, system and developer messages",
            "user": "user messages",
            "assistant": "assistant text sent back",
            "thinking": "reasoning sent back, in the format's own block or item",
            "assistant_thinking_wrapper": "foreign reasoning that a framework writes into user messages",
            "tool_description": "tools[*].description",
            "schema_description": "descriptions inside a tool's schema",
            "schema_enum": "enum values and defaults inside a tool's schema",
            "tool_arguments": "arguments of earlier calls sent back",
            "tool_result": "results of tools sent back",
            "document_title": "title and context of documents",
            "stop": "stop sequences",
            "metadata": "metadata values",
            "output_schema": "descriptions inside the schema of the answer",
            "prediction": "predicted output",
            "extra_body": "fields added through extra_body",
        },
        {
            "signature": "signature or encrypted content sent back",
            "image_data": "base64 data of images and files",
            "header": "a header that the caller adds",
        },
    ),
    *_carriers(
        "error",
        {
            "body": "the message in a provider's error body",
            "message": "str() of an exception",
            "repr": "repr() of an exception",
            "cause": "an exception's __cause__",
            "context": "an exception's __context__",
            "note": "an exception's __notes__",
            "source_line": "a source line in a traceback",
        },
        {},
    ),
    *_carriers(
        "tool",
        {
            "arguments": "arguments given to an executor",
            "result": "what a tool returned",
            "error_result": "a failure that a tool returned as data",
            "docstring": "the tool function's docstring",
            "progress": "what a generator tool yielded",
        },
        {},
    ),
)

BY_NAME: Mapping[str, Carrier] = {carrier.name: carrier for carrier in CARRIERS}

_PROSE = (
    "Maybe {} is why the lantern keeper doubts the ledger, so I should weigh the refund again.",
    "Perhaps {} hints that the customer never saw the harbour, and I would rather not say so.",
    "Quietly, {} makes me suspect that the second invoice is the honest one after all.",
    "I think {} explains the missing parcel better than the courier's own account does.",
    "Wait, {} cannot be right; the orchard was sold before the letter was ever written.",
)


class Canaries:
    """Sentences by carrier, the same for the same seed.

    `canaries["anthropic.thinking"]` is the text to plant; names that are no carrier work too, and are found as well
    once they have been asked for.
    """

    def __init__(self, seed: str | int = 0) -> None:
        self._seed = str(seed)
        self._texts: dict[str, str] = {}
        self._owners: dict[bytes, str] = {}
        for carrier in CARRIERS:
            self._add(carrier.name, carrier.form)

    def __getitem__(self, name: str) -> str:
        """The canary of a carrier."""
        if name not in self._texts:
            self._add(name, "prose")
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        """Names of the carriers."""
        return iter(self._texts)

    def token(self, name: str) -> str:
        """The part of a canary that no other text has."""
        digest = blake2b(f"{self._seed}/{name}".encode(), digest_size=_TOKEN_LENGTH).digest()
        return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest)

    def find_in(self, *values: Any) -> list[str]:
        """Carriers whose canary is in the values, sorted.

        Texts and bytes are searched as they are and through JSON escapes, percent encoding, base64, hexadecimal,
        UTF-16 and gzip; mappings, sequences, dataclasses, models and exceptions with all that is attached to them are
        walked.
        """
        found = {owner for value in values for data in texts_in(value) for owner in self._owners_in(data)}
        return sorted(found)

    def assert_absent(self, *values: Any) -> None:
        """Raise AssertionError that names the carriers found."""
        found = self.find_in(*values)
        if found:
            message = f"canaries found: {', '.join(found)}"
            raise AssertionError(message)

    def _add(self, name: str, form: str) -> None:
        token = self.token(name)
        self._texts[name] = _sealed(token) if form == "sealed" else _PROSE[len(name) % len(_PROSE)].format(token)
        for start in range(len(token) - FRAGMENT + 1):
            self._owners[token[start : start + FRAGMENT].encode()] = name

    def _owners_in(self, data: bytes) -> Iterator[str]:
        for form in _forms(data):
            for run in _RUN.findall(form.lower()):
                pieces = (run[start : start + FRAGMENT] for start in range(len(run) - FRAGMENT + 1))
                yield from (self._owners[piece] for piece in pieces if piece in self._owners)


def _sealed(token: str) -> str:
    """A token dressed as a signature: readable in it, and once more in base64."""
    return f"EqQB{token}+{base64.b64encode(token.encode()).decode()}"


_DEEPEST = 3
_JSON_ESCAPE = re.compile(rb"\\+u00([0-9a-fA-F]{2})")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){%d,}" % FRAGMENT)
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_DIGEST = re.compile(rb"[0-9a-f]+")
_URLSAFE = bytes.maketrans(b"-_", b"+/")


def _forms(data: bytes, depth: int = 0) -> Iterator[bytes]:
    """The data, and what it decodes to."""
    yield data
    if depth < _DEEPEST:
        for decoded in _decoded(data):
            yield from _forms(decoded, depth + 1)


def _decoded(data: bytes) -> Iterator[bytes]:
    if len(data) < FRAGMENT:
        return
    if b"\0" in data:
        yield data.replace(b"\0", b"")  # UTF-16 and UTF-32 of these letters
    if b"\\u00" in data:
        yield _JSON_ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), data)
    if b"%" in data and (plain := unquote_to_bytes(data)) != data:
        yield plain
    if data[:2] in (b"\x1f\x8b", b"\x78\x9c", b"\x78\x01", b"\x78\xda"):
        yield from _inflated(data)
    yield from (binascii.unhexlify(run) for run in _HEX.findall(data))
    for run in _BASE64.findall(data):
        if not _DIGEST.fullmatch(run):
            yield from _from_base64(run)


def _inflated(data: bytes) -> Iterator[bytes]:
    try:
        yield gzip.decompress(data) if data[0] == 0x1F else zlib.decompress(data)
    except (OSError, EOFError, zlib.error):
        return


def _from_base64(run: bytes) -> Iterator[bytes]:
    """The run decoded from each of its four possible beginnings, where the result could hold a piece."""
    for start in range(4):
        whole = run[start : len(run) - (len(run) - start) % 4]
        decoded = base64.b64decode(whole.translate(_URLSAFE)) if whole else b""
        if _RUN.search(decoded.lower()) or _BASE64.search(decoded) or b"\0" in decoded:
            yield decoded


def texts_in(value: Any) -> Iterator[bytes]:
    """Every text in a value, as bytes."""
    return _walk(value, set())


def _walk(value: Any, seen: set[int]) -> Iterator[bytes]:
    if isinstance(value, bytes | bytearray | memoryview):
        yield bytes(value)
    elif isinstance(value, str):
        yield value.encode("utf-8", "surrogatepass")
    elif value is not None and not isinstance(value, bool | int | float) and id(value) not in seen:
        seen.add(id(value))
        for part in _parts(value):
            yield from _walk(part, seen)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, BaseException):
        return _exception_parts(value)
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, one.name) for one in fields(value)]
    return [*vars(value).values(), repr(value)] if hasattr(value, "__dict__") else [repr(value)]


def _exception_parts(error: BaseException) -> list[Any]:
    attached = [error.__cause__, error.__context__, getattr(error, "__notes__", None)]
    held = getattr(error, "exceptions", ())
    return [str(error), repr(error), error.args, vars(error), *attached, *held]
