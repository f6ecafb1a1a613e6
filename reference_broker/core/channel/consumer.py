"""A consumer: its capacity for one more message, and the frames of a delivery.

    hot path: the queue's dispatch calls ``capacity`` and ``deliver`` once per message

The deliver method's first part is the same for every message of a consumer, so it is one compiled
``struct``; exchange and routing key are already encoded in ``Content.route``.

    +------+---------+------+----+----+-----+------+--------------+-------------+- - - -+------+
    | 0x01 | channel | size | 60 | 60 | tag | tag  | delivery tag | redelivered | route | 0xCE |
    +------+---------+------+----+----+-----+------+--------------+-------------+- - - -+------+
       u8      u16     u32   u16  u16   u8    text       u64            u8
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from reference_broker.core.base.object_size import object_bytes
from reference_broker.core.message.content_frames import FRAME_END, FRAME_OVERHEAD, append_content
from reference_broker.core.queue.delivery_counts import shown_content

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.channel.consume_arguments import ConsumeArguments
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.until import Until

_DELIVER = 60 << 16 | 60
_BETWEEN_FRAMES = struct.Struct(">BBHI")
_NEXT_FRAME = _BETWEEN_FRAMES.pack
_TAG = struct.Struct(">Q").pack
_TAIL_SIZE = 9
"""Octets of delivery tag and redelivered bit."""
_END_OCTET = 0xCE
_HEADER = 2
_BODY = 3

UNLIMITED = 1 << 62
"""A prefetch of 0. The channel's own bound (limits.UNACKED_MAX) holds all the same."""


CONSUMER_BYTES = 360
"""Accounted for each consumer, beside its tag and arguments: itself, and its places in its channel
and its queue."""


