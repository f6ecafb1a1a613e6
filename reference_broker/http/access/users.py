"""``/api/users``: the users, for administrators."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.users import User
from reference_broker.core.base.limits import MIB
from reference_broker.core.broker import Broker
from reference_broker.http.access.password_hashing import hashed_for
from reference_broker.http.access.permissions import permission_rows, topic_permission_rows
from reference_broker.http.access.user_request import UserRequest, checked_name
from reference_broker.http.request.answer import ApiError, Row, bad_request, not_found
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.handlings import handlings_of
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns

USER_BYTES_MAX = 1 * MIB
"""Bytes of a request about users: room for some thousand names or permissions."""


class Users:
    """``/api/users`` and the paths below."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        users = self._host.broker.users.all()
        return await listed(request, users, user_row, order=lambda user: user.name)

    async def without_permissions(self, request: Request) -> Response:
        """The users who may enter no virtual host."""
        broker = self._host.broker
        entering = {user for _, user, _ in broker.access.permissions()}
        users = [user for user in broker.users.all() if user.name not in entering]
        return await listed(request, users, user_row, order=lambda user: user.name)

    async def show(self, request: Request) -> Response:
        return shown_columns(request, user_row(_user(self._host.broker, request)))

    async def put(self, request: Request) -> Response:
        """Make a user (201), or change one (204). Without password and hash nobody can log in."""
        name = checked_name(request.path_params["user"], "user")
        body = await read_object(request, (), bytes_max=USER_BYTES_MAX)
        wanted = UserRequest.parse(body)
        handlings = handlings_of(request)
        hashed = handlings.hashes.get(name)
        if hashed is None:
            hashed = await hashed_for(self._host.broker.users.passwords, wanted)
            handlings.hashes[name] = hashed
        with self._inputs.begin(request) as broker:
            _check_vhosts(broker, wanted.permissions)
            is_new = name not in broker.users or handlings.has_made
            broker.access.put_user(name, hashed, wanted.tags, wanted.limits)
            if is_new:
                for vhost, permission in wanted.permissions.items():
                    broker.access.set_permission(name, vhost, permission)
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.CREATED if is_new else HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        """Remove the user and all permissions; connections are closed (320)."""
        with self._inputs.begin(request) as broker:
            broker.delete_user(_user(broker, request).name)
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def bulk_delete(self, request: Request) -> Response:
        """Remove several users. A name that is not there ends the request; users named before it
        are gone."""
        body = await read_object(request, ("users",), bytes_max=USER_BYTES_MAX)
        names = body["users"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise bad_request(["not_list", "users"])
        missing = None
        known: dict[str, None] = {}
        deleted = handlings_of(request).deleted
        with self._inputs.begin(request) as broker:
            for name in names:
                if name in known or not (name in broker.users or name in deleted):
                    missing = name
                    break
                known[name] = None
            deleted.update(known)
            broker.delete_users(name for name in known if name in broker.users)
        await self._inputs.defined()
        if missing is not None:
            raise no_such_user(missing)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def permissions(self, request: Request) -> Response:
        name = _user(self._host.broker, request).name
        rows = permission_rows(self._host.broker, user=name)
        return await listed(request, rows, _itself)

    async def topic_permissions(self, request: Request) -> Response:
        name = _user(self._host.broker, request).name
        rows = topic_permission_rows(self._host.broker, user=name)
        return await listed(request, rows, _itself)


def user_row(user: User) -> Row:
    """A user as RabbitMQ shows one, hash included."""
    return {
        "name": user.name,
        "password_hash": user.password.in_base64(),
        "hashing_algorithm": user.password.algorithm,
        "tags": list(user.tags),
        "limits": dict(user.limits),
    }


def no_such_user(name: str) -> ApiError:
    """The answer to a body that names an unknown user."""
    return bad_request(["no_such_user", name])


def _user(broker: Broker, request: Request) -> User:
    user = broker.users.get(request.path_params["user"])
    if user is None:
        raise not_found()
    return user


def _check_vhosts(broker: Broker, permissions: Mapping[str, Any]) -> None:
    for vhost in permissions:
        if vhost not in broker.vhosts:
            raise bad_request(["no_such_vhost", vhost])


def _itself(row: Row) -> Row:
    return row
