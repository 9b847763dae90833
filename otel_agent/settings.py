"""Settings: frozen, read once. :func:`from_env` is the only reader of the environment.

Everything about where telemetry goes follows the standard ``OTEL_*`` variables. What is ours begins with ``OTEL_AGENT_``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from otel_agent.variables import (
    SIGNALS,
    SettingsError,
    blank,
    check_export,
    choice,
    doubled,
    encrypted,
    flag,
    number,
    protocol,
    stand_ins,
    unreadable,
    whole,
)

__all__ = ["Settings", "SettingsError", "from_env"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Values of one process.

    ``digest_key``: secret for digests, at least 16 bytes; without one a random key per process is used and digests are marked
    ephemeral. ``digests``: ``False`` leaves every digest out. ``answer_digest``: digest and size band of the visible answer.
    ``older_metrics``: also emit the metric names from before the conventions' v0.1.0. ``exit_timeout``: seconds that the last export
    may hold up the end of the process. ``label_limit``: distinct values of one open label before the overflow value is used.
    ``hindered``: signal → why it cannot be exported, though it should be. ``stand_ins``: signal → arguments to its exporter in place of
    variables that it would misread, and under ``exemplars`` whether there is such a one.
    """

    digest_key: bytes | None = field(default=None, repr=False)
    digest_key_id: str | None = None
    digests: bool = True
    answer_digest: bool = True
    older_metrics: bool = False
    exit_timeout: float = 2.0
    label_limit: int = 200
    protocol: str = "grpc"
    exporters: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(("traces", "metrics", "logs"), "otlp"))
    signal_protocols: Mapping[str, str] = field(default_factory=dict)
    hindered: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, Any] = field(default_factory=dict, repr=False)
    sdk_disabled: bool = False


_EXPORTERS: Final = ("otlp", "console", "none")
KEY_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""The spelling that digests ask of a key id."""


def _key(env: Mapping[str, str]) -> bytes | None:
    text = env.get("OTEL_AGENT_DIGEST_KEY", "")
    path = env.get("OTEL_AGENT_DIGEST_KEY_FILE", "")
    if path:
        try:
            text = Path(path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            kind = type(error).__name__
            raise SettingsError(f"OTEL_AGENT_DIGEST_KEY_FILE cannot be read ({kind}); name a readable text file") from None
    if not text:
        return None
    try:
        key = text.encode()
    except UnicodeEncodeError:
        raise SettingsError("OTEL_AGENT_DIGEST_KEY is not text; make one with `openssl rand -hex 32`") from None
    if len(key) < 16:
        raise SettingsError("OTEL_AGENT_DIGEST_KEY is shorter than 16 bytes; make one with `openssl rand -hex 32`")
    return key


def _key_id(env: Mapping[str, str]) -> str | None:
    text = env.get("OTEL_AGENT_DIGEST_KEY_ID") or None
    if text is not None and KEY_ID.fullmatch(text) is None:
        raise SettingsError("OTEL_AGENT_DIGEST_KEY_ID is no key id; write one word of lower-case letters, digits, _ and -, at most 32")
    return text


def _export(env: Mapping[str, str]) -> dict[str, Any]:
    """Where telemetry goes, as fields of :class:`Settings`."""
    check_export(env)
    common = protocol(env, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    return {
        "protocol": common,
        "exporters": {signal: choice(env, f"OTEL_{signal.upper()}_EXPORTER", "otlp", _EXPORTERS) for signal in SIGNALS},
        "signal_protocols": {signal: protocol(env, f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", common) for signal in SIGNALS},
        "hindered": {signal: why for signal in SIGNALS if (why := unreadable(env, signal)) is not None},
        "stand_ins": {signal: stand_ins(env, signal) for signal in SIGNALS} | {"exemplars": blank(env, "OTEL_METRICS_EXEMPLAR_FILTER")},
    }


def from_env(env: Mapping[str, str] | None = None, *, exporting: bool = True) -> Settings:
    """Settings from the environment (or from ``env``). Raises :class:`SettingsError` at start-up, where a person sees it.

    ``exporting``: ``False`` where the host exports by itself; then what it has set for its own exporters is its own affair.
    """
    env = os.environ if env is None else env
    disabled = flag(env, "OTEL_SDK_DISABLED", False)
    return Settings(
        digest_key=_key(env),
        digest_key_id=_key_id(env),
        digests=flag(env, "OTEL_AGENT_DIGESTS", True),
        answer_digest=flag(env, "OTEL_AGENT_ANSWER_DIGEST", True),
        older_metrics="gen_ai/dup" in env.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").replace(" ", "").split(","),
        exit_timeout=number(env, "OTEL_AGENT_EXIT_TIMEOUT", 2.0, 0.0, 60.0),
        label_limit=whole(env, "OTEL_AGENT_LABEL_LIMIT", 200, 1, 100_000),
        sdk_disabled=disabled,
        **(_export(env) if exporting and not disabled else {}),
    )


LEAKS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": (
        ("content",), "the anthropic SDK writes prompts, answers and thinking text into its own spans; unset it",
    ),
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": (
        ("span_only", "event_only", "span_and_event", "true"),
        "other GenAI instrumentations write messages and reasoning into telemetry; set it to NO_CONTENT",
    ),
    "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK": (
        ("upload", "*"), "completion hooks are handed reasoning even when content capture is off; unset it",
    ),
    "MISTRAL_SDK_TELEMETRY": (("global", "*"), "the mistralai SDK writes thinking text into its spans; unset it"),
    "ANTHROPIC_LOG": (("debug", "*"), "the anthropic SDK logs request options; unset it"),
    "OPENAI_LOG": (("debug", "*"), "the openai SDK logs request options; unset it"),
    "TRACELOOP_TRACE_CONTENT": (("true",), "OpenLLMetry writes prompts and answers into spans; set it to false"),
    "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS": (("true",), "google-adk writes messages into spans; set it to false"),
    "OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA": (("true", "1"), "openai-agents uploads inputs and outputs; set it to false"),
}  # fmt: skip
"""Variables that make other software in the process emit content: the values that do, and the remedy. ``*`` is any value."""


def leaking(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of :data:`LEAKS` that are set to a leaking value, with the remedy. Values are not repeated."""
    env = os.environ if env is None else env
    found = {}
    for name, (values, remedy) in LEAKS.items():
        value = env.get(name, "").strip().lower()
        if value and (value in values or "*" in values):
            found[name] = remedy
    return found


