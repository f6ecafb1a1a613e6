"""A client that publishes numbered messages, and awaits their confirms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import BasicAck, BasicNack, BasicPublish, ConfirmSelect, Method
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.client import ANSWERED_US, FRAME_MAX, Client
from reference_broker.simulation.cluster.messages.message_model import SentMessage
from reference_broker.simulation.cluster.messages.topology import BOUND, EVERYWHERE, NAMES

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.world import ClusterWorld

PUBLISH_US = (2_000, 1_800_000)
UNCONFIRMED_MAX = 12
FAN_OUT_CHANCE = 0.4
LEAVE_CHANCE = 0.02
BURST = (1, 1, 1, 2, 4)
PADDINGS = (0, 0, 20, 400, 9_000)


class Publisher(Client):
    """See the module. It publishes until :meth:`stop`."""

    def __init__(self, world: ClusterWorld, number: int) -> None:
        super().__init__(world, number)
        sizes = world.link_sizes
        self._paddings = PADDINGS if sizes is None else sizes.paddings
        self._published = 0
        self._open: dict[int, tuple[SentMessage, int]] = {}
        """Messages that are not answered, and when they were sent, by their tags."""

    def begin(self) -> None:
        """Publish from now on."""
        self._published = 0
        self.ask(ConfirmSelect(), lambda method, body: self._publish_some())

    def ended(self) -> None:
        """Nobody will say what has become of the open ones."""
        self._open.clear()

    def _publish_some(self) -> None:
        if self.random.random() < LEAVE_CHANCE:
            self.leave()
            return
        for _ in range(self.random.choice(BURST)):
            if len(self._open) < UNCONFIRMED_MAX:
                self._publish()
        self.later(PUBLISH_US, self._publish_some)

    def _publish(self) -> None:
        queue = self.random.choice(NAMES)
        is_everywhere = self.random.random() < FAN_OUT_CHANCE
        queues = BOUND if is_everywhere else (queue,)
        publisher = self.number * 1_000 + self.lives
        padding = self.random.choice(self._paddings)
        exchange = EVERYWHERE if is_everywhere else ""
        message = self.world.message_laws.sent(self.process, publisher, exchange, queues, padding)
        method = BasicPublish(exchange, queue)
        properties = Properties(delivery_mode=2)
        self._published += 1
        self._open[self._published] = message, self.world.clock.now_us
        self.send_bytes(content_frames(1, method, properties, message.body, FRAME_MAX))

    def event(self, method: Method, body: bytes) -> None:
        """Publishes are answered."""
        assert isinstance(method, BasicAck | BasicNack), method
        tag = method.delivery_tag
        if tag not in self._open:
            raise LawBroken(f"publish {tag} of client {self.number} is answered, and not open")
        tags = [each for each in self._open if each <= tag] if method.multiple else [tag]
        confirmed = isinstance(method, BasicAck)
        for each in tags:
            message, _ = self._open.pop(each)
            self.world.message_laws.answered(message, self.process, confirmed=confirmed)

    def hold_answered(self) -> None:
        """Nor was anything published."""
        super().hold_answered()
        if not self.is_owed:
            return
        laws = self.world.alarm_laws
        if self.blocked_us is not None:
            laws.hold_blocked(self.process, self.blocked_us, f"client {self.number}")
        if not self._open:
            return
        message, sent_us = next(iter(self._open.values()))
        laws.hold_told(message.number, is_blocked=self.blocked_us is not None)
        if self.blocked_us is not None:
            return
        waited_us = self.waits_us(max(sent_us, self.unblocked_us))
        self.world.counts["liveness, publishes that wait"] += 1
        if waited_us > ANSWERED_US:
            raise LawBroken(
                f"message {message.number} to {list(message.copies)} was published"
                f" {waited_us / 1_000_000:.1f} s ago at {self.process.name}, and is not answered"
            )
