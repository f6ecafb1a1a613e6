"""Bugs in queues, consumers and dead-lettering."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterable
from operator import attrgetter
from typing import Any

import pytest

from mutants.mutant import mutant
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.dead_letter import dead_letters, x_death
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.index.priority import PriorityLevels
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.core.methods import queue as queue_methods
from reference_broker.core.queue import expiry, removal
from reference_broker.core.queue.backlog import Backlog
from reference_broker.core.queue.death import Death
from reference_broker.core.queue.expiry import MessageExpiry
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.length_limit import LengthLimit
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.rotation import ConsumerRotation
from reference_broker.core.vhost import queue_declaration, queue_deletion
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.until import Until

# The queue


@mutant("redelivered")
def redelivered_forgotten_by_recovery(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QueueIndex, "mark_redelivered_below", lambda self, position: None)


@mutant("order")
def requeue_at_the_tail(patch: pytest.MonkeyPatch) -> None:
    def at_the_tail(self: Queue, leases: Iterable[Lease], *, failed: bool = True) -> None:
        journal = self.env.journal
        for lease in leases:
            if self.leases.pop(lease.sequence, None) is not lease:
                continue
            content = lease.content
            index = self.index_of(lease.sequence)
            expires_at_ms = index.expires_at(lease.sequence)
            sequence = index.tail
            again = Content(content.route, content.header, content.body)
            if content.position >= 0:
                journal.publish([Entry(self.id, sequence, expires_at_ms)], again)
            size, at, stored = len(content.body), again.position, again.stored
            index.restore(sequence, at, size, stored, True, expires_at_ms)
            if content.position >= 0:
                journal.ack(self.id, lease.sequence, content.position, content.stored)
            index.settle(lease.sequence)
            self.contents[sequence] = again
        self.env.mark_dirty(self)

    patch.setattr(Queue, "requeue", at_the_tail)


@mutant("order", showed_at=4)
def priorities_ignored(patch: pytest.MonkeyPatch) -> None:
    """The lowest level comes first."""
    levels = PriorityLevels.index_at

    def upside_down(self: PriorityLevels, priority: int) -> Any:
        index = levels(self, priority)
        self._highest_first.sort(key=attrgetter("tail"))
        return index

    patch.setattr(PriorityLevels, "index_at", upside_down)


@mutant("acks", showed_at=79)
def purge_not_logged(patch: pytest.MonkeyPatch) -> None:
    def purge(queue: Queue) -> Generator[None, None, int]:
        count, absent_bytes = queue.ready, queue.backlog.absent_bytes
        for index in queue.indexes():
            while (run := index.ready_run(index.tail)) is not None:
                index.drop_ready(len(run.sequences))
        queue.contents.clear()
        queue.backlog.gone(absent_bytes, queue.backlog.absent)
        queue.note_purged(count)
        yield from ()
        return count

    patch.setattr(queue_methods, "purge", purge)


@mutant("durability", showed_at=25)
def purge_takes_what_is_held(patch: pytest.MonkeyPatch) -> None:
    """It doesn't look at who has it, and doesn't count it."""

    def purge_all(queue: Queue) -> Generator[Until | None, None, int]:
        count = yield from removal.purge(queue)
        for lease in list(queue.leases.values()):
            queue.ack(lease)
        return count

    patch.setattr(queue_methods, "purge", purge_all)


@mutant("books", showed_at=4)
def queue_id_reused(patch: pytest.MonkeyPatch) -> None:
    """A queue that is declared again has its old id, so that what was deleted has to be acked one
    by one; and that isn't done."""
    queue_of = queue_declaration.queue_of

    def by_name(vhost: VHost, wanted: Any, *rest: Any) -> Queue:
        return queue_of(vhost, wanted._replace(id=zlib.crc32(wanted.name.encode())), *rest)

    def forget(queue: Queue) -> Generator[None, None, None]:
        queue.contents.clear()
        queue.leases.clear()
        yield from ()

    patch.setattr(queue_declaration, "queue_of", by_name)
    patch.setattr(queue_deletion, "remove_everything", forget)


@mutant("durability", showed_at=3)
def blind_messages_dropped(patch: pytest.MonkeyPatch) -> None:
    """One in ten of those that nobody acks is taken, and not sent."""
    deliver = Consumer.deliver

    def deliver_most(self: Consumer, lease: Lease) -> None:
        if not self.no_ack or lease.sequence % 10:
            deliver(self, lease)

    patch.setattr(Consumer, "deliver", deliver_most)


@mutant("content")
def bodies_mixed_up(patch: pytest.MonkeyPatch) -> None:
    """Two messages of one size have the body of the first when they are read."""
    arrived = Backlog.arrived
    bodies: dict[int, Any] = {}

    def with_any_body(self: Backlog, answers: Iterable[tuple[int, Content | None]]) -> None:
        for _, content in answers:
            if content is not None:
                content.body = bodies.setdefault(len(content.body), content.body)
        arrived(self, answers)

    patch.setattr(Backlog, "arrived", with_any_body)


@mutant("prefetch")
def prefetch_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Consumer, "capacity", lambda self: True)


@mutant("liveness")
def never_woken_by_an_ack(patch: pytest.MonkeyPatch) -> None:
    """A consumer that rests, its prefetch used up, rests for ever."""
    settled = Consumer.settled

    def quietly(self: Consumer, count: int = 1) -> None:
        with pytest.MonkeyPatch.context() as there:
            there.setattr(ConsumerRotation, "wake", lambda self, consumer: False)
            settled(self, count)

    patch.setattr(Consumer, "settled", quietly)


@mutant("liveness")
def never_woken_by_the_socket(patch: pytest.MonkeyPatch) -> None:
    """A consumer that rests, as its client was slow to read, rests for ever."""
    patch.setattr(Channel, "wake_consumers", lambda self, behind=None: None)


# Messages that leave by themselves


@mutant("durability", showed_at=14)
def expired_too_early(patch: pytest.MonkeyPatch) -> None:
    early = expiry.expires_at_ms

    def half(wall_ms: int, queue_ttl_ms: int | None, message_ttl_ms: int | None) -> int:
        at_ms = early(wall_ms, queue_ttl_ms, message_ttl_ms)
        return wall_ms + (at_ms - wall_ms) // 2 if at_ms else 0

    patch.setattr(expiry, "expires_at_ms", half)


@mutant("expiry", showed_at=4)
def expired_handed_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MessageExpiry, "drop_overdue", lambda self: True)
    patch.setattr(MessageExpiry, "drop_due", lambda self: True)


@mutant("durability", showed_at=2)
def limit_of_a_quarter(patch: pytest.MonkeyPatch) -> None:
    init = LengthLimit.__init__

    def a_quarter(self: LengthLimit, max_length: int | None, *rest: Any) -> None:
        init(self, max_length and max_length // 4, *rest)

    patch.setattr(LengthLimit, "__init__", a_quarter)


@mutant("durability", showed_at=2)
def dead_letters_dropped(patch: pytest.MonkeyPatch) -> None:
    """One in three, after its source was acked."""
    send = dead_letters.DeadLetters._send

    def send_most(self: dead_letters.DeadLetters, death: Death) -> None:
        if death.sequence % 3 or not death.is_logged:
            send(self, death)
        else:
            death.queue.buried(death)

    patch.setattr(dead_letters.DeadLetters, "_send", send_most)


@mutant("x-death", showed_at=5)
def deaths_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(x_death, "_count", lambda value: 0)


@mutant("x-death")
def deaths_counted_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(x_death, "_count", lambda value: 2)
