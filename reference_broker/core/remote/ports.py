"""Protocols between the queues of another node and that node, their home.

A home answers later, as inputs of the core that come over a link. Everything that goes to it keeps
its order: a question is answered with what was published and settled before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum, unique
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.journal.watermark import Watermark
    from reference_broker.core.message.content import Content
    from reference_broker.core.work.until import Until


class QueueGone(ChannelException):
    """The home has the queue no more; this node's view will have it no more either. Wait for that,
    and handle the request again."""

    def __init__(self, text: str) -> None:
        super().__init__(ReplyCode.NOT_FOUND, text)


@unique
class Settlement(IntEnum):
    """The ways in which deliveries end. The value is what goes over a link."""

    ACK = 0
    REQUEUE = 1
    """Back at its place: not a failed delivery, where the queue counts those."""
    REQUEUE_FAILED = 2
    REJECT = 3
    """Dead-lettered, or dropped."""
    UNSEEN = 4
    """Back at its place, not marked as redelivered: no client has seen it."""


class Terms(NamedTuple):
    """The terms of a consumer, from which its queue's home makes one. ``arguments`` is the field
    table of basic.consume as it was sent, without its length."""

    tag: str
    no_ack: bool
    exclusive: bool
    arguments: bytes


class Taker(Protocol):
    """A consumer's side of the deliveries from a home. Exactly one of :meth:`attached` and
    :meth:`refused` is called first; after :meth:`detached`, :meth:`refused` or :meth:`gone`
    nothing is."""

    def attached(self) -> None:
        """The consumer takes part at the home; it gets as much as it is granted."""
        ...

    def refused(self, error: ChannelException) -> None:
        """The home has not taken the consumer."""
        ...

    def deliver(self, number: int, redelivered: bool, content: Content) -> None:
        """A message, as the lease of that number, to be ended by :meth:`Home.end_leases` (not where
        the terms say ``no_ack``)."""
        ...

    def deliver_run(self, first: int, contents: Sequence[Content]) -> None:
        """Messages that were never handed out before, as the leases of the numbers from ``first``
        on."""
        ...

    def detached(self) -> None:
        """The consumer has left the queue, as it wanted to. What was delivered is still to be
        settled."""
        ...

    def gone(self) -> None:
        """The queue, or the way to it, is gone: every lease of it is stale."""
        ...


class Counts(NamedTuple):
    """The messages that are ready and unacked in a queue, and its consumers on all nodes:
    ``declared_consumers`` as queue.declare-ok counts them."""

    ready: int
    unacked: int
    consumers: int
    declared_consumers: int


class Got(NamedTuple):
    """The answer to a get: a message as the lease of that number (already acked with ``no_ack``),
    and what is left ready; no content from an empty queue."""

    number: int
    redelivered: bool
    content: Content | None
    left: int


class Purged(NamedTuple):
    """The answer to a purge, once it is on disk: the messages that went."""

    messages: int


Answer: TypeAlias = "Counts | Got | Purged | ChannelException"

Told: TypeAlias = Callable[[Answer], None]
"""Called once, never within the call that asks: with the answer, or with why there is none."""


class Home(Protocol):
    """The home of queues, as another node reaches it.

    ``confirmed`` is the number of the last publish that was answered, and all before it were.
    ``era`` rises whenever the home was lost: leases of an earlier one are stale.
    """

    node: str
    confirmed: Watermark
    era: int

    @property
    def is_up(self) -> bool:
        """True while the home can be reached. While it can't, nothing may be called here but
        :meth:`publish`, which is refused."""
        ...

    @property
    def has_room(self) -> bool:
        """True if one more message may be published; else wait for :meth:`room_comes`."""
        ...

    def room_comes(self) -> Until:
        """The event that messages may be published again, or that the home is down."""
        ...

    def publish(
        self, queue_ids: Sequence[int], content: Content, refused: Callable[[], None] | None = None
    ) -> int:
        """Put a message into queues of the home; returns the number of the publish, which rises.

        ``refused`` is called where not every queue took it, or nobody knows (the link was lost, the
        home is down): always before ``confirmed`` is at the number, never within this call. A queue
        that was deleted meanwhile refuses nothing.
        """
        ...

    def publish_run(
        self,
        queue_id: int,
        contents: Sequence[Content],
        refused: Callable[[int], None] | None = None,
    ) -> int:
        """:meth:`publish` messages that follow each other, each into that queue alone: they have
        one route, and are all persistent or none, and nothing else is to be looked at. Returns the
        number of the last one; ``refused`` is called with a message's place among them."""
        ...

    def attach(self, queue_id: int, terms: Terms, taker: Taker) -> int:
        """Have a consumer take part in a queue; returns the number of the attachment."""
        ...

    def grant(self, attachment: int, messages: int, octets: int) -> None:
        """Let the consumer have so many messages and octets of bodies, in all since it was
        attached. One message goes while there are any of both."""
        ...

    def detach(self, attachment: int) -> None:
        """Have the consumer leave the queue: :meth:`Taker.detached` follows. Idempotent."""
        ...

    def end_leases(self, queue_id: int, how: Settlement, numbers: Sequence[int]) -> None:
        """End the leases of these numbers, in this order. Those that the queue has no more are
        counted there, and nothing else happens."""
        ...

    def get(self, queue_id: int, no_ack: bool, told: Told) -> None:
        """basic.get: answered with :class:`Got`."""
        ...

    def count(self, queue_id: int, told: Told) -> None:
        """Ask for the :class:`Counts` of a queue at rest; it counts as use of the queue."""
        ...

    def purge(self, queue_id: int, told: Told) -> None:
        """Purge a queue: answered with :class:`Purged`."""
        ...


class Homes(Protocol):
    """The other nodes, by name."""

    def home(self, node: str) -> Home:
        """The node of that name, whether it is there or not. The same object each time."""
        ...