class Consumer:
    """One basic.consume. Its queue sees it as a
    :class:`~reference_broker.core.queue.ports.ConsumerPort`.

    ``outstanding`` counts its unacknowledged deliveries, at most ``prefetch`` (0 is no limit).
    ``arguments`` are those of basic.consume, and ``asked`` what they come to.
    """

    __slots__ = (
        "_fixed_size",
        "_overhead",
        "_pack",
        "_prefetch_limit",
        "_tag_octets",
        "arguments",
        "channel",
        "connection",
        "exclusive",
        "no_ack",
        "number",
        "outstanding",
        "prefetch",
        "priority",
        "queue",
        "requeue",
        "tag",
        "timeout_ms",
        "weight",
    )

    attached_from: None = None

    def __init__(
        self,
        channel: Channel,
        queue: Queue,
        tag: str,
        *,
        no_ack: bool,
        exclusive: bool,
        prefetch: int,
        arguments: dict[str, Any],
        asked: ConsumeArguments,
    ) -> None:
        self.channel = channel
        self.connection = channel.connection
        self.number = channel.number
        self.queue = queue
        self.tag = tag
        self.no_ack = no_ack
        self.exclusive = exclusive
        self.priority = asked.priority
        self.weight = asked.weight
        self.timeout_ms = asked.timeout_ms
        self.requeue = asked.requeue
        self.prefetch = prefetch
        self.arguments = arguments
        self.outstanding = 0
        self._prefetch_limit = prefetch or UNLIMITED
        self._tag_octets = tag.encode()
        tag_size = len(self._tag_octets)
        layout = struct.Struct(f">BHIIB{tag_size}sQ?")
        self._pack: Callable[..., bytes] = layout.pack
        self._fixed_size = layout.size - FRAME_OVERHEAD + len(FRAME_END)
        self._overhead = layout.size + 2 * FRAME_OVERHEAD + len(FRAME_END)

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes, which stay the same as long as it is there."""
        return CONSUMER_BYTES + 2 * len(self.tag) + object_bytes(self.arguments)

    @property
    def leaving(self) -> Until | None:
        """Happens when the consumer has left its queue, where its channel has ended."""
        leaving = self.channel.leaving
        return None if leaving is None else leaving.gone

    def capacity(self) -> bool:
        """True when one more message may be delivered: its prefetch, the channel's, and the bound
        on bytes that wait for the client's socket are not used up. Whatever changes that must wake
        the consumer (:meth:`ConsumerRotation.wake`): its queue does not ask again before."""
        connection = self.connection
        if connection.output_size >= connection.delivery_limit:
            connection.starved = True
            return False
        channel = self.channel
        if self.no_ack:  # adds nothing to the channel's prefetch, and waits for it all the same
            return channel.outstanding < channel.automatic_limit
        return (
            self.outstanding < self._prefetch_limit
            and channel.outstanding < channel.outstanding_limit
        )

    def deliver(self, lease: Lease) -> None:
        """Allot the channel's next delivery tag, and append the frames to the output."""
        channel = self.channel
        connection = self.connection
        delivery_tag = channel.next_delivery_tag
        channel.next_delivery_tag = delivery_tag + 1
        content = lease.content
        route, header, body = content.route, content.header, content.body
        size = len(body)
        if 0 < size <= connection.body_frame_max:
            number = self.number
            tag = self._tag_octets
            connection.output += (
                self._pack(
                    1,
                    number,
                    self._fixed_size + len(route),
                    _DELIVER,
                    len(tag),
                    tag,
                    delivery_tag,
                    lease.redelivered,
                ),
                route,
                _NEXT_FRAME(_END_OCTET, _HEADER, number, len(header)),
                header,
                _NEXT_FRAME(_END_OCTET, _BODY, number, size),
                body,
                FRAME_END,
            )
            connection.output_size += self._overhead + len(route) + len(header) + size
        else:
            self._deliver_in_pieces(lease, delivery_tag)
        if not connection.dirty:
            connection.mark_dirty()
        if lease.redelivered:
            channel.redelivered += 1
        if self.no_ack:
            channel.delivered_no_ack += 1
        else:
            channel.unacked[delivery_tag] = lease
            channel.outstanding += 1
            self.outstanding += 1

    def deliver_run(self, leases: Iterator[Lease]) -> int:
        """:meth:`deliver`, as long as there is capacity and something to take. What is the same for
        one message after another is made once."""
        channel = self.channel
        connection = self.connection
        number = self.number
        first_tag = tag = channel.next_delivery_tag
        last_tag = tag + self.room()
        output = connection.output
        unacked = None if self.no_ack else channel.unacked
        route = b""
        head = middle = between = b""
        header_size = body_size = overhead = -1
        while tag < last_tag and connection.output_size < connection.delivery_limit:
            lease = next(leases, None)
            if lease is None:
                break
            content = lease.content
            header, body = content.header, content.body
            size = len(body)
            if not 0 < size <= connection.body_frame_max:
                self._deliver_in_pieces(lease, tag)
            else:
                # Messages that were read back have each a copy of what is mostly the same route.
                if len(header) != header_size or (
                    content.route is not route and content.route != route
                ):
                    route, header_size = content.route, len(header)
                    head = self._head(route)
                    middle = b"\0" + route + _NEXT_FRAME(_END_OCTET, _HEADER, number, header_size)
                    overhead = self._overhead + len(route) + header_size
                if size != body_size:
                    body_size = size
                    between = _NEXT_FRAME(_END_OCTET, _BODY, number, size)
                output += (head, _TAG(tag), middle, header, between, body, FRAME_END)
                connection.output_size += overhead + size
            if unacked is not None:
                unacked[tag] = lease
            tag += 1
        count = tag - first_tag
        channel.next_delivery_tag = tag
        if unacked is None:
            channel.delivered_no_ack += count
        else:
            channel.outstanding += count
            self.outstanding += count
        if count and not connection.dirty:
            connection.mark_dirty()
        return count

    def room(self) -> int:
        """The number of messages that the prefetches leave room for."""
        channel = self.channel
        if self.no_ack:
            return UNLIMITED if channel.outstanding < channel.automatic_limit else 0
        return min(
            self._prefetch_limit - self.outstanding,
            channel.outstanding_limit - channel.outstanding,
        )

    def note_waiting(self, octets: int) -> None:
        """Account for so many more octets of deliveries from another node that wait here, or
        fewer."""
        self.channel.waiting_bytes += octets

    def _head(self, route: bytes) -> bytes:
        """The beginning of a deliver frame, up to the delivery tag."""
        tag = self._tag_octets
        size = self._fixed_size + len(route)
        return self._pack(1, self.number, size, _DELIVER, len(tag), tag, 0, False)[:-_TAIL_SIZE]

    def _deliver_in_pieces(self, lease: Lease, delivery_tag: int) -> None:
        """Append the frames of a message with an empty body, or one of more than one frame."""
        connection = self.connection
        tag = self._tag_octets
        content = lease.content
        # The first seven octets are the frame header, which append_content writes itself.
        method = self._pack(1, 0, 0, _DELIVER, len(tag), tag, delivery_tag, lease.redelivered)[7:]
        connection.output_size += append_content(
            connection.output,
            self.number,
            method + content.route,
            content.header,
            content.body,
            connection.frame_max,
        )

    def settled(self, count: int = 1) -> None:
        """Count ``count`` deliveries that were settled in some way: the consumer may have capacity
        again."""
        channel = self.channel
        outstanding = self.outstanding
        self.outstanding = outstanding - count
        queue = self.queue
        if outstanding >= self._prefetch_limit > outstanding - count and queue.rotation.wake(self):
            channel.vhost.mark_dirty(queue)
        outstanding = channel.outstanding
        channel.outstanding = outstanding - count
        if outstanding >= channel.outstanding_limit > outstanding - count:
            channel.wake_consumers(self)

    def cancelled_by_broker(self) -> None:
        """End the consumer, as its queue is gone. Tell the client, if it asked to be told
        (consumer_cancel_notify). Says nothing for a channel that has ended."""
        known = self.channel.forget_consumer(self.tag)
        if known and self.connection.client_can("consumer_cancel_notify"):
            self.channel.tell_cancelled(self.tag)


class CountingConsumer(Consumer):
    """A consumer of a queue that counts deliveries: a message that was handed out before has
    ``x-delivery-count`` and ``x-acquired-count`` in its headers. The queue keeps the message as it
    was published."""

    __slots__ = ()

    def deliver(self, lease: Lease) -> None:
        published = lease.content
        lease.content = shown_content(lease)
        super().deliver(lease)
        lease.content = published
