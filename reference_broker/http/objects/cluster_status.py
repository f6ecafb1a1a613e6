"""``/api/cluster/status``: the members of the cluster, as the node that is asked sees them. Only
where there is a cluster; RabbitMQ has no such path."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.http.objects.cluster import cluster_name
from reference_broker.http.request.answer import Row
from reference_broker.http.request.host import Host, Node
from reference_broker.http.request.listing import shown_columns
from reference_broker.http.request.peers import MemberStatus, Peers, shown_node

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
        peers, members, node = self._peers, self._peers.members(), self._host.node()
        row = {
            "cluster": peers.cluster,
            "cluster_name": cluster_name(self._host.broker, node),
            "node": node.name,
            "revision": peers.revision,
            "members": [
                _row(member, node if member.node == peers.node else None) for member in members
            ],
            "unreachable": [
                shown_node(member.node) for member in members if member.state == "unreachable"
            ],
        }
        return shown_columns(request, row)


def _row(member: MemberStatus, here: Node | None) -> Row:
    """The row of a member; ``here`` is this node, which knows of itself that it is paused."""
    is_paused = here is not None and not here.running
    state = "paused" if is_paused else member.state
    return {
        "name": shown_node(member.node),
        "running": state in RUNNING,
        "state": state,
        "reason": here.paused_for if here is not None and is_paused else "",
        "amqp": member.amqp,
        "http": member.http,
        "queues": member.queues,
    }
