"""Paths of RabbitMQ's clusters and plugins, answered for one node without plugins: tools ask for
them."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.base.limits import MIB
from reference_broker.core.broker import Broker
from reference_broker.core.policy.global_parameters import CLUSTER_NAME, GlobalParameterRefused
from reference_broker.http.request.answer import bad_request, json_response, not_found
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host, Node


def cluster_name(broker: Broker, node: Node) -> str:
    """The cluster's name: the node's, until somebody sets another."""
    return broker.global_parameters.cluster_name(node.name)


class Cluster:
    """Names of the node and the cluster, and empty lists for plugins."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def name(self, request: Request) -> Response:
        return json_response({"name": cluster_name(self._host.broker, self._host.node())})

    async def set_name(self, request: Request) -> Response:
        """Name the cluster; answered when the name is on disk. It is the global parameter
        ``cluster_name``: whoever deletes that has the node's name back."""
        body = await read_object(request, ("name",), bytes_max=MIB)
        with self._inputs.begin(request) as broker:
            try:
                broker.global_parameters.set(CLUSTER_NAME, body["name"])
            except GlobalParameterRefused as refusal:
                raise bad_request(str(refusal)) from refusal
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def auth(self, request: Request) -> Response:
        """The ways to log in: with a password, and not by OAuth. The only path that needs no
        login."""
        return json_response({"enable_uaa": False, "uaa_client_id": "", "uaa_location": ""})

    async def extensions(self, request: Request) -> Response:
        """The scripts of RabbitMQ's management page."""
        return json_response([{"javascript": "dispatcher.js"}])

    async def nothing(self, request: Request) -> Response:
        """An empty list of shovels, federation links or feature flags. Raises :exc:`ApiError` 404
        for a virtual host that is not there."""
        vhost = request.path_params.get("vhost")
        if vhost is not None and vhost not in self._host.broker.vhosts:
            raise not_found()
        return json_response([])

    async def enable_feature(self, request: Request) -> Response:
        raise bad_request("unsupported")

    async def rebalance(self, request: Request) -> Response:
        """Do nothing: every queue is on the one node already."""
        return Response(status_code=HTTPStatus.NO_CONTENT)
