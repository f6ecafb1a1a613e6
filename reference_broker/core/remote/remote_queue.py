"""A queue whose home is another node: what stands for it on this one.

The law: no message of it is here. What is published to it goes to its home (:mod:`forward`); what
its home hands out to a consumer of this node is a lease here, by the number that it has there; and
how that ends is told to the home. Bindings, policies and arguments are what they are on every node.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reference_broker.core.arguments.queue_arguments import QueueArguments
from reference_broker.core.arguments.queue_type import check_conditional_deletion
from reference_broker.core.base.names import described, in_use, not_empty
from reference_broker.core.policy.policy import AppliedPolicies
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.ports import ConsumerPort, QueueEnvironment
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.rotation import ConsumerRotation
from reference_broker.core.remote.attachment import Attachment, AttachmentState, RemoteConsumer
from reference_broker.core.remote.ports import Counts, Got, Home, Purged, Settlement, Terms
from reference_broker.core.remote.question import answered
from reference_broker.core.remote.settlements import RemoteExits, Settlements
from reference_broker.core.work.until import Until
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.work.task import Steps


class RemoteQueue(Queue):
    """The queue ``id`` of the node ``home``. Its index is empty, and its counts are of what went
    through this node. Who asks for messages, or for counts, asks its home, and waits: each of the
    methods that do is steps, and raises :exc:`ChannelException` 404 where the home is down."""

    __slots__ = ("_attachments", "_era", "ended", "home", "settlements")

    is_elsewhere = True

    def __init__(
        self,
        *,
        home: Home,
        id: int,
        name: str,
        durable: bool,
        auto_delete: bool,
        owner: object | None,
        arguments: Mapping[str, Any],
        limits: QueueArguments,
        env: QueueEnvironment,
    ) -> None:
        super().__init__(
            id=id,
            name=name,
            durable=durable,
            auto_delete=auto_delete,
            owner=owner,
            arguments=arguments,
            limits=QueueArguments(),  # what they ask for is done at home
            env=env,
        )
        self.limits = self.own_limits = limits
        self.home = home
        self.settlements = Settlements(self._has_something_to_send)
        self.exits = RemoteExits(self.settlements)
        self.rotation = _AlwaysWoken()
        self.ended = Until()
        """Happens when the queue is deleted."""
        self._era = home.era
        self._attachments: dict[ConsumerPort, Attachment] = {}

    def _has_something_to_send(self) -> None:
        self.env.mark_dirty(self)

    def require_home(self) -> None:
        """Raises :exc:`ChannelException` 404 while the home can't be reached (RabbitMQ's text)."""
        if not self.home.is_up:
            kind = "durable " if self.durable else ""
            where = described("queue", self.name, self.env.vhost_name)
            raise ChannelException(
                ReplyCode.NOT_FOUND,
                f"home node 'mqkit@{self.home.node}' of {kind}{where} is down or inaccessible",
            )

    def renew(self) -> None:
        """Leases of a home that was lost meanwhile are stale from now on."""
        if self._era != self.home.era:
            self._era = self.home.era
            self.leases = {}
            self.settlements.forget()
            for attachment in self._attachments.values():
                attachment.forget()

    # Consumers

    def attach(
        self, consumer: RemoteConsumer, terms: Terms
    ) -> Generator[Until | None, None, Attachment]:
        """The steps of having a consumer take part at the home; it gets nothing before
        :meth:`Attachment.begin`. Raises what the home refuses it with."""
        self.require_home()
        attachment = Attachment(self, consumer)
        self._attachments[consumer] = attachment
        self.rotation.add(consumer)
        attachment.number = self.home.attach(self.id, terms, attachment)
        while attachment.state is AttachmentState.ATTACHING:
            yield attachment.changed
        if attachment.error is not None:
            raise attachment.error
        if attachment.state is AttachmentState.OVER:
            self.require_home()
        return attachment

    def remove_consumer(self, consumer: ConsumerPort) -> None:
        """The consumer is gone; what it holds stays unacked. Does nothing when it wasn't here."""
        if self.rotation.remove(consumer):
            self._attachments[consumer].leave()

    def until_left(self, consumer: ConsumerPort) -> Steps:
        """The steps until a consumer that was removed has left at the home, too: what was on its
        way to it has been given back by then."""
        attachment = self._attachments.get(consumer)
        while attachment is not None and attachment.state is AttachmentState.DETACHING:
            yield attachment.changed

    def attachment_number(self, consumer: ConsumerPort) -> int:
        """The number by which the home knows a consumer of this node; 0 for one that has left."""
        attachment = self._attachments.get(consumer)
        return 0 if attachment is None else attachment.number

    def over(self, consumer: ConsumerPort) -> None:
        """Nothing comes for the consumer any more."""
        self.rotation.remove(consumer)
        self._attachments.pop(consumer, None)

    def wake(self, consumer: ConsumerPort) -> None:
        """The consumer may have room, or something may have come for it."""
        self.rotation.wake(consumer)
        self.env.mark_dirty(self)

    def dispatch(self) -> bool:
        """Send the settlements of the input, and hand out what has come. False when the budget is
        spent before the end."""
        self.renew()
        self.settlements.send(self.home, self.id)
        if self.deleted:
            return True
        woken = self.rotation.woken
        while woken:
            consumer = next(iter(woken))
            attachment = self._attachments.get(consumer)
            if attachment is not None and not attachment.go_on():
                return False
            woken.pop(consumer, None)
        return True

    def end(self) -> None:
        """See :meth:`Queue.end`."""
        super().end()
        self.ended.happened()

    # Settling: Queue.ack is as ever, and the exits tell the home.

    def requeue(self, leases: Iterable[Lease], *, failed: bool = True) -> None:
        """See :meth:`Queue.requeue`; the rule of the consumer is known at the home."""
        numbers = [lease.sequence for lease in leases if self._end(lease)]
        if numbers:
            self.requeued += len(numbers)
            how = Settlement.REQUEUE_FAILED if failed else Settlement.REQUEUE
            self.settlements.add(how, numbers)

    def reject(self, lease: Lease) -> None:
        """See :meth:`Queue.reject`."""
        if self._end(lease):
            self.rejected += 1
            self.settlements.add(Settlement.REJECT, (lease.sequence,))

    def take_leases(self) -> dict[int, Lease]:
        """None of the leases has a message here. They stay, for the home, where they are stale,
        has them until they are settled, too."""
        return {}

    def _end(self, lease: Lease) -> bool:
        """See :meth:`Queue._end`; the home is told, also where the queue is deleted."""
        if self.leases.get(lease.sequence) is not lease:
            self.stale_settlements += 1
            return False
        del self.leases[lease.sequence]
        return True

    # Questions

    def fetch(
        self, holder: object, *, no_ack: bool
    ) -> Generator[Until | None, None, tuple[Lease | None, int]]:
        """The steps of basic.get: the lease of ``holder``, or none for an empty queue, and how many
        messages are left. Its ``content`` is for the client, and to be let go then."""
        self._begin_question()
        got = yield from answered(lambda told: self.home.get(self.id, no_ack, told), Got)
        if got.content is None:
            return None, got.left
        lease = Lease(self, got.number, got.content, got.redelivered, got.number, holder)
        self.got += 1
        self.got_no_ack += no_ack
        self.redelivered_count += got.redelivered
        if not no_ack:
            self.leases[got.number] = lease
        return lease, got.left

    def give_back_unseen(self, lease: Lease) -> None:
        """Nobody wants what :meth:`fetch` has got: the client is gone."""
        if self.leases.pop(lease.sequence, None) is lease:
            self.settlements.add(Settlement.UNSEEN, (lease.sequence,))

    def count(self) -> Generator[Until | None, None, Counts]:
        """The steps of asking for the counts of the queue at rest; it counts as use of it."""
        self._begin_question()
        return (yield from answered(lambda told: self.home.count(self.id, told), Counts))

    def require_deletable(
        self, *, if_unused: bool, if_empty: bool
    ) -> Generator[Until | None, None, Counts]:
        """The steps of asking the home for the counts, where they meet the conditions of a
        deletion. Raises :exc:`ChannelException` 406, and :exc:`ConnectionException` 540 for a
        condition on a quorum queue."""
        vhost_name = self.env.vhost_name
        check_conditional_deletion(
            self.limits.queue_type, self.name, vhost_name, if_unused=if_unused, if_empty=if_empty
        )
        counts = yield from self.count()
        if if_empty and counts.ready:
            raise not_empty(self.name, vhost_name)
        if if_unused and counts.consumers:
            raise in_use(self.name, vhost_name)
        return counts

    def _begin_question(self) -> None:
        """Tell the home what was settled before: it goes before."""
        self.require_home()
        self.renew()
        self.settlements.send(self.home, self.id)

    def purge(self) -> Generator[Until | None, None, int]:
        """The steps of a purge; how many messages went, and that is on disk."""
        self._begin_question()
        purged = yield from answered(lambda told: self.home.purge(self.id, told), Purged)
        return purged.messages

    # What a queue has at home alone

    def take_limits(self, limits: QueueArguments, policies: AppliedPolicies) -> None:
        """Show what policies bring; it holds at home."""
        self.limits, self.policies = limits, policies

    def touch(self) -> None:
        """Nothing: the questions themselves are use of the queue."""


class _AlwaysWoken(ConsumerRotation):
    """The consumers of this node at a remote queue. None rests here: whoever may have room again is
    looked at."""

    __slots__ = ()

    def wake(self, consumer: ConsumerPort) -> bool:
        if consumer in self.consumers:
            self.woken[consumer] = None
        return True