def data_home(env: Mapping[str, str] | None = None) -> Path:
    """Folder for programs' own files, by the XDG rule; not created here."""
    env = os.environ if env is None else env
    return _absolute(env, "XDG_DATA_HOME") or Path.home() / ".local" / "share"


def _absolute(env: Mapping[str, str], name: str) -> Path | None:
    """The folder that a variable of the XDG rule names; by that rule one that is not absolute counts as unset."""
    path = Path(env.get(name, ""))
    return path if path.is_absolute() else None


def cache_home(env: Mapping[str, str] | None = None) -> Path:
    """Folder for what can be made again, by the XDG rule; not created here."""
    env = os.environ if env is None else env
    return (_absolute(env, "XDG_CACHE_HOME") or Path.home() / ".cache") / "otel-agent"


def child_environment(**changes: str) -> dict[str, str]:
    """The environment for a child process: this one's, with changes."""
    return {**os.environ, **changes}


def local_token(env: Mapping[str, str] | None = None) -> str | None:
    """The token that senders to ``otel-agent local`` must show, if one is set. Not a command-line flag: those can be read by others."""
    env = os.environ if env is None else env
    return env.get("OTEL_AGENT_LOCAL_TOKEN") or None


def local_keep_days(env: Mapping[str, str] | None = None) -> int | None:
    """Days for which ``otel-agent local`` keeps records; ``None``, the default, for ever."""
    env = os.environ if env is None else env
    return whole(env, "OTEL_AGENT_LOCAL_KEEP_DAYS", 0, 1, 36_500) or None


def endpoints(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """OTLP endpoint per signal by the standard variables, the SDK's default where none is set. May hold credentials: not for display."""
    env = os.environ if env is None else env
    settings = from_env(env)
    default = {"grpc": "http://localhost:4317", "http/protobuf": "http://localhost:4318"}
    common = env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    protocols = dict.fromkeys(SIGNALS, settings.protocol) | dict(settings.signal_protocols)
    return {signal: env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT") or common or default[protocols[signal]] for signal in SIGNALS}


def path_twice(env: Mapping[str, str] | None = None) -> bool:
    """Whether the common endpoint ends in a signal's path, which exporters over HTTP append to it once more."""
    return doubled(os.environ if env is None else env)


def over_tls(env: Mapping[str, str] | None = None) -> dict[str, bool]:
    """Signal → whether its OTLP exporter uses TLS, by the standard variables."""
    env = os.environ if env is None else env
    return {signal: encrypted(env, signal) for signal in SIGNALS}
