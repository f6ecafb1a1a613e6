"""The metrics of a node's part in the metadata: etcd, the view, and what it has proposed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_broker.cluster.coordinator import InDoubt, Lost, Refused, Won
from reference_broker.cluster.node import ClusterNode
from reference_broker.runtime.cluster.metrics.family import Family, counter, gauge, summary
from reference_broker.runtime.etcd.request_counts import RequestCount

_OUTCOMES = {Won: "won", Lost: "lost", Refused: "refused", InDoubt: "in_doubt"}


def metadata_families(node: ClusterNode) -> Iterator[Family]:
    """Of the view and the proposals of ``node``."""
    yield gauge(
        "watch_revision",
        "Revision of etcd up to which this node has been told everything",
        [({}, node.feed.told)],
    )
    yield gauge(
        "applied_revision",
        "Revision of etcd up to which this node has applied everything",
        [({}, node.view.revision.value)],
    )
    proposals = node.proposals
    yield counter(
        "proposals_total",
        "Total number of changes of the metadata that this node has proposed",
        [({}, proposals.proposed)],
    )
    yield counter(
        "proposals_ended_total",
        "Total number of those among them that were answered: won, lost to another change, refused"
        " by etcd or for want of it, or in doubt",
        [({"outcome": name}, proposals.outcomes[kind]) for kind, name in _OUTCOMES.items()],
    )


def etcd_families(counts: Mapping[str, RequestCount], lease_remaining_s: float) -> Iterator[Family]:
    """Of the requests to etcd by kind, and of the lease."""
    yield counter(
        "etcd_requests_total",
        "Total number of requests to etcd that have ended; a watch counts when it is over",
        [({"kind": kind}, count.ended) for kind, count in counts.items()],
    )
    yield counter(
        "etcd_request_errors_total",
        "Total number of those among them that had no answer of use",
        [({"kind": kind}, count.failed) for kind, count in counts.items()],
    )
    yield summary(
        "etcd_request_duration_seconds",
        "Seconds of requests to etcd, until the first member has answered or all were asked",
        [
            ({"kind": kind}, count.ended, count.seconds)
            for kind, count in counts.items()
            if kind != "watch"
        ],
    )
    yield gauge(
        "lease_remaining_seconds",
        "Seconds until this node's lease in etcd runs out, if it is not renewed; 0 without one",
        [({}, lease_remaining_s)],
    )
