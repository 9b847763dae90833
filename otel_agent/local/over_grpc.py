"""OTLP over gRPC (https://opentelemetry.io/docs/specs/otlp/#otlpgrpc).

Messages reach the handlers as bytes and still compressed, so that decompression is bounded by our own rule on every version of
grpcio. A thread waits per call; calls beyond the threads wait unread in the transport, whose flow control holds their bodies back.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, NoReturn

import grpc

from otel_agent.local.bodies import PROTOBUF, gunzip_if_marked
from otel_agent.local.intake import Intake, Prepared
from otel_agent.local.refusals import NOT_STORED, Refusal, Refused
from otel_agent.local.settings import LocalSettings
from otel_agent.local.signals import SIGNALS, Signal
from otel_agent.local.writer import WriteFailed

METHOD: Final = "Export"
THREADS: Final = 32
IDENTITY_AND_GZIP: Final = 0b101
_DETAILS: Final = "grpc-status-details-bin"
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


class CannotListen(Exception):
    """An address is taken or not ours; the message says which."""


def _abort(context: grpc.ServicerContext, refusal: Refusal, retry_after: int) -> NoReturn:
    context.set_trailing_metadata(((_DETAILS, refusal.status(retry_after).SerializeToString()),))
    context.abort(_CODES[refusal.grpc], refusal.text)
    raise AssertionError("abort raises")


def _export(body: bytes, signal: Signal, intake: Intake) -> bytes:
    settings = intake.settings
    with intake.admission.ticket() as ticket:
        ticket.grow(len(body))
        inflated = gunzip_if_marked(body, settings.max_body)
        ticket.grow(max(0, len(inflated) - len(body)))
        prepared = intake.prepare(signal, inflated, PROTOBUF).result()
        if not isinstance(prepared, Prepared):
            raise Refused(prepared)
        try:
            intake.commit(prepared).result(settings.commit_timeout)
        except (WriteFailed, FutureTimeout):
            raise Refused(NOT_STORED) from None
    return bytes(prepared.answer.SerializeToString())


def _behaviour(signal: Signal, intake: Intake) -> Callable[[bytes, grpc.ServicerContext], bytes]:
    def export(body: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            return _export(body, signal, intake)
        except Refused as refused:
            _abort(context, refused.refusal, intake.settings.retry_after)

    return export


class _SenderCheck(grpc.ServerInterceptor):  # type: ignore[misc]  # grpcio carries no types
    """Refuses a sender without the token before its message is read."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        header = next((value for key, value in details.invocation_metadata if key == "authorization"), None)
        try:
            self._intake.check_sender(header if isinstance(header, str) else None)
        except Refused as refused:
            refusal = refused.refusal
            retry_after = self._intake.settings.retry_after
            return grpc.stream_unary_rpc_method_handler(lambda _, context: _abort(context, refusal, retry_after))
        return continuation(details)


def _options(settings: LocalSettings) -> tuple[tuple[str, int], ...]:
    return (
        ("grpc.max_receive_message_length", settings.max_body),
        ("grpc.per_message_decompression", 0),
        ("grpc.compression_enabled_algorithms_bitset", IDENTITY_AND_GZIP),
        ("grpc.so_reuseport", 0),
    )


def _service(signal: Signal, intake: Intake) -> Any:
    handler = grpc.unary_unary_rpc_method_handler(_behaviour(signal, intake))
    return grpc.method_handlers_generic_handler(signal.service, {METHOD: handler})


def start(settings: LocalSettings, intake: Intake) -> tuple[grpc.Server, int]:
    """A running server and its port. Raises :class:`CannotListen`."""
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="otel-agent-grpc")
    server = grpc.server(pool, interceptors=(_SenderCheck(intake),), options=_options(settings))
    server.add_generic_rpc_handlers(tuple(_service(signal, intake) for signal in SIGNALS))
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    try:
        port = server.add_insecure_port(f"{host}:{settings.grpc_port}")
    except RuntimeError:
        port = 0
    if not port:
        server.stop(None)
        where = f"{host}:{settings.grpc_port}"
        raise CannotListen(
            f"cannot listen for gRPC on {where}: the port is taken or the address is not ours; give another with --grpc-port"
        )
    server.start()
    return server, port
