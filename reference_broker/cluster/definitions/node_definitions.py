"""The definitions of a node, wired: its broker's store, and what follows its view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from reference_broker.cluster.definitions.definition_follower import DefinitionFollower
from reference_broker.cluster.definitions.leftovers import Leftovers
from reference_broker.cluster.definitions.orphans import Orphans
from reference_broker.cluster.definitions.placement import NodeRun, Placement
from reference_broker.cluster.definitions.queue_homes import QueueHomes
from reference_broker.cluster.definitions.shared_definitions import Node, SharedDefinitions
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.metadata.keys import DEFINITIONS, LIVE, MEMBERS
from reference_broker.cluster.pause import Timer
from reference_broker.core.broker import Broker
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.remote.ports import Homes


class SharingNode(Node, Protocol):
    """The node whose definitions they are (:class:`~reference_broker.cluster.node.ClusterNode`)."""

    live_nodes: LiveNodes


class NodeDefinitions:
    """Have ``broker``, which was made with ``shared``, follow the view of ``node``: before the node
    starts. ``report`` is told of what can't be read, in a line."""

    def __init__(
        self,
        broker: Broker,
        shared: SharedDefinitions,
        node: SharingNode,
        homes: Homes,
        after: Timer,
        report: Callable[[str], None],
    ) -> None:
        self._node = node
        self._broker = broker
        self.leftovers = Leftovers(node.view, node.proposals, after, self._sweeps)
        self.orphans = Orphans(node.live_nodes, self.leftovers, broker.work, broker.budget, after)
        self.queue_homes = QueueHomes(node.view, self.leftovers, broker.work, broker.budget)
        self.follower = DefinitionFollower(
            broker,
            node.name,
            node.run,
            homes,
            self.leftovers,
            self.orphans,
            self.queue_homes,
            report,
        )
        own, live = NodeRun(node.name, node.run), node.live_nodes.by_name
        placement = Placement(own, self.queue_homes.by_node, live, self._policies)
        shared.attach(node, self.follower, placement, broker.journal)
        node.view.follow(DEFINITIONS, self.follower)
        node.view.follow(LIVE, self.orphans)
        node.view.follow(MEMBERS, self.queue_homes)
        node.view.listen(self.follower.risen)

    def _policies(self, vhost_name: str, queue: QueueDefinition) -> Mapping[str, Any]:
        """The policies that a queue of that definition gets; none of a virtual host that goes."""
        vhost = self._broker.vhosts.get(vhost_name)
        return {} if vhost is None else vhost.policies.for_queue(queue).definition()

    def _sweeps(self) -> bool:
        """True on the first node that is there, in the order of the names."""
        return min(self._node.live_nodes.by_name, default="") == self._node.name
