from __future__ import annotations

from random import Random

from reference_broker.simulation.clients.features.large import Large
from reference_broker.simulation.clients.features.line import Line
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.store.format.record import chunks_of


def test_bodies_have_no_chunks_and_two_and_three() -> None:
    feature, sent = Large(Random("large"), SimulatedClock()), bytearray()
    line = Line(1, feature, sent.extend, lambda stamp: 0)
    for _ in range(20):
        feature.publish(line)
    sizes = [len(post.body) for post in feature.ledger.posts.values()]
    assert {chunks_of(size) for size in sizes} == {0, 2, 3}
    assert max(sizes) == feature.body_max_bytes
    assert feature.counts["bodies in chunks"] == sum(chunks_of(size) > 0 for size in sizes)
    assert len(sent) > sum(sizes)


def test_bodies_of_one_size_differ() -> None:
    feature = Large(Random("large"), SimulatedClock())
    line = Line(1, feature, lambda data: None, lambda stamp: 0)
    first, second = feature.large_post(line, 1_000), feature.large_post(line, 1_000)
    assert len(first.body) == len(second.body) == 1_000
    assert first.body != second.body
