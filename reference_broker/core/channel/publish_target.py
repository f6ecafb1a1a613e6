"""Resolved targets of basic.publish, by the bytes of the method's arguments, and how many a channel
remembers: few for any channel, many for one that needs many.

A publisher that goes through ten thousand routing keys in turn is slow when each is routed anew,
and thousands of channels must not hold ten thousand targets each. So a channel has some places of
its own, and more while the broker has any; without a place it forgets all it has, and begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.wire import LENIENT, encode_shortstr
from reference_broker.core.base.limits import CHANNEL_TARGETS_MAX, SHARED_TARGETS_MAX
from reference_broker.core.channel.direct_reply import address_of

if TYPE_CHECKING:
    from mqkit.wire.methods import BasicPublish
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.queue.queue import Queue

COPIED_BODY_BYTES_MAX = 65_536
"""A collected body up to this is copied out of its buffer, which may be larger by an eighth. That
costs less than a read of the socket; above it the buffer itself becomes the body."""

UNRESOLVED = -1
"""A target's version where its route was not looked up, or depends on each message's headers."""


class PublishTarget:
    """The route of the publishes with one set of method arguments.

    ``queues`` holds while ``version`` is the virtual host's ``topology_version``. A ``plain``
    target is nothing but queues; others are a reply consumer's, a transactional channel's, or
    traced.
    """

    __slots__ = (
        "exchange",
        "mandatory",
        "plain",
        "queues",
        "reply_address",
        "route",
        "routing_key",
        "transactional",
        "version",
    )

    def __init__(self, method: BasicPublish, *, transactional: bool) -> None:
        self.exchange = method.exchange
        self.routing_key = method.routing_key
        self.route = encode_shortstr(method.exchange, LENIENT)
        self.route += encode_shortstr(method.routing_key, LENIENT)
        self.mandatory = method.mandatory
        self.reply_address = address_of(method.exchange, method.routing_key)
        self.transactional = transactional
        self.plain = False
        self.queues: tuple[Queue, ...] = ()
        self.version = UNRESOLVED


class PublishAssembly:
    """A publish of which not everything has arrived: first the header, then the body in pieces.

    The buffer grows with what arrives, whatever size the header promises: by an eighth at a time,
    and a large one without being copied where the allocator can move its pages (glibc does).
    """

    __slots__ = ("body", "header", "missing", "target")

    def __init__(self, target: PublishTarget) -> None:
        self.target = target
        self.header = b""
        self.missing = 0
        self.body = bytearray()

    @property
    def held_bytes(self) -> int:
        """Octets that have arrived so far. There is one buffer, as frames of two octets each would
        cost a list of pieces thirty times their size."""
        return len(self.header) + len(self.body)

    def take_body(self) -> bytes | bytearray:
        """The body, when nothing is ``missing``. A large one is the buffer, which nobody may change
        from then on: the assembly is of no more use."""
        body = self.body
        return bytes(body) if len(body) <= COPIED_BODY_BYTES_MAX else body


class TargetMemory:
    """The places for targets that all channels of a broker share."""

    __slots__ = ("taken",)

    def __init__(self) -> None:
        self.taken = 0
        """Shared places in use."""

    def remember(self, channel: Channel, arguments: bytes, target: PublishTarget) -> None:
        """Keep ``target`` for further publishes with these method arguments."""
        targets = channel.targets
        if len(targets) >= CHANNEL_TARGETS_MAX:
            if self.taken >= SHARED_TARGETS_MAX:
                self.forget(channel)
            else:
                self.taken += 1
        targets[arguments] = target

    def forget(self, channel: Channel) -> None:
        """Drop the remembered targets of a channel: it has ended, or has too many of them.
        Idempotent."""
        self.taken -= max(0, len(channel.targets) - CHANNEL_TARGETS_MAX)
        channel.targets.clear()
