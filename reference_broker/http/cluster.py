"""What RabbitMQ's clusters and plugins answer, where there is one node and no plugin. Tools ask."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.http.answer import bad_request, json_response, not_found
from reference_broker.http.host import Host


class Cluster:
    """Names of things there is one of, and lists of things there are none of."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def name(self, request: Request) -> Response:
        return json_response({"name": self._host.node().name})

    async def auth(self, request: Request) -> Response:
        """How to log in: with a password, and not by OAuth. The only path that needs no login."""
        return json_response({"enable_uaa": False, "uaa_client_id": "", "uaa_location": ""})

    async def extensions(self, request: Request) -> Response:
        """The management web page's parts."""
        return json_response([{"javascript": "dispatcher.js"}])

    async def nothing(self, request: Request) -> Response:
        """Shovels, federation links, feature flags: none. Raises :exc:`ApiError` 404 for a virtual
        host that is not there."""
        vhost = request.path_params.get("vhost")
        if vhost is not None and vhost not in self._host.broker.vhosts:
            raise not_found()
        return json_response([])

    async def enable_feature(self, request: Request) -> Response:
        raise bad_request("unsupported")

    async def rebalance(self, request: Request) -> Response:
        """Every queue is on the one node already."""
        return Response(status_code=HTTPStatus.NO_CONTENT)
