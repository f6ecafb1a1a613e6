"""Several consumers on one channel, and a broker at the other end."""

from __future__ import annotations

from random import Random

import pytest

from mqkit.wire.methods import BasicCancel, BasicCancelOk, BasicRecover, BasicRecoverOk
from reference_broker.core.access.users import User, hash_password
from reference_broker.simulation.clients.features.consumers import Consumers
from reference_broker.simulation.clients.features.line import Line, Taken
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.node import USER
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.testing.lone_broker import LoneBroker


class Served:
    """A feature whose line is ready."""

    def __init__(self) -> None:
        self.feature = Consumers(Random("served"), SimulatedClock())
        lone = LoneBroker()
        lone.broker.add_vhost(self.feature.vhost)
        lone.broker.users.add(User(USER, hash_password(USER.encode(), b"salt")))
        lone.broker.access.allow_everything(USER, self.feature.vhost)
        self.socket = lone.socket()
        self.sent: list[bytes] = []
        self.line = Line(1, self.feature, self.sent.append, lambda stamp: stamp)
        self.line.begin()
        self.exchange()

    def exchange(self) -> None:
        while self.sent or self.socket.connection.output:
            for data in self.sent[:]:
                self.sent.remove(data)
                self.socket.send_bytes(data)
            self.line.receive_data(self.socket.output(), 7)

    def publish(self, queue: str, count: int) -> None:
        for _ in range(count):
            self.line.publish("", queue, self.feature.post(self.line, [(queue,)]))
        self.exchange()

    @property
    def owners(self) -> list[str]:
        return [taken.consumer for taken in self.line.held.values()]


def test_one_queue_has_its_consumers_together_and_the_other_in_turn() -> None:
    served = Served()
    assert served.line.ready
    served.publish("together", 3)
    assert sorted(served.owners) == ["together/0", "together/1", "together/3"]
    served.publish("in-turn", served.feature.prefetch + 1)
    assert served.owners[3:] == served.feature.prefetch * ["in-turn/0"]


def test_the_next_one_takes_over_from_one_that_is_cancelled() -> None:
    served = Served()
    served.line.ask(BasicCancel("in-turn/0"))
    served.exchange()
    served.publish("in-turn", 1)
    assert served.owners == ["in-turn/2"]


def test_what_is_recovered_comes_again() -> None:
    served = Served()
    served.publish("together", 3)
    served.line.ask(BasicRecover(requeue=True))
    served.exchange()
    assert sorted(taken.number for taken in served.line.held.values()) == [1, 2, 3]
    assert all(taken.redelivered for taken in served.line.held.values())


def test_everything_that_it_does_keeps_its_laws() -> None:
    served = Served()
    for _ in range(400):
        served.feature.act(served.line)
        served.exchange()
    counts = served.feature.counts
    assert counts["active consumers cancelled alone"] > 5
    assert counts["settlements over several consumers"] > 5
    served.feature.draining = True
    while served.line.held:
        served.feature.act(served.line)
        served.exchange()
    served.feature.drained()


def taken(consumer: str) -> Taken:
    return Taken(consumer.partition("/")[0], consumer, 1, False, {}, 0)


def test_another_s_turn_is_a_violation() -> None:
    served = Served()
    with pytest.raises(Violation, match="'in-turn/2' got a message, and it is the turn of"):
        served.feature.delivered(served.line, taken("in-turn/2"))
    served.feature.answered(served.line, BasicCancelOk("in-turn/0"))
    served.feature.delivered(served.line, taken("in-turn/2"))


def test_more_than_the_prefetch_is_a_violation() -> None:
    served = Served()
    most = served.feature.prefetch
    served.line.held |= {tag: taken("together/1") for tag in range(most)}
    served.feature.delivered(served.line, taken("together/0"))
    served.line.held[most] = taken("together/1")
    with pytest.raises(Violation, match=f"'together/1' holds {most + 1} messages of {most}"):
        served.feature.delivered(served.line, taken("together/1"))


def test_nothing_is_held_after_a_recover() -> None:
    served = Served()
    served.publish("together", 1)
    served.feature.answered(served.line, BasicRecoverOk())
    assert not served.line.held
