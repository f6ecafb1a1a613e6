from __future__ import annotations

from random import Random

from reference_broker.simulation.replication_model.key import Copy
from reference_broker.simulation.replication_model.links import Ack, Links

ACKS = [Ack(1, number, Copy(0, 0)) for number in range(6)]


def test_messages_of_one_link_are_in_order() -> None:
    links = Links(3, Random(1))
    for ack in ACKS[:3]:
        links.send(0, 2, ack)
    for ack in ACKS[3:]:
        links.send(1, 2, ack)
    assert links.arrive(0) is None
    arrived = [links.arrive(2) for _ in range(7)]
    assert arrived.pop() is None
    assert [each[1] for each in arrived if each is not None and each[0] == 0] == ACKS[:3]
    assert [each[1] for each in arrived if each is not None and each[0] == 1] == ACKS[3:]


def test_a_reset_loses_all_of_one_link() -> None:
    links = Links(3, Random(1))
    links.reset_one()
    for ack in ACKS:
        links.send(0, 1, ack)
    links.reset_one()
    assert links.arrive(1) is None


def test_a_node_that_is_reset_loses_both_directions() -> None:
    links = Links(3, Random(1))
    for source, target in ((0, 1), (1, 2), (2, 0)):
        links.send(source, target, ACKS[0])
    links.reset(1)
    assert [links.arrive(node) for node in range(3)] == [(2, ACKS[0]), None, None]
