"""The login of a request: HTTP Basic, for the same users as over AMQP.

Whether somebody is on this machine is judged by the socket's own address, never by a header that
the client sends (RabbitMQ's CVE-2026-57216): the listener must not rewrite ``scope["client"]``.
Nothing of a request but its headers is read before this.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from http import HTTPStatus
from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.users import Refusal, User, UserStore
from reference_broker.core.base.peer import Peer
from reference_broker.http.request.answer import ApiError

CHALLENGE = {"www-authenticate": 'Basic realm="RabbitMQ Management"'}

CHECK_TIMEOUT_S = 30.0
"""Seconds that a request waits for its password to be checked."""


class NoCredentials(Exception):
    """The request has no login that can be read; ``response`` is the answer, which has no body."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        headers = CHALLENGE if status is HTTPStatus.UNAUTHORIZED else None
        self.response = Response(status_code=status, headers=headers)


def credentials(authorization: str) -> tuple[str, bytes]:
    """Name and password of an ``Authorization`` header (RFC 7617).

    Raises :exc:`NoCredentials`: 401 where there is none, 400 for one that can't be read; and
    :exc:`ApiError` 401 for a token, which nobody has here.
    """
    if not authorization:
        raise NoCredentials(HTTPStatus.UNAUTHORIZED)
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() == "bearer":
        raise login_failed()
    if scheme.lower() != "basic":
        raise NoCredentials(HTTPStatus.BAD_REQUEST)
    try:
        name, separator, password = base64.b64decode(encoded, validate=True).partition(b":")
        text = name.decode()
    except (binascii.Error, ValueError):
        raise NoCredentials(HTTPStatus.BAD_REQUEST) from None
    if not separator:
        raise NoCredentials(HTTPStatus.BAD_REQUEST)
    return text, password


def user_of(request: Request) -> User:
    """The user of a request that was let in (``authorization.py``)."""
    return cast(User, request.scope["user"])


async def authenticated(users: UserStore, request: Request, name: str, password: bytes) -> User:
    """The user of a login that came with this request. Raises :exc:`ApiError`: 401 for a wrong one,
    503 where too many are being checked."""
    login = await _checked(users, name, password, _peer_of(request))
    if isinstance(login, User):
        return login
    if login is Refusal.LOOPBACK_ONLY:
        raise not_authorised("User can only log in via localhost")
    if login is Refusal.BUSY:
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "busy", login.value)
    raise login_failed()


def login_failed() -> ApiError:
    """The answer to a login that is wrong, whatever was wrong with it."""
    return ApiError(HTTPStatus.UNAUTHORIZED, "not_authorized", "Login failed", CHALLENGE)


def not_authorised(reason: str) -> ApiError:
    """The answer to a right login that may not do this. Another one is not asked for."""
    return ApiError(HTTPStatus.UNAUTHORIZED, "not_authorised", reason)


async def _checked(users: UserStore, name: str, password: bytes, peer: Peer) -> User | Refusal:
    login: asyncio.Future[User | Refusal] = asyncio.get_running_loop().create_future()

    def answer(found: User | Refusal) -> None:
        if not login.done():  # the request may have left
            login.set_result(found)

    users.authenticate(name, password, peer, answer, lambda: not login.done())
    try:
        return await asyncio.wait_for(login, CHECK_TIMEOUT_S)
    except TimeoutError:
        return Refusal.BUSY


def _peer_of(request: Request) -> Peer:
    """The socket's two ends; an unknown address is on no machine of ours."""
    host, port = request.scope.get("client") or ("", 0)
    local_host, local_port = request.scope.get("server") or ("", 0)
    return Peer(host, port, local_host, local_port or 0)
