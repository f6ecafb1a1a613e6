"""Answers as RabbitMQ words them: JSON, and errors as ``{"error": ..., "reason": ...}``."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from reference_broker.errors import AmqpError, NotAgreed

Row: TypeAlias = dict[str, Any]
"""One object of an answer."""

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
"""The handler of a path."""

MEDIA_TYPE = "application/json"
NO_CACHE = {"cache-control": "no-cache"}
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class ApiError(Exception):
    """Ends a request with ``status`` and RabbitMQ's two fields.

    ``reason`` is a text, or a list where RabbitMQ prints an Erlang tuple.
    """

    def __init__(
        self,
        status: HTTPStatus,
        error: str,
        reason: str | list[Any],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status.value} {error}: {reason}")
        self.status = status
        self.error = error
        self.reason = reason
        self.headers = dict(headers or {})

    def response(self) -> Response:
        return json_response(
            {"error": self.error, "reason": self.reason}, self.status, self.headers
        )


def not_found() -> ApiError:
    """There is no such object, or no such path."""
    return ApiError(HTTPStatus.NOT_FOUND, "Object Not Found", "Not Found")


def bad_request(reason: str | list[Any]) -> ApiError:
    """The request can't be understood, or the broker refuses what it asks for."""
    return ApiError(HTTPStatus.BAD_REQUEST, "bad_request", reason)


def encode(value: object) -> bytes:
    """Compact JSON in ASCII, so that a name with octets that are no UTF-8 can be shown too."""
    return _ENCODER.encode(value).encode()


def json_response(
    value: object, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """``value`` as the whole answer."""
    return Response(encode(value), status, {**NO_CACHE, **(headers or {})}, MEDIA_TYPE)


def not_agreed(reason: str) -> ApiError:
    """The refusal of a change for which the other nodes of the cluster can't be asked."""
    unavailable = HTTPStatus.SERVICE_UNAVAILABLE
    return ApiError(unavailable, unavailable.phrase, reason)


async def answer_api_error(request: Request, error: Exception) -> Response:
    """Starlette's hook for :exc:`ApiError`."""
    assert isinstance(error, ApiError)
    return error.response()


async def answer_amqp_error(request: Request, error: Exception) -> Response:
    """The answer to a refusal of the core: the code and text that an AMQP client would have got."""
    assert isinstance(error, AmqpError)
    if isinstance(error, NotAgreed):
        return not_agreed(error.text).response()
    return bad_request(f"{error.code.value} {error.reply_text}").response()


async def answer_http_exception(request: Request, error: Exception) -> Response:
    """The answer to a refusal of Starlette's: unknown paths, and methods that a path doesn't
    have."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.NOT_FOUND:
        return not_found().response()
    return Response(status_code=status, headers=error.headers)


async def answer_mistake(request: Request, error: Exception) -> Response:
    """The answer to a mistake of ours: Starlette raises it again after this, so that it is
    logged."""
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return ApiError(status, "internal_server_error", "see the broker's log").response()
