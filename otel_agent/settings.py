"""Settings: frozen, read once. :func:`from_env` is the only reader of the environment.

Everything about where telemetry goes follows the standard ``OTEL_*`` variables. What is ours begins with ``OTEL_AGENT_``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final


class SettingsError(ValueError):
    """A setting cannot be used. The message names the variable, the kind of its value and the remedy, never the value."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Values of one process.

    ``digest_key``: secret for digests, at least 16 bytes; without one a random key per process is used and digests are marked
    ephemeral. ``digests``: ``False`` leaves every digest out. ``answer_digest``: digest and size band of the visible answer.
    ``older_metrics``: also emit the metric names from before the conventions' v0.1.0. ``exit_timeout``: seconds that the last export
    may hold up the end of the process. ``label_limit``: distinct values of one open label before the overflow value is used.
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
    sdk_disabled: bool = False


_TRUE: Final = {"1", "true", "yes", "on"}
_FALSE: Final = {"0", "false", "no", "off"}
_SIGNALS: Final = ("traces", "metrics", "logs")
_PROTOCOLS: Final = ("grpc", "http/protobuf")
_EXPORTERS: Final = ("otlp", "console", "none")


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    text = env.get(name, "").strip().lower()
    if not text:
        return default
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise SettingsError(f"{name} is neither a yes nor a no; write true or false")


def _number(env: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{name} is not a number; write one from {low:g} to {high:g}") from None
    if not low <= value <= high:
        raise SettingsError(f"{name} is out of range; write a number from {low:g} to {high:g}")
    return value


def _choice(env: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    text = env.get(name, "").strip() or default
    if text not in allowed:
        raise SettingsError(f"{name} is not one of {', '.join(allowed)}")
    return text


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
    if len(text.encode()) < 16:
        raise SettingsError("OTEL_AGENT_DIGEST_KEY is shorter than 16 bytes; make one with `openssl rand -hex 32`")
    return text.encode()


def _protocol(env: Mapping[str, str], name: str, default: str) -> str:
    return _choice(env, name, default, _PROTOCOLS)


def from_env(env: Mapping[str, str] | None = None) -> Settings:
    """Settings from the environment (or from ``env``). Raises :class:`SettingsError` at start-up, where a person sees it."""
    env = os.environ if env is None else env
    protocol = _protocol(env, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    return Settings(
        digest_key=_key(env),
        digest_key_id=env.get("OTEL_AGENT_DIGEST_KEY_ID") or None,
        digests=_flag(env, "OTEL_AGENT_DIGESTS", True),
        answer_digest=_flag(env, "OTEL_AGENT_ANSWER_DIGEST", True),
        older_metrics="gen_ai/dup" in env.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").replace(" ", "").split(","),
        exit_timeout=_number(env, "OTEL_AGENT_EXIT_TIMEOUT", 2.0, 0.0, 60.0),
        label_limit=int(_number(env, "OTEL_AGENT_LABEL_LIMIT", 200, 1, 100_000)),
        protocol=protocol,
        exporters={s: _choice(env, f"OTEL_{s.upper()}_EXPORTER", "otlp", _EXPORTERS) for s in _SIGNALS},
        signal_protocols={s: _protocol(env, f"OTEL_EXPORTER_OTLP_{s.upper()}_PROTOCOL", protocol) for s in _SIGNALS},
        sdk_disabled=_flag(env, "OTEL_SDK_DISABLED", False),
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
    return Path(env.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def cache_home(env: Mapping[str, str] | None = None) -> Path:
    """Folder for what can be made again, by the XDG rule; not created here."""
    env = os.environ if env is None else env
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "otel-agent"


def child_environment(**changes: str) -> dict[str, str]:
    """The environment for a child process: this one's, with changes."""
    return {**os.environ, **changes}


def local_token(env: Mapping[str, str] | None = None) -> str | None:
    """The token that senders to ``otel-agent local`` must show, if one is set. Not a command-line flag: those can be read by others."""
    env = os.environ if env is None else env
    return env.get("OTEL_AGENT_LOCAL_TOKEN") or None


def endpoints(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """OTLP endpoint per signal by the standard variables, the SDK's default where none is set. May hold credentials: not for display."""
    env = os.environ if env is None else env
    settings = from_env(env)
    default = {"grpc": "http://localhost:4317", "http/protobuf": "http://localhost:4318"}
    common = env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return {
        signal: env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT") or common or default[settings.signal_protocols[signal]]
        for signal in _SIGNALS
    }
