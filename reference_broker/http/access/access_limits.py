"""``/api/vhost-limits`` and ``/api/user-limits``: limits on connections, channels and queues."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.users import USER_LIMITS
from reference_broker.core.base.vhost_info import VHOST_LIMITS
from reference_broker.http.access.users import no_such_user
from reference_broker.http.access.vhosts import vhost_of
from reference_broker.http.request.answer import ApiError, Row, not_found
from reference_broker.http.request.authentication import user_of
from reference_broker.http.request.authorization import is_monitoring, visible_vhosts
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.limit_value import limit_of, validation_failed
from reference_broker.http.request.listing import listed


class VHostLimits:
    """``/api/vhost-limits``. A limit that is set holds for connections opened and queues declared
    later."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        broker, user = self._host.broker, user_of(request)
        if "vhost" in request.path_params:
            vhosts = [vhost_of(broker, request)]
        elif is_monitoring(user):
            vhosts = list(broker.vhosts.values())
        else:
            vhosts = visible_vhosts(broker, user)
        rows: list[Row] = [
            {"vhost": vhost.name, "value": dict(vhost.info.limits)}
            for vhost in vhosts
            if vhost.info.limits
        ]
        return await listed(request, rows, _itself)

    async def put(self, request: Request) -> Response:
        body = await read_object(request, ("value",), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        name = request.path_params["name"]
        with self._inputs.begin(request) as broker:
            vhost = broker.vhosts.get(request.path_params["vhost"])
            if vhost is None:
                raise ApiError(HTTPStatus.NOT_FOUND, "not_found", "vhost_not_found")
            try:
                most = limit_of(name, body["value"], VHOST_LIMITS, "limits")
            except ApiError as error:
                raise validation_failed(error) from None
            limits = {**vhost.info.limits, name: most}
            broker.add_vhost(vhost.name, replace(vhost.info, limits=limits))
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        with self._inputs.begin(request) as broker:
            vhost = vhost_of(broker, request)
            limits = dict(vhost.info.limits)
            if limits.pop(request.path_params["name"], None) is not None:
                broker.add_vhost(vhost.name, replace(vhost.info, limits=limits))
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)


class UserLimits:
    """``/api/user-limits``. Anybody may read user limits."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        users = self._host.broker.users
        wanted = request.path_params.get("user")
        if wanted is not None and wanted not in users:
            raise not_found()
        rows: list[Row] = [
            {"user": user.name, "value": dict(user.limits)}
            for user in users.all()
            if user.limits and wanted in (None, user.name)
        ]
        return await listed(request, rows, _itself)

    async def put(self, request: Request) -> Response:
        body = await read_object(request, ("value",), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        name, limit = request.path_params["user"], request.path_params["name"]
        with self._inputs.begin(request) as broker:
            user = broker.users.get(name)
            if user is None:
                raise no_such_user(name)
            most = limit_of(limit, body["value"], USER_LIMITS, "user-limits")
            broker.access.limit_user(name, {**user.limits, limit: most})
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        with self._inputs.begin(request) as broker:
            user = broker.users.get(request.path_params["user"])
            if user is None:
                raise not_found()
            limits = dict(user.limits)
            if limits.pop(request.path_params["name"], None) is not None:
                broker.access.limit_user(user.name, limits)
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _itself(row: Row) -> Row:
    return row
