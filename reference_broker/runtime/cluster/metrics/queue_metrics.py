"""The metrics of the work with queues of other nodes, and of theirs with queues of this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reference_broker.cluster.link.link import Link
from reference_broker.cluster.queues.queue_links import QueueLinks
from reference_broker.runtime.cluster.metrics.family import Family, counter, gauge, of_peer


def queue_families(
    queues: QueueLinks,
    links: Mapping[str, Link],
    peers: Sequence[str],
    homes_by_node: Mapping[str, int],
) -> Iterator[Family]:
    """Of the work with ``peers``, over the open ``links``. ``homes_by_node`` are the numbers of
    queues by home."""
    homes = queues.homes
    yield gauge(
        "remote_queues",
        "Number of queues whose home is the peer",
        [(of_peer(peer), homes_by_node.get(peer, 0)) for peer in peers],
    )
    yield counter(
        "remote_publishes_total",
        "Total number of messages that were published here for queues of the peer: confirmed by it,"
        " nacked by it, in doubt as the link was lost, or unreachable as there was no link",
        [
            (of_peer(peer, outcome=name), getattr(homes[peer].publishes.outcomes, name))
            for peer in peers
            if peer in homes
            for name in ("confirmed", "nacked", "in_doubt", "unreachable")
        ],
    )
    ways = []
    for peer in peers:
        received = homes[peer].deliveries if peer in homes else 0
        ways.append((of_peer(peer, direction="received"), received))
        sent = queues.delivered_over(peer, links.get(peer))
        ways.append((of_peer(peer, direction="sent"), sent))
    text = "Total number of messages that consumers got over links, but for those of basic.get"
    yield counter("deliveries_total", text, ways)
    yield counter(
        "queue_questions_total",
        "Total number of basic.get, counts and purges that the peer was asked for",
        [(of_peer(peer), homes[peer].questions) for peer in peers if peer in homes],
    )
    yield counter(
        "queue_questions_unanswered_total",
        "Total number of those among them that had no answer when the link was lost",
        [(of_peer(peer), homes[peer].unanswered) for peer in peers if peer in homes],
    )
