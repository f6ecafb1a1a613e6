"""A queue that is removed from under its messages, and a broker at the other end."""

from __future__ import annotations

from random import Random

import pytest

from mqkit.wire.methods import QueueDeleteOk, QueuePurge, QueuePurgeOk
from reference_broker.core.access.users import User, hash_password
from reference_broker.simulation.clients.features.line import Line, Taken
from reference_broker.simulation.clients.features.removals import Removals
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.node import USER
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.testing.lone_broker import LoneBroker


class Removed:
    """A feature whose line is ready."""

    def __init__(self) -> None:
        self.feature = Removals(Random("removed"), SimulatedClock())
        self.lone = LoneBroker()
        self.lone.broker.add_vhost(self.feature.vhost)
        self.lone.broker.users.add(User(USER, hash_password(USER.encode(), b"salt")))
        self.lone.broker.access.allow_everything(USER, self.feature.vhost)
        self.connect(1)

    def connect(self, number: int) -> None:
        self.socket = self.lone.socket()
        self.sent: list[bytes] = []
        self.line = Line(number, self.feature, self.sent.append, lambda stamp: stamp)
        self.line.begin()
        self.exchange()

    def exchange(self) -> None:
        while self.sent or self.socket.connection.output:
            for data in self.sent[:]:
                self.sent.remove(data)
                self.socket.send_bytes(data)
            self.line.receive_data(self.socket.output(), 7)


def test_all_that_it_does_keeps_its_laws() -> None:
    removed = Removed()
    for _ in range(300):
        removed.feature.act(removed.line)
        removed.exchange()
    counts = removed.feature.counts
    assert counts["queues deleted right behind a read"] > 5
    assert counts["queues purged right behind a read"] > 5
    removed.feature.draining = True
    queues = removed.lone.broker.vhosts[removed.feature.vhost].queues
    while removed.line.held or queues["removed"].ready:
        removed.feature.act(removed.line)
        removed.exchange()
    removed.feature.drained()


def purged(removed: Removed) -> None:
    """All that was published is removed, and the line is told."""
    removed.feature._doomed = set(removed.feature.ledger.posts)
    removed.line.ask(QueuePurge("removed"))
    removed.exchange()


def taken(number: int) -> Taken:
    return Taken("removed", "", number, False, {}, 0)


def test_what_was_removed_is_handed_out_no_more() -> None:
    removed = Removed()
    removed.feature.publish(removed.line)
    removed.exchange()
    purged(removed)
    with pytest.raises(Violation, match="removals: message 1 was handed out after it was removed"):
        removed.feature.delivered(removed.line, taken(1))


def test_what_is_held_and_what_another_connection_sent_may_come_again() -> None:
    removed = Removed()
    removed.feature.publish(removed.line)
    removed.connect(2)
    removed.feature.publish(removed.line)
    removed.line.held[1] = taken(5)
    removed.exchange()
    purged(removed)
    for number in (1, 5):
        removed.feature.delivered(removed.line, taken(number))
    with pytest.raises(Violation):
        removed.feature.delivered(removed.line, taken(6))


def test_a_deleted_queue_has_nothing_unacked() -> None:
    removed = Removed()
    removed.line.held[1] = taken(1)
    removed.feature.answered(removed.line, QueuePurgeOk(0))
    assert removed.line.held
    removed.feature.answered(removed.line, QueueDeleteOk(0))
    assert not removed.line.held


def test_a_removal_without_an_answer_may_have_been() -> None:
    removed = Removed()
    removed.feature.publish(removed.line)
    removed.exchange()
    assert all(post.confirmed_ms is not None for post in removed.feature.ledger.posts.values())
    with pytest.raises(Violation, match="confirmed messages are gone"):
        removed.feature.drained()
    removed.feature._doomed = set(removed.feature.ledger.posts)
    removed.feature.ended(removed.line)
    removed.feature.drained()
    assert not removed.feature._removed
