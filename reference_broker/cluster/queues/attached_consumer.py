"""A consumer of another node, at the home of its queue: it gets as much as it was granted, and as
the lane takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from reference_broker.cluster.link.lane import MESSAGE_OVERHEAD_BYTES
from reference_broker.cluster.queues.answer_octets import encode_delivery, encode_delivery_run
from reference_broker.cluster.queues.kinds import AnswerKind
from reference_broker.cluster.queues.message_octets import RUN_BYTES, RUN_MAX
from reference_broker.core.queue.delivery_counts import shown_content
from reference_broker.core.queue.ports import AttachedFrom

if TYPE_CHECKING:
    from reference_broker.cluster.queues.held_leases import HeldLeases
    from reference_broker.cluster.queues.lane_output import LaneOutput
    from reference_broker.core.arguments.requeue_position import RequeueRule
    from reference_broker.core.channel.consume_arguments import ConsumeArguments
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.remote.ports import Terms
    from reference_broker.core.work.until import Until


CONSUMER_BYTES = 400
"""Accounted for each consumer, beside its tag: measured, with its places in the session and the
queue."""

_route = attrgetter("content.route")


class ConsumerSession(Protocol):
    """The session of an origin, as its consumers see it."""

    output: LaneOutput
    leases: HeldLeases
    node: str
    """The node of the origin."""
    leaving: Until | None
    """There while the session has ended, and its consumers leave their queues."""
    delivered: int
    """Messages that were sent to all of its consumers."""

    def starve(self, consumer: AttachedConsumer) -> None:
        """Wake the consumer when the lane has room again."""
        ...

    def consumer_gone(self, consumer: AttachedConsumer) -> None:
        """The consumer's queue is deleted: tell the origin."""
        ...


class AttachedConsumer:
    """One attachment. Its queue sees it as a
    :class:`~reference_broker.core.queue.ports.ConsumerPort`."""

    __slots__ = (
        "_counts", "_messages_left", "_messages_sent", "_octets_left", "_octets_sent", "_output",
        "_session", "attachment", "exclusive", "no_ack", "priority", "queue", "requeue", "tag",
        "weight",
    )  # fmt: skip

    channel: None = None
    """The client's own node traces what goes to it."""

    requeue: RequeueRule

    def __init__(
        self,
        session: ConsumerSession,
        attachment: int,
        queue: Queue,
        terms: Terms,
        asked: ConsumeArguments,
        *,
        exclusive: bool,
    ) -> None:
        self.attachment = attachment
        self.queue = queue
        self.tag = terms.tag
        self.no_ack = terms.no_ack
        self.exclusive = exclusive
        self.priority = asked.priority
        self.weight = asked.weight
        self.requeue = asked.requeue
        self._session = session
        self._output = session.output
        self._counts = queue.delivery_counts is not None
        self._messages_left = self._octets_left = 0
        self._messages_sent = self._octets_sent = 0

    @property
    def memory_bytes(self) -> int:
        """Accounted octets, which stay the same as long as it is there."""
        return CONSUMER_BYTES + 2 * len(self.tag)

    @property
    def leaving(self) -> Until | None:
        """Happens when the consumer has left its queue, where the link is down."""
        return self._session.leaving

    @property
    def attached_from(self) -> AttachedFrom:
        """See :class:`~reference_broker.core.queue.ports.ConsumerPort`."""
        return AttachedFrom(self._session.node, self.attachment)

    def grant(self, messages: int, octets: int) -> None:
        """Let the consumer have so much in all; less than before takes nothing back that was
        sent."""
        self._messages_left = messages - self._messages_sent
        self._octets_left = octets - self._octets_sent
        if self._messages_left > 0 and self._octets_left > 0:
            self.wake()

    def wake(self) -> None:
        """There may be capacity again."""
        if self.queue.rotation.wake(self):
            self.queue.env.mark_dirty(self.queue)

    def capacity(self) -> bool:
        """True while something is granted, and the lane has room."""
        if self._messages_left <= 0 or self._octets_left <= 0:
            return False
        if self._output.has_room:
            return True
        self._session.starve(self)
        return False

    def deliver(self, lease: Lease) -> None:
        """Send the message."""
        content = shown_content(lease) if self._counts else lease.content
        size = len(content.body)
        self._messages_left -= 1
        self._messages_sent += 1
        self._octets_left -= size
        self._octets_sent += size
        self._session.delivered += 1
        self._send(lease, content)
        if not self.no_ack:
            self._session.leases.add(lease)

    def _send(self, lease: Lease, content: Content) -> None:
        buffers = encode_delivery(self.attachment, lease.number, lease.redelivered, content)
        self._output.add(AnswerKind.DELIVERY, buffers, len(buffers[0]) + content.size)

    def deliver_run(self, leases: Iterator[Lease]) -> int:
        """:meth:`deliver`, as long as there is capacity and something to take: of one message
        after another, whose leases have one number after another."""
        count = 0
        while (run := self._take_run(leases)) and self.capacity():
            count += len(run)
        return count + len(run)

    def _take_run(self, leases: Iterator[Lease]) -> list[Lease]:
        """Take what fits into one run, and send it: as much as is granted, for the lane has room as
        long as nothing is sent."""
        run: list[Lease] = []
        if not self.capacity():
            return run
        most = min(self._octets_left, RUN_BYTES)
        left = most
        for lease in islice(leases, min(self._messages_left, RUN_MAX)):
            run.append(lease)
            left -= len(lease.content.body)
            if left <= 0:
                break
        size = most - left
        self._messages_left -= len(run)
        self._messages_sent += len(run)
        self._octets_left -= size
        self._octets_sent += size
        self._session.delivered += len(run)
        for _, alike in groupby(run, _route):
            self._send_run(list(alike))
        if not self.no_ack:
            self._session.leases.add_run(run)
        return run

    def _send_run(self, leases: list[Lease]) -> None:
        last = leases[-1]
        is_large = len(last.content.body) > RUN_BYTES  # it would be copied for a run
        contents = [lease.content for lease in leases[: len(leases) - is_large]]
        if contents:
            buffers = encode_delivery_run(self.attachment, leases[0].number, contents)
            size = sum(map(len, buffers)) + (len(contents) - 1) * MESSAGE_OVERHEAD_BYTES
            self._output.add(AnswerKind.DELIVERY_RUN, buffers, size)
        if is_large:
            self._send(last, last.content)

    def settled(self, count: int = 1) -> None:
        """Do nothing: the origin counts what its clients hold, and grants more."""

    def cancelled_by_broker(self) -> None:
        """End the consumer, as its queue is gone."""
        self._session.consumer_gone(self)
