"""The laws of messages in a cluster.

confirm     each publish is answered once, and a confirm comes after the sync of every home
durability  a confirmed message is settled by a client in the end, unless the process of its queue's
            home has died since
routing     nothing comes that was not published, or from a queue that it was not routed to
acks        a message whose ack has reached its home does not come again, but for what was under
            way over a link that the home has given up
fresh       at most one delivery of a message is not marked as redelivered
prefetch    a consumer never holds more than it asked for
order       of one publisher, a consumer gets a queue's messages in their order, but for those that
            are redelivered, or may have been given back unseen
liveness    what a client asks of a node that goes round is answered in time, and what is ready is
            delivered where a consumer has room
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.homes import (
    home_of,
    is_linked_with_home,
    is_routed,
    life_of,
    queue_at,
)
from reference_broker.simulation.cluster.messages.message_model import (
    MessageCopy,
    SentMessage,
    number_in,
)
from reference_broker.simulation.cluster.messages.topology import COUNTED_ON

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

GIVING_BACK_US = 15_000_000
"""Microseconds after a consumer has left in which what was on its way to it may come back."""


class MessageLaws:
    """Everything that clients with messages have done and seen. ``counts`` says how often each law
    was looked at."""

    def __init__(self, world: ClusterWorld) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._sent: dict[int, SentMessage] = {}
        self._unordered_until_us: dict[str, int] = {}
        self._unordered_through: dict[str, int] = {}
        self._last_fresh: dict[tuple[int, str, int], int] = {}

    # Publishing

    def sent(
        self,
        process: NodeProcess,
        publisher: int,
        exchange: str,
        queues: tuple[str, ...],
        padding: int,
    ) -> SentMessage:
        """The next message, which is published to ``exchange`` at ``process`` now, and so to
        ``queues``."""
        number = len(self._sent) + 1
        body = b"%d %s" % (number, Random(number).randbytes(padding))
        message = self._sent[number] = SentMessage(number, publisher, body)
        now_us = self._world.clock.now_us
        for queue in queues:
            life = life_of(process, queue) if is_routed(process, exchange, queue) else None
            copy = message.copies[queue] = MessageCopy(life)
            copy.is_ordered = now_us > self._unordered_until_us.get(queue, 0)
        self.counts["messages sent"] += 1
        self._world.alarm_laws.sent(number, process)
        return message

    def answered(self, message: SentMessage, process: NodeProcess, *, confirmed: bool) -> None:
        """The publisher at ``process`` is told what has become of it."""
        self.counts["messages confirmed" if confirmed else "messages refused"] += 1
        message.confirmed = confirmed
        self._world.alarm_laws.taken(message.number, "answered")
        if confirmed:
            for queue, copy in message.copies.items():
                self._hold_synced(message, process, queue, copy)

    def _hold_synced(
        self, message: SentMessage, process: NodeProcess, queue: str, copy: MessageCopy
    ) -> None:
        found = queue_at(process, queue)
        if copy.life is None or found is None:
            return
        home = process if copy.life[0] == process.name else self._world.processes[copy.life[0]]
        if home.run == copy.life[1]:
            self.counts["confirm, synced at home"] += 1
            if not home.broker.journal.has_synced(found.id, message.body):
                raise LawBroken(
                    f"message {message.number} is confirmed, and {home.name}, the home of {queue},"
                    " has not synced it"
                )

    # Consuming

    def delivered(
        self, process: NodeProcess, queue: str, body: bytes, consumer: int, *, redelivered: bool
    ) -> tuple[SentMessage, MessageCopy]:
        """A client of ``process`` has got a message from ``queue``."""
        self.counts["messages redelivered" if redelivered else "messages delivered"] += 1
        message = self._sent.get(number_in(body))
        if message is None or message.body != body:
            raise LawBroken(f"{body[:50]!r} came from {queue}, and was never published")
        copy = message.copies.get(queue)
        if copy is None:
            raise LawBroken(f"message {message.number} came from {queue}, and was not routed to it")
        self._world.alarm_laws.taken(message.number, "delivered")
        self._count_large(process, queue, body)
        if copy.is_surely_gone and not is_linked_with_home(process, queue, self._world.processes):
            self.counts["late deliveries of what was acked"] += 1
        elif copy.is_surely_gone:
            raise LawBroken(f"message {message.number} came from {queue} again after it was acked")
        if not redelivered:
            self._hold_fresh(message, queue, copy)
            self._hold_order(message, queue, copy, consumer)
        return message, copy

    def _count_large(self, process: NodeProcess, queue: str, body: bytes) -> None:
        sizes = self._world.link_sizes
        if sizes is not None and home_of(process, queue) != process.name:
            self.counts["bodies in several frames"] += len(body) > sizes.frame_bytes
            self.counts["bodies above a consumer's octets"] += len(body) > sizes.consumer_bytes

    def _hold_fresh(self, message: SentMessage, queue: str, copy: MessageCopy) -> None:
        copy.fresh += 1
        if copy.fresh > 1:
            raise LawBroken(
                f"message {message.number} came from {queue} twice, and was not marked as"
                " redelivered"
            )

    def _hold_order(
        self, message: SentMessage, queue: str, copy: MessageCopy, consumer: int
    ) -> None:
        number = message.number
        if not copy.is_ordered or number <= self._unordered_through.get(queue, 0):
            return
        self.counts["order held"] += 1
        key = (message.publisher, queue, consumer)
        last = self._last_fresh.get(key, 0)
        if number < last:
            raise LawBroken(f"message {number} came from {queue} after message {last}")
        self._last_fresh[key] = number

    def consumer_left(self, queue: str) -> None:
        """A consumer leaves, or whoever asked for a message: what it has not seen may come back."""
        self._unordered_through[queue] = len(self._sent)
        self._unordered_until_us[queue] = self._world.clock.now_us + GIVING_BACK_US

    # At the end

    def hold_durability(self) -> None:
        """Every confirmed message was settled by a client."""
        lives = {(name, each.run) for name, each in self._world.processes.items()}
        for message in self._sent.values():
            if not message.confirmed:
                continue
            for queue, copy in message.copies.items():
                if queue not in COUNTED_ON:
                    continue
                if copy.life not in lives:
                    self.counts["durability, home has died"] += 1
                    continue
                self.counts["durability held"] += 1
                if not copy.is_settled:
                    raise LawBroken(
                        f"message {message.number} was confirmed, and nobody has settled it:"
                        f" {queue} at {copy.life}, {copy.fresh} deliveries"
                    )
