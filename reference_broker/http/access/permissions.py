"""``/api/permissions`` and ``/api/topic-permissions``, for administrators."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.permission import Permission, TopicPermission
from reference_broker.core.base.pattern import BadPattern
from reference_broker.core.broker import Broker
from reference_broker.http.access.user_request import invalid_pattern, permission_of, text_in
from reference_broker.http.request.answer import Row, bad_request, not_found
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns


def permission_rows(
    broker: Broker, user: str | None = None, vhost: str | None = None
) -> Iterator[Row]:
    """The permissions of a user, or in a virtual host, or all. They may be taken in portions."""
    return (
        permission_row(place, name, permission)
        for place, name, permission in broker.access.permissions()
        if user in (None, name) and vhost in (None, place)
    )


def permission_row(vhost: str, user: str, permission: Permission) -> Row:
    configure, write, read = permission.texts()
    return {"user": user, "vhost": vhost, "configure": configure, "write": write, "read": read}


def topic_permission_rows(
    broker: Broker, user: str | None = None, vhost: str | None = None
) -> Iterator[Row]:
    """The topic permissions of a user, or in a virtual host, or all. They may be taken in
    portions."""
    return (
        {"user": name, "vhost": place, "exchange": exchange} | permission._asdict()
        for place, name, exchange, permission in broker.access.topic_permissions()
        if user in (None, name) and vhost in (None, place)
    )


class Permissions:
    """``/api/permissions`` and the paths below."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        return await listed(request, permission_rows(self._host.broker), _itself)

    async def of_vhost(self, request: Request) -> Response:
        vhost = _known_vhost(self._host.broker, request)
        return await listed(request, permission_rows(self._host.broker, vhost=vhost), _itself)

    async def show(self, request: Request) -> Response:
        vhost, user = _names(request)
        permission = self._host.broker.access.permission(user, vhost)
        if permission is None:
            raise not_found()
        return shown_columns(request, permission_row(vhost, user, permission))

    async def put(self, request: Request) -> Response:
        """Set a user's patterns: 201 for the first, 204 in place of others."""
        body = await read_object(
            request, ("configure", "write", "read"), bytes_max=BESIDE_THE_MESSAGE_BYTES
        )
        vhost, user = _names(request)
        with self._inputs.begin(request) as broker:
            _check_both(broker, vhost, user)
            permission = permission_of(body)
            is_new = broker.access.permission(user, vhost) is None
            broker.access.set_permission(user, vhost, permission)
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.CREATED if is_new else HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        """Remove a user's permission in the virtual host. Connections stay, and may do nothing."""
        vhost, user = _names(request)
        with self._inputs.begin(request) as broker:
            if broker.access.permission(user, vhost) is None:
                raise not_found()
            broker.access.clear_permission(user, vhost)
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)


class TopicPermissions:
    """``/api/topic-permissions`` and the paths below. One user's in a virtual host are a list:
    there is one for each exchange."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        return await listed(request, topic_permission_rows(self._host.broker), _itself)

    async def of_vhost(self, request: Request) -> Response:
        vhost = _known_vhost(self._host.broker, request)
        return await listed(request, topic_permission_rows(self._host.broker, vhost=vhost), _itself)

    async def show(self, request: Request) -> Response:
        return await listed(request, self._named(request), _itself)

    async def put(self, request: Request) -> Response:
        """Set a user's patterns for an exchange's routing keys: 201 for the first, else 204."""
        body = await read_object(
            request, ("exchange", "write", "read"), bytes_max=BESIDE_THE_MESSAGE_BYTES
        )
        vhost, user = _names(request)
        exchange = text_in(body, "exchange")
        permission = TopicPermission(text_in(body, "write"), text_in(body, "read"))
        with self._inputs.begin(request) as broker:
            _check_both(broker, vhost, user)
            is_new = broker.access.topic_permission(user, vhost, exchange) is None
            try:
                broker.access.set_topic_permission(user, vhost, exchange, permission)
            except BadPattern as error:
                raise invalid_pattern(" ".join(permission), error) from None
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.CREATED if is_new else HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        """Remove the topic permission for one exchange where the path names it, else all of the
        user's there."""
        vhost, user = _names(request)
        with self._inputs.begin(request) as broker:
            for row in self._named(request):
                broker.access.clear_topic_permission(user, vhost, row["exchange"])
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _named(self, request: Request) -> list[Row]:
        """The topic permissions of the user in the virtual host. Raises :exc:`ApiError` 404 where
        there are none."""
        vhost, user = _names(request)
        exchange = request.path_params.get("exchange")
        rows = [
            row
            for row in topic_permission_rows(self._host.broker, user, vhost)
            if exchange in (None, row["exchange"])
        ]
        if not rows:
            raise not_found()
        return rows


def _names(request: Request) -> tuple[str, str]:
    return request.path_params["vhost"], request.path_params["user"]


def _known_vhost(broker: Broker, request: Request) -> str:
    name: str = request.path_params["vhost"]
    if name not in broker.vhosts:
        raise not_found()
    return name


def _check_both(broker: Broker, vhost: str, user: str) -> None:
    if vhost not in broker.vhosts or user not in broker.users:
        raise bad_request("vhost_or_user_not_found")


def _itself(row: Row) -> Row:
    return row
