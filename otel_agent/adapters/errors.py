"""What an exception says without its message, its arguments or its cause: those repeat prompts and answers.

The SDKs of one family (Anthropic, OpenAI, Groq) put the same few attributes on their errors.
"""

from __future__ import annotations

from typing import Any, Final

from otel_agent.fields import OTHER, count, error_type, get, identifier
from otel_agent.protocol import ErrorFacts
from otel_agent.tally import tally

KNOWN: Final = frozenset({
    # Anthropic names its errors by their type
    "invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error", "rate_limit_error",
    "timeout_error", "api_error", "overloaded_error", "conflict_error", "request_too_large", "gateway_timeout_error",
    # OpenAI: error.code, error.type, and the code of a failed response
    "rate_limit_exceeded", "insufficient_quota", "context_length_exceeded", "invalid_api_key", "model_not_found",
    "string_above_max_length", "unsupported_parameter", "unsupported_value", "unknown_parameter", "invalid_value", "invalid_type",
    "missing_required_parameter", "billing_hard_limit_reached", "account_deactivated", "content_filter",
    "content_policy_violation", "server_error", "invalid_prompt", "bio_policy", "data_residency_mismatch",
    "misalignment_policy_violation", "vector_store_timeout", "invalid_image", "invalid_image_format", "invalid_base64_image",
    "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error", "image_content_policy_violation",
    "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file",
    "failed_to_download_image", "image_file_not_found", "previous_response_not_found", "invalid_encrypted_content",
    "service_unavailable_error", "server_overloaded", "engine_overloaded", "requests", "tokens",
    # Compatible servers
    "tool_use_failed", "json_validate_failed", "BadRequestError", "NotFoundError", "exceeded_current_quota_error",
    "DeploymentNotFound", "engine_overloaded_error",
})  # fmt: skip
"""Provider codes kept as they are. Any other code is text from outside: the exception's class stands for it."""


def read(error: BaseException) -> ErrorFacts:
    """Class or known code, status and request id of an exception. Never raises for lack of an attribute."""
    status = count(getattr(error, "status_code", None))
    return ErrorFacts(
        error_type=_known(error) or error_type(type(error).__name__) or OTHER,
        status_code=status if status is not None and 100 <= status < 600 else None,
        request_id=identifier(getattr(error, "request_id", None)),
    )


def reported(source: Any) -> str:
    """The type of a failure that came as data (an ``error`` event, a failed response): its known code, else :data:`OTHER`."""
    code = _known(source)
    if code is None:
        tally("unknown", "error_code")
    return code or OTHER


def _known(source: Any) -> str | None:
    """The most telling known word: the code, else the type."""
    for name in ("code", "type"):
        word = get(source, name)
        if isinstance(word, str) and word in KNOWN:
            return str.__str__(word)
    return None
