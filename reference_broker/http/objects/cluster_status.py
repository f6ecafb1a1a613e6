"""``/api/cluster/status``: the members of the cluster, as the node that is asked sees them. Only
where there is a cluster; RabbitMQ has no such path."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.http.objects.cluster import cluster_name
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import shown_columns
from reference_broker.http.request.peers import Peers, shown_node

RUNNING = ("running", "draining")
"""The states of members that answer."""


class ClusterStatus:
    """The answer."""

    def __init__(self, host: Host, peers: Peers) -> None:
        self._host = host
        self._peers = peers

    async def show(self, request: Request) -> Response:
        """Nobody is asked: it is there when no other node is. ``revision`` is that of the
        definitions that this node has."""
        peers, members = self._peers, self._peers.members()
        row = {
            "cluster": peers.cluster,
            "cluster_name": cluster_name(self._host.broker, self._host.node()),
            "node": self._host.node().name,
            "revision": peers.revision,
            "members": [
                {
                    "name": shown_node(member.node),
                    "running": member.state in RUNNING,
                    "state": member.state,
                    "amqp": member.amqp,
                    "http": member.http,
                    "queues": member.queues,
                }
                for member in members
            ],
            "unreachable": [
                shown_node(member.node) for member in members if member.state == "unreachable"
            ],
        }
        return shown_columns(request, row)
