"""A client that consumes and gets: with small prefetches, and every way of settling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicNack,
    BasicQos,
    BasicReject,
    ChannelClose,
    Method,
    QueueDeclare,
    QueueDelete,
)
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.client import Client
from reference_broker.simulation.cluster.messages.delivery_wait import DeliveryWait
from reference_broker.simulation.cluster.messages.homes import home_of
from reference_broker.simulation.cluster.messages.message_model import MessageCopy
from reference_broker.simulation.cluster.messages.topology import BRIEF, NAMES

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.world import ClusterWorld

ACT_US = (20_000, 3_500_000)
SETTLE_US = (500, 300_000)
PREFETCHES = (1, 2, 3, 5)
NO_ACK_CHANCE = 0.3
"""Of consumers of the queue that nobody counts on."""


@dataclass(slots=True, eq=False)
class Held:
    """A delivery that is not settled."""

    queue: str
    copy: MessageCopy
    home: str | None
    era: int | None
    tag: int
    consumer: int
    """The number of the client's consumer; 0 for what it has got by asking."""


class Consumer(Client):
    """See the module. ``restlessness`` is the chance that it goes away, where it does something."""

    def __init__(self, world: ClusterWorld, number: int, restlessness: float) -> None:
        super().__init__(world, number)
        self._restlessness = restlessness
        self._held: dict[int, Held] = {}
        self._acked: list[Held] = []
        """Acks since the last question about a queue."""
        self._getting: str | None = None
        self._queue: str | None = None
        self._prefetch = 0
        self._no_ack = False
        self._consumers = 0
        self._behind = 0
        """Messages that were settled behind a question: its channel does nothing until that is
        answered."""
        self._wait = DeliveryWait(world)

    def begin(self) -> None:
        """Consume from some queue, and do all the rest."""
        self._consume(self.random.choice(NAMES))
        self.later(ACT_US, self._act)

    def ended(self) -> None:
        """Whatever it held comes back."""
        self._held.clear()
        self._acked.clear()
        self._left()

    def _left(self) -> None:
        for queue in (self._queue, self._getting):
            if queue is not None:
                self.world.message_laws.consumer_left(queue)
        self._queue = self._getting = None
        self._wait.end()

    # Consuming

    def _consume(self, queue: str) -> None:
        self._prefetch = self.random.choice(PREFETCHES)
        self._no_ack = queue == BRIEF and self.random.random() < NO_ACK_CHANCE
        self._consumers += 1
        self._queue = queue
        self.ask(BasicQos(prefetch_count=self._prefetch))
        consume = BasicConsume(queue, f"c{self._consumers}", no_ack=self._no_ack)
        self.ask(consume, lambda method, body: self._wait.begin())

    def event(self, method: Method, body: bytes) -> None:
        """A delivery, or the end of the queue."""
        if isinstance(method, BasicCancel):
            self._queue = None
            self._wait.end()
            self.world.counts["consumers cancelled by the broker"] += 1
            return
        assert isinstance(method, BasicDeliver), method
        if self._queue is None or method.consumer_tag != f"c{self._consumers}":
            raise LawBroken(f"client {self.number} got {method}, and consumes {self._queue}")
        self._wait.begin()
        held = self._got_one(self._queue, method, body, by_consumer=True)
        if self._no_ack:
            return
        count = self._count
        self.world.counts["prefetch held"] += count == self._prefetch
        if count > self._prefetch:
            raise LawBroken(
                f"client {self.number} holds {count} messages of {held.queue}, of"
                f" {self._prefetch} that it asked for"
            )

    @property
    def _count(self) -> int:
        """Messages that its consumer holds."""
        return sum(each.consumer == self._consumers for each in self._held.values())

    def hold_answered(self) -> None:
        """Nor was anything ready for it."""
        super().hold_answered()
        if not self.waits_for_answers:
            self._behind = 0
        if self._queue is None or not self.is_owed:
            return
        if self._no_ack or self._count + self._behind < self._prefetch:
            self._wait.hold(self.process, self._queue)
        else:
            self._wait.begin()

    def _got_one(
        self, queue: str, method: BasicDeliver | BasicGetOk, body: bytes, *, by_consumer: bool
    ) -> Held:
        identity = (self.number * 1_000 + self.lives) * 1_000 + self._consumers
        _, copy = self.world.message_laws.delivered(
            self.process,
            queue,
            body,
            identity if by_consumer else -identity,
            redelivered=method.redelivered,
        )
        home = home_of(self.process, queue)
        era = None if home is None else self.eras.get(home, 0)
        held = Held(queue, copy, home, era, method.delivery_tag, self._consumers * by_consumer)
        if by_consumer and self._no_ack:
            copy.is_settled = True
        else:
            self._held[method.delivery_tag] = held
            self.later(SETTLE_US, partial(self._settle, held))
        return held

    # Settling

    def _settle(self, held: Held) -> None:
        if self._held.get(held.tag) is not held:
            return
        way = self.random.random()
        if way < 0.72:
            self._ack(held, multiple=False)
        elif way < 0.8:
            self._ack(held, multiple=True)
        elif way < 0.88:
            self._take_off(held.tag)
            self.send(BasicNack(held.tag, requeue=True))
        elif way < 0.92:
            self._take_off(held.tag)
            held.copy.is_settled = True
            self.send(BasicReject(held.tag, requeue=False))
        else:
            self.later(ACT_US, partial(self._settle, held))

    def _take_off(self, tag: int) -> Held:
        """It is about to settle what it holds by that delivery tag."""
        self._behind = self._behind + 1 if self.waits_for_answers else 0
        return self._held.pop(tag)

    def _ack(self, held: Held, *, multiple: bool) -> None:
        tags = [tag for tag in self._held if tag <= held.tag] if multiple else [held.tag]
        for tag in tags:
            acked = self._take_off(tag)
            acked.copy.is_settled = True
            self._acked.append(acked)
        self.send(BasicAck(held.tag, multiple=multiple))

    def _be_sure(self) -> None:
        """Ask a queue that something was acked of: the answer comes after the acks."""
        queue = self._acked[-1].queue
        acked = [held for held in self._acked if held.queue == queue]
        self._acked = [held for held in self._acked if held.queue != queue]
        self.ask(QueueDeclare(queue, passive=True), partial(self._is_sure, acked))

    def _is_sure(self, acked: list[Held], method: Method, body: bytes) -> None:
        for held in acked:
            if held.queue == BRIEF or held.home is None:
                continue
            if self.eras.get(held.home, 0) == held.era:
                held.copy.is_surely_gone = True
                self.world.counts["acks that have surely come"] += 1

    # The rest

    def _act(self) -> None:
        if self.random.random() < self._restlessness:
            self._go_away()
            return
        if self._acked and self.random.random() < 0.6:
            self._be_sure()
        elif self._getting is None:
            self._get(self.random.choice(NAMES))
        if self._queue is None and self.random.random() < 0.5:
            self._consume(self.random.choice(NAMES))
        self.later(ACT_US, self._act)

    def _get(self, queue: str) -> None:
        self._getting = queue
        self.ask(BasicGet(queue), self._got)

    def _got(self, method: Method, body: bytes) -> None:
        queue, self._getting = self._getting, None
        assert queue is not None
        if isinstance(method, BasicGetOk):
            self._got_one(queue, method, body, by_consumer=False)

    def _go_away(self) -> None:
        """Cancel, close the channel, be gone, or delete a queue."""
        way = self.random.randint(0, 3)
        if way == 0 and self._queue is not None:
            # What comes until then is still the consumer's.
            self._wait.end()
            self.ask(BasicCancel(f"c{self._consumers}"), self._cancelled)
            self.later(ACT_US, self._act)
        elif way == 1:
            self.ask(ChannelClose(200, ""), lambda method, body: self.leave())
        elif way == 2:
            self.ask(QueueDelete(BRIEF), lambda method, body: self.leave())
        else:
            self.leave()

    def _cancelled(self, method: Method, body: bytes) -> None:
        if self._queue is not None:
            self.world.message_laws.consumer_left(self._queue)
            self._queue = None


class Drainer(Consumer):
    """A consumer of one queue that acks everything."""

    def __init__(self, world: ClusterWorld, number: int, queue: str) -> None:
        super().__init__(world, number, 0)
        self._drained = queue

    def begin(self) -> None:
        """Consume."""
        self._consume(self._drained)

    def _settle(self, held: Held) -> None:
        if self._held.get(held.tag) is held:
            self._ack(held, multiple=False)
