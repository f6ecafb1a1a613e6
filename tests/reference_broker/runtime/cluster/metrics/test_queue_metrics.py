"""queue_metrics: the work of two nodes with each other's queues, seen from both."""

from __future__ import annotations

from reference_broker.runtime.cluster.metrics.queue_metrics import queue_families
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.homes.noting_taker import NotingTaker, message, terms


def _samples(nodes: LinkedBrokers, node: str, peer: str) -> dict[str, dict[str, float]]:
    ends = nodes.cables[frozenset("ab")].ends
    (link,) = [end.link for end in ends if end.node.name == node]
    found = queue_families(nodes[node].queue_links, {peer: link}, [peer, "c"], {peer: 3})
    return {
        family.name.removeprefix("mqkit_cluster_"): {
            " ".join(sample.labels.values()): sample.value for sample in family.samples
        }
        for family in found
    }


def test_both_ends_count_their_part() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    home = nodes["a"].queue_links.home("b")
    number = nodes.act("a", lambda: home.attach(queue.id, terms(), NotingTaker()))
    nodes.act("a", lambda: home.grant(number, 10, 1 << 40))
    for _ in range(4):
        nodes.act("a", lambda: home.publish([queue.id], message()))
    nodes.act("a", lambda: home.count(queue.id, lambda answer: None))
    nodes.settle()
    at_origin, at_home = _samples(nodes, "a", "b"), _samples(nodes, "b", "a")
    assert at_origin["remote_queues"] == {"mqkit@b": 3, "mqkit@c": 0}
    assert at_origin["remote_publishes_total"] == {
        "mqkit@b confirmed": 4, "mqkit@b nacked": 0, "mqkit@b in_doubt": 0,
        "mqkit@b unreachable": 0,
    }  # fmt: skip
    assert at_origin["deliveries_total"] == {
        "mqkit@b received": 4, "mqkit@b sent": 0, "mqkit@c received": 0, "mqkit@c sent": 0,
    }  # fmt: skip
    assert at_home["deliveries_total"]["mqkit@a sent"] == 4
    assert at_origin["queue_questions_total"] == {"mqkit@b": 1}
    assert at_origin["queue_questions_unanswered_total"] == {"mqkit@b": 0}
