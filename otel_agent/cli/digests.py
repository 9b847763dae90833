"""``otel-agent digest``: recompute a digest, to ask the record "was it called with exactly this?"."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from otel_agent.digest import Digester
from otel_agent.settings import SettingsError, from_env


def add(parsers: Any) -> None:
    """Mount the verb."""
    verb = parsers.add_parser(
        "digest",
        help="digest of a JSON value, as records hold it",
        description="Digest of a JSON value (or of text) under the key in OTEL_AGENT_DIGEST_KEY or OTEL_AGENT_DIGEST_KEY_FILE.",
    )
    verb.add_argument("value", help="the JSON value, or - to read it from standard input")
    verb.add_argument("--text", action="store_true", help="take the value as text (for answer digests)")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(act=act)


def act(arguments: argparse.Namespace) -> int:
    """Print the digest."""
    settings = from_env()
    if settings.digest_key is None:
        raise SettingsError("there is no OTEL_AGENT_DIGEST_KEY; digests can only be compared under the key they were made with")
    given = sys.stdin.read() if arguments.value == "-" else arguments.value
    digester = Digester.of_key(settings.digest_key, settings.digest_key_id)
    if arguments.text:
        made = digester.digest_text(given)
    else:
        try:
            made = digester.digest(json.loads(given))
        except (ValueError, RecursionError):
            raise SettingsError("the value is not JSON; quote text as JSON, or pass --text") from None
    print(json.dumps({"digest": made}) if arguments.json else made)
    return 0
