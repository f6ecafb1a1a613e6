"""Bodies of requests that declare and delete, and the core's refusals in the words of the
management API (rabbit_mgmt_util: a scope of its own, without reply codes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mqkit.wire import EncodeError, encode_table
from reference_broker.core.broker import Broker
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import AmqpError, ReplyCode
from reference_broker.http.request.answer import ApiError, bad_request
from reference_broker.http.request.authentication import not_authorised, user_of
from reference_broker.http.request.authorization import ACCESS_REFUSED

_FLAGS = {"true": True, "false": False}
"""Booleans as rabbitmqadmin sends them."""


def flag(body: Mapping[str, Any], name: str) -> bool:
    """A yes or no of the body; no where it is not there. Raises :exc:`ApiError` 400."""
    value = body.get(name, False)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _FLAGS:
        return _FLAGS[value]
    raise bad_request(["not_boolean", value])


def arguments_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a declaration. Raises :exc:`ApiError` 400: AMQP's tables have no null that
    an argument could be, and bounds of their own, beyond which no client could be told of them."""
    value = body.get("arguments", {})
    if value == []:  # how Erlang shows an empty table
        return {}
    if not isinstance(value, dict):
        raise bad_request(["not_json_object", "arguments"])
    if has_null(value):
        raise bad_request("null_not_allowed")
    try:
        encode_table(value)
    except (EncodeError, UnicodeEncodeError) as error:
        raise bad_request(f"arguments: {error}") from error
    return value


def has_null(value: Any) -> bool:
    """True if there is a JSON null anywhere in ``value``, however deep it is."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each is None:
            return True
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return False


def vhost_to_change(broker: Broker, request: Request) -> VHost:
    """The virtual host in the path of a PUT or POST, in which the user must have a permission: an
    administrator needs one too. Raises :exc:`ApiError`: 404 where there is no such virtual host,
    401 where the user has no permission in it."""
    vhost = broker.vhosts.get(request.path_params["vhost"])
    if vhost is None:
        raise ApiError(HTTPStatus.NOT_FOUND, "not_found", "vhost_not_found")
    if broker.access.permission(user_of(request).name, vhost.name) is None:
        raise not_authorised(ACCESS_REFUSED)
    return vhost


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the core's refusals inside the block into answers in the management API's own words."""
    try:
        yield
    except AmqpError as error:
        raise refusal_of(error) from error


def refusal_of(error: AmqpError) -> ApiError:
    """The answer to a declare, delete, bind, unbind or purge that the core refused."""
    if error.code is ReplyCode.NOT_FOUND:
        return ApiError(HTTPStatus.NOT_FOUND, "not_found", error.text)
    if error.code in (ReplyCode.ACCESS_REFUSED, ReplyCode.NOT_ALLOWED):
        return not_authorised(ACCESS_REFUSED)
    return bad_request(error.text)


def check_name(kind: str, name: str) -> None:
    """Raises :exc:`ApiError` 400 for a name that no shortstr holds."""
    size = len(name.encode(errors="surrogateescape"))
    if size > 255:
        raise bad_request(f"{kind} should be less than 255 bytes, actually was {size}\n")


def put_answer(*, existed: bool) -> Response:
    """The answer to a PUT: 201 for a new object, 204 for one that was there."""
    return Response(status_code=HTTPStatus.NO_CONTENT if existed else HTTPStatus.CREATED)


def wants(request: Request, condition: str) -> bool:
    """True if the query sets a condition: ``if-empty=true``."""
    return request.query_params.get(condition) == "true"
