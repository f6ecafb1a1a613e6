"""What a feature of the broker is to the simulator: a virtual host, a topology, and a client that
uses it; with the laws that it is held to, beside those of :class:`Ledger`."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from mqkit.wire.methods import BasicConsume, BasicQos, ConfirmSelect, Method
from reference_broker.core.broker import Broker
from reference_broker.errors import ReplyCode
from reference_broker.simulation.clients.features.ledger import Ledger, Post
from reference_broker.simulation.clients.features.line import Line, Taken
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.plan.feature_names import vhost_of
from reference_broker.simulation.watch.checkers import Violation

UNCONFIRMED_MAX = 100
_BATCH_MAX = 4


class Feature:
    """One feature over a whole run. ``life`` counts the starts of the broker, and ``draining`` says
    that all there is has to be taken for good. This one declares and publishes nothing: a feature
    overrides that, and what its laws speak about."""

    name = ""
    queues: tuple[str, ...] = ()
    """Those that are consumed."""
    dead_lettering: tuple[str, ...] = ()
    """Those of them whose rejected messages go to another one."""
    publish_chance = 0.5
    requeue_chance = 0.2
    reject_chance = 0.0
    operator_chance = 0.0
    """That :meth:`administer` is called where the client would have acted."""
    synced_by_confirms = True
    """Whether every confirm waits for the disk."""
    expected_closes: tuple[int, ...] = (ReplyCode.CONNECTION_FORCED, ReplyCode.INTERNAL_ERROR)

    def __init__(self, random: Random, clock: SimulatedClock) -> None:
        self.random = random
        self.clock = clock
        self.ledger = Ledger(self.name)
        self.life = 0
        self.draining = False
        self.prefetch = random.choice((1, 3, 10))

    @property
    def vhost(self) -> str:
        return vhost_of(self.name)

    # What its client does

    def declarations(self) -> list[Method]:
        """Exchanges, queues and bindings. Each has one answer."""
        return []

    def topology(self) -> list[Method]:
        """All that is said first on a line. Each has one answer."""
        consumes = [BasicConsume(queue=queue, consumer_tag=f"{queue}/0") for queue in self.queues]
        prefetch = BasicQos(prefetch_count=self.prefetch)
        return [*self.declarations(), ConfirmSelect(), prefetch, *consumes]

    def act(self, line: Line) -> None:
        """Do one thing or another; the line is ready."""
        may_publish = not self.draining and len(line.unconfirmed) < UNCONFIRMED_MAX
        if may_publish and self.random.random() < self.publish_chance:
            for _ in range(self.random.randint(1, _BATCH_MAX)):
                self.publish(line)
        else:
            self.settle_some(line)

    def publish(self, line: Line) -> None:
        """Post a message, and send it."""

    def settle_some(self, line: Line) -> None:
        """Some of what is held; all of it at the end."""
        if self.draining:
            for tag in list(line.held):
                self.ack(line, tag)
            return
        for _ in range(self.random.randint(1, 3)):
            if line.held:
                self.settle(line, self.random.choice(list(line.held)[:5]))

    def settle(self, line: Line, tag: int) -> None:
        """One of them, in one way or another."""
        chance = self.random.random()
        if chance < self.requeue_chance:
            self.requeued(line, line.give_back(tag, requeue=True))
        elif chance < self.requeue_chance + self.reject_chance:
            self.rejected(line, line.give_back(tag, requeue=False))
        else:
            self.ack(line, tag)

    def ack(self, line: Line, tag: int) -> None:
        taken = line.ack(tag)
        self.ledger.settled(line.number, taken.queue, taken.number)

    def post(self, line: Line, places: Iterable[Iterable[str]], key: str = "") -> Post:
        """A new message for the ledger."""
        return self.ledger.post(line.number, places, self.clock.wall_ms(), self.life, key)

    def administer(self, broker: Broker) -> None:
        """What an operator does now and then: within an input of the broker, while clients are at
        work."""

    # What it is told

    def looked_at(self, broker: Broker) -> None:
        """The broker as it is between two inputs: which of what was asked is on its disk?"""

    def started(self, broker: Broker) -> None:
        """The broker has started, and nobody is connected yet. Raises :exc:`Violation`."""

    def answered(self, line: Line, method: Method) -> None:
        """An answer to what was asked."""

    def confirmed(self, line: Line, post: Post) -> None:
        self.ledger.confirmed(post, self.clock.wall_ms(), synced=self.synced_by_confirms)

    def nacked(self, line: Line, post: Post) -> None:
        """It may be in some of its queues."""

    def delivered(self, line: Line, taken: Taken) -> None:
        """The ledger knows already. Raises :exc:`Violation`."""

    def requeued(self, line: Line, taken: Taken) -> None:
        """It was given back."""

    def rejected(self, line: Line, taken: Taken) -> None:
        """It was given up: where its queue has no other for dead letters that is for good."""
        if taken.queue not in self.dead_lettering:
            self.ledger.settled(line.number, taken.queue, taken.number)

    def ended(self, line: Line) -> None:
        """The line is gone."""

    def drained(self) -> None:
        """All there is was taken for good. Raises :exc:`Violation`."""
        self.ledger.drained()

    def fail(self, text: str) -> Violation:
        """The violation to raise."""
        return self.ledger.fail(text)
