"""OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp), and the queries readers ask, on one Starlette app."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Final

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from otel_agent.local.admission import Ticket
from otel_agent.local.bodies import JSON, PROTOBUF, READERS, inflate
from otel_agent.local.intake import Intake, Prepared
from otel_agent.local.refusals import MEDIA_TYPE, NOT_STORED, SLOW, TOO_LARGE, UNKNOWN_SENDER, WEB_PAGE, Refusal, Refused
from otel_agent.local.signals import SIGNALS, Signal
from otel_agent.local.writer import WriteFailed

Handler = Callable[[Request], Awaitable[Response]]

_WRITERS: Final[dict[str, Callable[[Message], bytes]]] = {
    PROTOBUF: lambda message: message.SerializeToString(),
    JSON: lambda message: MessageToJson(message, indent=None).encode("utf-8"),
}


def _header(request: Request, name: str) -> str:
    return request.headers.get(name, "").partition(";")[0].strip().lower()


def _media_type(request: Request) -> str:
    """The body's type, which is also the answer's. Raises :class:`Refused` for any but the two of OTLP."""
    media_type = _header(request, "content-type")
    if media_type not in READERS:
        raise Refused(MEDIA_TYPE)
    return media_type


async def _read(request: Request, ticket: Ticket, limit: int) -> bytes:
    """The body as sent, refused as soon as it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        ticket.grow(len(chunk))
        body += chunk
        if len(body) > limit:
            raise Refused(TOO_LARGE)
    return bytes(body)


async def _body(request: Request, ticket: Ticket, intake: Intake) -> bytes:
    """The decompressed body, within the time and size allowed."""
    limit = intake.settings.max_body
    try:
        async with asyncio.timeout(intake.settings.body_timeout):
            body = await _read(request, ticket, limit)
    except TimeoutError:
        raise Refused(SLOW) from None
    inflated = inflate(body, _header(request, "content-encoding"), limit)
    ticket.grow(len(inflated) - len(body) if len(inflated) > len(body) else 0)
    return inflated


async def _committed(done: Future[None], patience: float) -> None:
    try:
        async with asyncio.timeout(patience):
            await asyncio.wrap_future(done)
    except (WriteFailed, TimeoutError):
        raise Refused(NOT_STORED) from None


def _check_sender(request: Request, intake: Intake) -> None:
    """Browsers say where a page is from with every POST, also where its name has come to mean this machine; senders of OTLP never do."""
    if intake.settings.token is None and "origin" in request.headers:
        raise Refused(WEB_PAGE)
    intake.check_sender(request.headers.get("authorization"))


async def _export(request: Request, signal: Signal, intake: Intake) -> Message:
    media_type = _media_type(request)
    _check_sender(request, intake)
    with intake.admission.ticket() as ticket:
        body = await _body(request, ticket, intake)
        prepared = await asyncio.wrap_future(intake.prepare(signal, body, media_type))
        if not isinstance(prepared, Prepared):
            raise Refused(prepared)
        await _committed(intake.commit(prepared), intake.settings.commit_timeout)
    return prepared.answer


def _refuse(request: Request, refusal: Refusal, retry_after: int) -> Response:
    media_type = _header(request, "content-type")
    media_type = media_type if media_type in _WRITERS else PROTOBUF
    headers = {"Retry-After": str(retry_after)} if refusal.retry else {}
    if refusal is UNKNOWN_SENDER:
        headers["WWW-Authenticate"] = "Bearer"
    content = _WRITERS[media_type](refusal.status(retry_after))
    return Response(content, refusal.http, headers, media_type=media_type)


def _handler(signal: Signal, intake: Intake) -> Handler:
    async def export(request: Request) -> Response:
        try:
            answer = await _export(request, signal, intake)
        except Refused as refused:
            return _refuse(request, refused.refusal, intake.settings.retry_after)
        except ClientDisconnect:
            return Response(status_code=499)
        media_type = _media_type(request)
        return Response(_WRITERS[media_type](answer), media_type=media_type)

    return export


def otlp_routes(intake: Intake) -> list[Route]:
    """One POST route per signal."""
    return [Route(signal.path, _handler(signal, intake), methods=["POST"]) for signal in SIGNALS]


def any_json(value: Any) -> Any:
    """``value`` with what JSON has no word for (not-a-number, infinities) as ``null``."""
    if isinstance(value, float) and value - value != 0.0:
        return None
    if isinstance(value, dict):
        return {key: any_json(item) for key, item in value.items()}
    return [any_json(item) for item in value] if isinstance(value, list) else value
