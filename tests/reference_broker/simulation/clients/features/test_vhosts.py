"""A virtual host that is deleted and made again, in a broker on a log."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.clients.features.vhosts import VHosts
from reference_broker.simulation.disk.bookkeeping import queue_ids_of
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.store import open_log
from reference_broker.store.start.restore import restore
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.lone_log import pump


class Hosted:
    """A feature, and a broker in which its client has declared everything."""

    def __init__(self) -> None:
        self.feature = VHosts(Random("hosted"), SimulatedClock())
        self.disk = SimulatedDisk()
        self.log, _ = open_log(self.disk)
        self.lone = LoneBroker(self.log)
        self.broker = self.lone.broker
        self.broker.add_vhost(self.feature.vhost)
        self.broker.access.allow_everything("guest", self.feature.vhost)
        self.declare()

    @property
    def queue_ids(self) -> set[int]:
        return queue_ids_of(self.broker.vhosts[self.feature.vhost])

    def declare(self) -> None:
        client = self.lone.client(vhost=self.feature.vhost)
        for method in self.feature.declarations():
            client.send(1, method)
        self.sync()

    def delete(self) -> None:
        """Have the operator delete it, which is then on disk."""
        before = self.broker.vhosts[self.feature.vhost]
        while self.broker.vhosts[self.feature.vhost] is before:
            self.feature.administer(self.broker)
        self.sync()
        self.feature.looked_at(self.broker)

    def sync(self) -> None:
        while pump(self.log, self.disk) is not None:
            self.broker.synced(self.log.synced, self.lone.now_s, self.lone.wall_ms)

    def start(self, disk: SimulatedDisk) -> None:
        """Start another broker on ``disk``."""
        log, recovered = open_log(disk)
        broker = LoneBroker(log).broker
        restore(broker, recovered)
        self.feature.started(broker)


def test_a_virtual_host_may_go_and_come_again() -> None:
    hosted = Hosted()
    assert len(hosted.queue_ids) == 5  # the windows and the delayed messages have one each
    for _ in range(3):
        hosted.delete()
        assert not hosted.queue_ids
        hosted.declare()
        hosted.start(hosted.disk.copy())


def test_queues_that_went_with_it_are_not_back_after_a_start() -> None:
    hosted = Hosted()
    before = hosted.disk.copy()
    hosted.start(before.copy())
    hosted.delete()
    with pytest.raises(Violation, match="vhosts: 5 queues are back whose virtual host was deleted"):
        hosted.start(before)


def test_queues_may_be_back_where_the_deletion_was_not_on_disk() -> None:
    hosted = Hosted()
    before = hosted.disk.copy()
    while hosted.queue_ids:
        hosted.feature.administer(hosted.broker)
    hosted.feature.looked_at(hosted.broker)
    hosted.start(before)


def test_a_deletion_leaves_no_queue_in_the_log() -> None:
    hosted = Hosted()
    hosted.feature._doomed_queues = hosted.queue_ids
    with pytest.raises(Violation, match="a start would find 5 queues whose virtual host is delet"):
        hosted.feature._is_gone(hosted.broker)
