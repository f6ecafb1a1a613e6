"""Exclusive queues, in a broker whose connections and queues are made by hand."""

from __future__ import annotations

from random import Random

import pytest

from mqkit.wire.methods import QueueDeclare, QueueDeclareOk
from reference_broker.simulation.clients.features.exclusive import LATE_MS, Exclusive
from reference_broker.simulation.clients.features.line import Line, Taken
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


class Owned:
    """A feature, and a broker in which a connection has its queues."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.feature = Exclusive(Random("owned"), self.clock)
        self.lone = LoneBroker()
        self.lone.broker.add_vhost(self.feature.vhost)
        self.lone.broker.access.allow_everything("guest", self.feature.vhost)
        self.line = Line(1, self.feature, lambda data: None, self.clock.wall_ms)
        self.feature.topology()
        self.owner = self.connect()

    def connect(self) -> LoneClient:
        client = self.lone.client(vhost=self.feature.vhost)
        for queue in self.feature.queues:
            client.send(1, QueueDeclare(queue, exclusive=True))
            self.feature.answered(self.line, QueueDeclareOk(queue, 0, 0))
        return client

    def look(self) -> None:
        self.feature.looked_at(self.lone.broker)


def test_queues_are_there_with_their_connection() -> None:
    owned = Owned()
    owned.look()
    owned.owner.disconnect()
    owned.look()


def test_a_queue_does_not_outlive_its_connection_for_long() -> None:
    owned = Owned()
    del owned.lone.broker.connections[owned.owner.connection.id]
    owned.look()
    owned.clock.now_us += LATE_MS * 1_000
    owned.look()
    owned.clock.now_us += 1_000
    with pytest.raises(Violation, match="exclusive: 'mine-0' is there 5001 ms after its conn"):
        owned.look()


def test_all_of_them_are_there() -> None:
    owned = Owned()
    vhost = owned.lone.broker.vhosts[owned.feature.vhost]
    vhost.delete_queue("mine-1", owner=owned.owner.connection)
    with pytest.raises(Violation, match="queues of one connection are there"):
        owned.look()


def test_others_are_refused() -> None:
    owned = Owned()
    for _ in range(10):  # in either way
        owned.feature.administer(owned.lone.broker)
    tries = 10 * len(owned.feature.queues)
    assert owned.feature.counts["uses of a locked queue"] == tries
    vhost = owned.lone.broker.vhosts[owned.feature.vhost]
    vhost.queues["mine-0"].owner = None
    with pytest.raises(Violation, match="somebody else was let into 'mine-0'"):
        owned.feature._try_to_use(vhost, "mine-0")


def test_a_start_finds_none() -> None:
    with pytest.raises(Violation, match=r"'mine-0', 'mine-1'.* are there after a start"):
        owned = Owned()
        owned.feature.started(owned.lone.broker)


def test_a_message_comes_to_its_own_connection() -> None:
    owned = Owned()
    owned.feature.post(owned.line, [])
    taken = Taken("mine-0", "mine-0/0", 1, False, {}, 0)
    owned.feature.delivered(owned.line, taken)
    with pytest.raises(Violation, match="came to that of 2"):
        owned.feature.delivered(Line(2, owned.feature, lambda data: None, lambda _: 0), taken)
