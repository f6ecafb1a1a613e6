"""All metrics of a node of a cluster, as they are just now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_broker.cluster.mesh import Mesh
from reference_broker.cluster.node import ClusterNode
from reference_broker.cluster.questions.asking import Fate
from reference_broker.cluster.questions.peers import Peers
from reference_broker.cluster.queues.queue_links import QueueLinks
from reference_broker.runtime.cluster.metrics.family import Family, counter, gauge
from reference_broker.runtime.cluster.metrics.link_metrics import link_families
from reference_broker.runtime.cluster.metrics.metadata_metrics import (
    etcd_families,
    metadata_families,
)
from reference_broker.runtime.cluster.metrics.queue_metrics import queue_families
from reference_broker.runtime.etcd.coordinator import EtcdCoordinator


class NodeMetrics:
    """The metrics of ``node``: its links are those of ``mesh``, its work with queues elsewhere goes
    by ``queues``, ``homes_by_node`` are the numbers of queues by home, and its etcd is asked by
    ``coordinator``. It is the :class:`~reference_broker.http.metrics.cluster_metrics.Families` of
    the broker's metrics."""

    def __init__(
        self,
        node: ClusterNode,
        mesh: Mesh,
        peers: Peers,
        queues: QueueLinks,
        homes_by_node: Mapping[str, int],
        coordinator: EtcdCoordinator,
    ) -> None:
        self._node = node
        self._mesh = mesh
        self._peers = peers
        self._queues = queues
        self._homes_by_node = homes_by_node
        self._coordinator = coordinator

    def families(self) -> Iterator[Family]:
        """All families, a scrape's worth; each is read when it is asked for."""
        links = self._mesh.links
        members = [each.node for each in self._peers.members()]
        others = [name for name in members if name != self._node.name]
        live = sum(self._node.live_nodes.is_there(name) for name in members)
        yield gauge("members", "Number of nodes that have joined the cluster", [({}, len(members))])
        text = "Number of members that are there, this node included"
        yield gauge("members_live", text, [({}, live)])
        text = "Number of members that this node has a link with"
        yield gauge("members_linked", text, [({}, sum(name in links for name in others))])
        yield from link_families(self._mesh, others, self._queues.waiting_bytes)
        yield from queue_families(self._queues, links, others, self._homes_by_node)
        yield counter(
            "questions_total",
            "Total number of requests that were passed on to one node each: answered, failed there,"
            " unanswered within a second, or unasked for want of a link",
            [({"outcome": fate.value}, self._peers.fates.get(fate, 0)) for fate in Fate],
        )
        yield from metadata_families(self._node)
        coordinator = self._coordinator
        yield from etcd_families(coordinator.request_counts, coordinator.lease_remaining_s)
