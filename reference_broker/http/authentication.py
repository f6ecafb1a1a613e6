"""Who may use the management API: HTTP Basic, the same users as over AMQP.

Whether somebody is on this machine is judged by the socket's own address, never by a header that
the client sends (RabbitMQ's CVE-2026-57216): the listener must not rewrite ``scope["client"]``.
Nothing of a request but its headers is read before this.
"""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from typing import cast

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.core.peer import Peer
from reference_broker.core.users import User, UserStore
from reference_broker.http.answer import ApiError

MANAGEMENT_TAGS = ("management", "policymaker", "monitoring", "administrator")
"""A user needs one of them (rabbitmq.com/docs/management#permissions)."""

_CHALLENGE = {"www-authenticate": 'Basic realm="mqkit management"'}


def credentials(authorization: str) -> tuple[str, bytes] | None:
    """Name and password of an ``Authorization`` header; ``None`` if it can't be read (RFC 7617)."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, separator, password = base64.b64decode(encoded, validate=True).partition(b":")
        return (name.decode(), password) if separator else None
    except (binascii.Error, ValueError):
        return None


def user_of(request: Request) -> User:
    """Who sent a request that :class:`Authentication` let through."""
    return cast(User, request.scope["user"])


class Authentication:
    """Answers 401 to everybody who is not a management user; the rest goes to ``app``."""

    def __init__(self, app: ASGIApp, users: UserStore) -> None:
        self._app = app
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope["user"] = self._authenticated(scope)
        except ApiError as error:
            await error.response()(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _authenticated(self, scope: Scope) -> User:
        login = credentials(Headers(scope=scope).get("authorization", ""))
        user = None if login is None else self._users.authenticate(*login, _peer_of(scope))
        if user is None:
            raise _refused("Login failed")
        if not any(tag in MANAGEMENT_TAGS for tag in user.tags):
            raise _refused("Not management user")
        return user


def _refused(reason: str) -> ApiError:
    return ApiError(HTTPStatus.UNAUTHORIZED, "not_authorized", reason, _CHALLENGE)


def _peer_of(scope: Scope) -> Peer:
    """The socket's two ends; an address that isn't known is on no machine of ours."""
    host, port = scope.get("client") or ("", 0)
    local_host, local_port = scope.get("server") or ("", 0)
    return Peer(host, port, local_host, local_port or 0)
