"""Why a request is refused, and how each transport says so. The texts are ours alone: nothing of the request is ever quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.rpc.code_pb2 import (
    INTERNAL,
    INVALID_ARGUMENT,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
)
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason. ``retry``: the sender may send the same again, later."""

    text: str
    http: int
    grpc: int
    retry: bool = False

    def status(self, retry_after: int) -> Status:
        """The OTLP status body, with the pause to make when a retry makes sense."""
        status = Status(code=self.grpc, message=self.text)
        if self.retry:
            status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=retry_after)))
        return status


class Refused(Exception):
    """Carries a :class:`Refusal` from where it is noticed to the transport."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


MALFORMED: Final = Refusal("the body is not a valid OTLP request", 400, INVALID_ARGUMENT)
TOO_DEEP: Final = Refusal("the body is nested too deeply", 400, INVALID_ARGUMENT)
TOO_LARGE: Final = Refusal("the body is larger than this receiver takes", 413, RESOURCE_EXHAUSTED)
MEDIA_TYPE: Final = Refusal("the content type must be application/x-protobuf or application/json", 415, INVALID_ARGUMENT)
ENCODING: Final = Refusal("the content encoding must be gzip, deflate or identity", 415, UNIMPLEMENTED)
SLOW: Final = Refusal("the body did not arrive in time", 408, UNAVAILABLE)
UNKNOWN_SENDER: Final = Refusal("a bearer token is required", 401, UNAUTHENTICATED)
WEB_PAGE: Final = Refusal("without a token nothing is taken from web pages", 403, PERMISSION_DENIED)
BUSY: Final = Refusal("too much is waiting to be stored", 429, UNAVAILABLE, retry=True)
NOT_STORED: Final = Refusal("the records could not be stored", 503, UNAVAILABLE, retry=True)
FAULT: Final = Refusal("the receiver failed on this request", 500, INTERNAL)
