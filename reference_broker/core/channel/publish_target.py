"""Resolved targets of basic.publish, by the bytes of the method's arguments, and how many a channel
remembers: few for any channel, many for one that needs many.

A publisher that goes through ten thousand routing keys in turn is slow when each is routed anew,
and thousands of channels must not hold ten thousand targets each. So a channel has some places of
its own, and more while the broker has any; without a place it forgets all it has, and begins anew.

Every target counts as memory (:mod:`memory_watermark`), and goes when it is void: it would keep the
queues alive that it once led to. A channel that has something new to remember forgets what is void,
and one that publishes no more is looked at once a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.wire import LENIENT, encode_shortstr
from reference_broker.core.base.limits import CHANNEL_TARGETS_MAX, SHARED_TARGETS_MAX
from reference_broker.core.base.octet_block import OctetBlock
from reference_broker.core.channel.direct_reply import address_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mqkit.wire.methods import BasicPublish
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.exchange.long_route import LongRoute
    from reference_broker.core.message.content import Body
    from reference_broker.core.queue.queue import Queue

COPIED_BODY_BYTES_MAX = 65_536
"""A collected body up to this is copied out of its block, which may be larger by an eighth. That
costs less than a read of the socket; above it the block itself becomes the body."""

LOOK_S = 60.0
"""Seconds between two looks for void targets of channels that publish nothing new."""

TARGET_BYTES = 290
"""Accounted for each remembered target, beside what is proportional to its names: the object, its
texts and octets, its queues, and its place in the dictionary."""

COPIES_OF_ARGUMENTS = 3
"""Exchange and routing key are held as the key of the dictionary, as texts, and as the route."""

UNRESOLVED = -1
"""A target's version where its route was not looked up, or depends on each message's headers."""


class PublishTarget:
    """The route of the publishes with one set of method arguments.

    ``queues`` holds while ``version`` is the virtual host's ``topology_version``. A ``plain``
    target is nothing but queues; others are a reply consumer's, a transactional channel's, or
    traced, or lead to another node. ``is_forwarded`` is one that is plain but for queues
    elsewhere. ``awaited`` are the long routes for which a message with this target waits,
    by exchange and further keys.
    """

    __slots__ = (
        "awaited",
        "exchange",
        "is_forwarded",
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
        self.plain = self.is_forwarded = False
        self.queues: tuple[Queue, ...] = ()
        self.version = UNRESOLVED
        self.awaited: dict[tuple[Exchange, tuple[str, ...]], LongRoute] | None = None


class PublishAssembly:
    """A publish of which not everything has arrived: first the header, then the body in pieces.

    The body grows with what arrives, whatever size the header promises.
    """

    __slots__ = ("body", "header", "missing", "target")

    def __init__(self, target: PublishTarget) -> None:
        self.target = target
        self.header = b""
        self.missing = 0
        self.body = OctetBlock()

    @property
    def held_bytes(self) -> int:
        """Octets that have arrived so far. There is one block, as frames of two octets each would
        cost a list of pieces thirty times their size."""
        return len(self.header) + len(self.body)

    def take_body(self) -> Body:
        """The body, when nothing is ``missing``. A large one is the block, to which nothing may be
        appended from then on."""
        body = self.body.whole()
        return bytes(body) if len(body) <= COPIED_BODY_BYTES_MAX else body


class Targets(dict[bytes, PublishTarget]):
    """The remembered targets of one channel, by the octets of the method's arguments. They were
    resolved when the virtual host's ``topology_version`` was ``version``, or later; ``held_bytes``
    are accounted for them."""

    __slots__ = ("held_bytes", "version")

    def __init__(self) -> None:
        self.held_bytes = 0
        self.version = UNRESOLVED


class TargetMemory:
    """The targets that all channels of a broker remember: the places that they share, and the bytes
    of all. ``after`` is the broker's, to look for void ones."""

    __slots__ = ("_after", "_channels", "_looks", "held_bytes", "taken")

    def __init__(self, after: Callable[[float, Callable[[], None]], object]) -> None:
        self._after = after
        self._channels: dict[Channel, None] = {}
        """Those that remember something."""
        self._looks = False
        self.taken = 0
        """Shared places in use."""
        self.held_bytes = 0

    def remember(self, channel: Channel, arguments: bytes, target: PublishTarget) -> None:
        """Keep ``target`` for further publishes with these method arguments."""
        targets = channel.targets
        if targets.version != channel.vhost.topology_version:
            self.forget(channel)
            targets.version = channel.vhost.topology_version
        if len(targets) >= CHANNEL_TARGETS_MAX:
            if self.taken >= SHARED_TARGETS_MAX:
                self.forget(channel)
            else:
                self.taken += 1
        if not targets:
            self._note_first(channel)
        targets[arguments] = target
        size = TARGET_BYTES + len(arguments) * COPIES_OF_ARGUMENTS
        targets.held_bytes += size
        self.held_bytes += size

    def forget(self, channel: Channel) -> None:
        """Drop the remembered targets of a channel: it has ended, or has too many of them, or they
        are void. Idempotent."""
        targets = channel.targets
        self.taken -= max(0, len(targets) - CHANNEL_TARGETS_MAX)
        self.held_bytes -= targets.held_bytes
        targets.held_bytes = 0
        targets.clear()
        self._channels.pop(channel, None)

    def _note_first(self, channel: Channel) -> None:
        self._channels[channel] = None
        if not self._looks:
            self._looks = True
            self._after(LOOK_S, self._look)

    def _look(self) -> None:
        """Forget what is void: the queues that it led to may be gone."""
        for channel in list(self._channels):
            if channel.targets.version != channel.vhost.topology_version:
                self.forget(channel)
        self._looks = bool(self._channels)
        if self._looks:
            self._after(LOOK_S, self._look)
