"""A feature of the broker in the simulator: a virtual host, a topology, and a client that uses it;
with the feature's laws, beside those of :class:`Ledger`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
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
    that all messages have to be taken for good. This class declares and publishes nothing: a
    feature overrides that, and the events that its laws speak about."""

    name = ""
    queues: tuple[str, ...] = ()
    """Queues that are consumed."""
    dead_lettering: tuple[str, ...] = ()
    """Consumed queues whose rejected messages go to another queue."""
    body_max_bytes = 1_024
    """Bytes of the largest body that it may publish."""
    publish_chance = 0.5
    requeue_chance = 0.2
    reject_chance = 0.0
    operator_chance = 0.0
    """Chance that :meth:`administer` is called where the client would have acted."""
    synced_by_confirms = True
    """True if every confirm waits for the disk."""
    deletes_consumed = False
    fans_out = False
    judges_starts = False
    """True if :meth:`found` is to be called at each start."""
    expected_closes: tuple[int, ...] = (ReplyCode.CONNECTION_FORCED, ReplyCode.INTERNAL_ERROR)

    def __init__(self, random: Random, clock: SimulatedClock) -> None:
        self.random = random
        self.clock = clock
        self.ledger = Ledger(self.name)
        self.counts: Counter[str] = Counter()
        """Things that happened, beside the messages: for the last lines of many seeds."""
        self.life = 0
        self.draining = False
        self.prefetch = random.choice((1, 3, 10))

    @property
    def vhost(self) -> str:
        return vhost_of(self.name)

    # What its client does

    def declarations(self) -> list[Method]:
        """Methods that declare exchanges, queues and bindings. Each has one answer."""
        return []

    def topology(self) -> list[Method]:
        """Methods that are sent first on a line. Each has one answer."""
        consumes = [BasicConsume(queue=queue, consumer_tag=f"{queue}/0") for queue in self.queues]
        prefetch = BasicQos(prefetch_count=self.prefetch)
        return [*self.declarations(), ConfirmSelect(), prefetch, *consumes]

    def act(self, line: Line) -> None:
        """Publish or settle; the line is ready."""
        may_publish = not self.draining and len(line.unconfirmed) < UNCONFIRMED_MAX
        if may_publish and self.random.random() < self.publish_chance:
            for _ in range(self.random.randint(1, _BATCH_MAX)):
                self.publish(line)
        else:
            self.settle_some(line)

    def publish(self, line: Line) -> None:
        """Post a message in the ledger, and send it."""

    def settle_some(self, line: Line) -> None:
        """Settle some of the held messages; all of them while draining."""
        if self.draining:
            for tag in list(line.held):
                self.ack(line, tag)
            return
        for _ in range(self.random.randint(1, 3)):
            if line.held:
                self.settle(line, self.random.choice(list(line.held)[:5]))

    def settle(self, line: Line, tag: int) -> None:
        """Ack, requeue or reject one message."""
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
        """Enter a new message in the ledger."""
        return self.ledger.post(line.number, places, self.clock.wall_ms(), self.life, key)

    def administer(self, broker: Broker) -> None:
        """Act as an operator does now and then: within an input of the broker, while clients are at
        work."""

    # What it is told

    def looked_at(self, broker: Broker) -> None:
        """Look at the broker between two inputs: which changes are on its disk by now?"""

    def started(self, broker: Broker) -> None:
        """The broker has started, and nobody is connected yet. Raises :exc:`Violation`."""

    def found(self, numbers: Mapping[str, Set[int]]) -> None:
        """The messages, by queue, that a start has found. Raises :exc:`Violation`."""

    def answered(self, line: Line, method: Method) -> None:
        """The broker has answered a method."""

    def confirmed(self, line: Line, post: Post) -> None:
        self.ledger.confirmed(post, self.clock.wall_ms(), synced=self.synced_by_confirms)

    def nacked(self, line: Line, post: Post) -> None:
        """The broker has nacked a message: it may be in some of its queues."""

    def delivered(self, line: Line, taken: Taken) -> None:
        """The broker has delivered a message, and the ledger knows. Raises :exc:`Violation`."""

    def requeued(self, line: Line, taken: Taken) -> None:
        """The client has given a message back."""

    def rejected(self, line: Line, taken: Taken) -> None:
        """The client has rejected a message: for good, where its queue has no other for dead
        letters."""
        if taken.queue not in self.dead_lettering:
            self.ledger.settled(line.number, taken.queue, taken.number)

    def ended(self, line: Line) -> None:
        """The line is gone."""

    def drained(self) -> None:
        """All messages were taken for good. Raises :exc:`Violation`."""
        self.ledger.drained()

    def fail(self, text: str) -> Violation:
        """The violation of a law, to be raised."""
        return self.ledger.fail(text)
