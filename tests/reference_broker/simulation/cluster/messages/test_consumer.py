"""consumer: a client that consumes knows what it may expect."""

from __future__ import annotations

from reference_broker.simulation.cluster.world import ClusterWorld


def test_an_ack_behind_a_question_makes_no_room() -> None:
    """A channel waits there for 28 s for etcd, and the acks that would make room behind that."""
    seed = 844
    print(f"seed {seed}")
    assert ClusterWorld(seed).run().failure is None
