"""Protocols of what a channel may ask of its connection, and of the broker that both belong to.

Both are written down here so that ``channel/`` imports nothing above it. A field may be written by
a channel only where its docstring says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mqkit.wire import WireError
    from reference_broker.core.access.users import User
    from reference_broker.core.base.deadlines import Deadlines
    from reference_broker.core.base.ids import Ids
    from reference_broker.core.base.limits import Limits
    from reference_broker.core.base.peer import Peer
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.channel.confirms import ConfirmLedger
    from reference_broker.core.channel.direct_reply import DirectReplies
    from reference_broker.core.channel.publish_target import PublishAssembly, TargetMemory
    from reference_broker.core.channel.transactions import TransactionSpace
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.content_frames import Piece
    from reference_broker.core.vhost.method_access import Access
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.portions import Portions
    from reference_broker.errors import AmqpError


class ChannelConnection(Protocol):
    """A connection, as its channels see it."""

    id: int
    peer: Peer
    user: User | None
    """The user who logged in; there is one as soon as there is a channel."""
    access: Access
    """Rights of the user in the virtual host."""
    frame_max: int
    payload_max: int
    """Octets of a payload that may come in: see :class:`Connection`."""
    body_frame_max: int
    """Octets of body in one frame that goes out."""
    message_size_max: int
    blocked: bool
    """True while an alarm keeps the connection from being read."""

    output: list[Piece]
    """Pieces that wait for the socket. A consumer appends, adds their octets to ``output_size``,
    and calls :meth:`mark_dirty`."""
    output_size: int
    delivery_limit: int
    """Bound on ``output_size`` above which consumers get nothing; 0 while the socket takes none."""
    starved: bool
    """Set by a consumer or a channel that waits for the socket: it is woken when that takes
    more."""
    dirty: bool
    """True while the shell is to look at the connection: :meth:`mark_dirty` has no effect then."""
    has_published: bool
    """Set by a channel when the input that is handled had content in it."""

    @property
    def user_name(self) -> str:
        """Name of ``user``."""
        ...

    @property
    def node_name(self) -> str:
        """Name of the broker."""
        ...

    def client_can(self, capability: str) -> bool:
        """True when the client announced the capability."""
        ...

    def write(self, data: bytes) -> None:
        """Append whole frames to the output."""
        ...

    def write_content(self, number: int, method: bytes, content: Content) -> None:
        """Append a method of channel ``number``, given as its frame's payload, and a message."""
        ...

    def mark_dirty(self) -> None:
        """Have the shell look at the output. Idempotent."""
        ...

    def frame_parked(self, payload: bytes) -> None:
        """Count a frame that a channel keeps until it resumes."""
        ...

    def frames_dropped(self, frames: deque[tuple[int, bytes]]) -> None:
        """Count parked frames no more that nobody will handle."""
        ...

    def take_parked(self, channel: Channel, frames: deque[tuple[int, bytes]]) -> None:
        """Handle parked frames, oldest first, until one of them suspends ``channel``; what is left
        stays in ``frames``."""
        ...

    def publish_assembled(self, channel: Channel, assembly: PublishAssembly) -> None:
        """Publish the complete message that ``channel`` waited with, or refuse it."""
        ...

    def free_channel(self, number: int) -> None:
        """Forget the channel of that number, which is closed. Idempotent."""
        ...

    def channel_waits(self) -> None:
        """Count a channel that waits for work to be done: its own, or a queue's."""
        ...

    def channel_goes_on(self) -> None:
        """Count it no more."""
        ...

    def block_in_alarm(self) -> None:
        """Block the connection if an alarm is on: a publish of one of its channels waits."""
        ...

    def refuse(
        self, channel: Channel, error: AmqpError | WireError, class_id: int, method_id: int
    ) -> None:
        """Close ``channel`` or the connection for a mistake of the client in the method that has
        these ids."""
        ...

    def fail(self, error: AmqpError) -> None:
        """Close the connection with connection.close. Idempotent."""
        ...


class WaitingChannels(Protocol):
    """Channels whose publishes wait until the journal has space."""

    def add(self, room_comes: Callable[[], None], block_in_alarm: Callable[[], None]) -> None:
        """Call ``room_comes`` after the next sync, and ``block_in_alarm`` when an alarm begins
        before that."""
        ...


class ChannelBroker(Protocol):
    """A broker, as its channels see it: each attribute is shared by all of them."""

    ledger: ConfirmLedger
    direct_replies: DirectReplies
    transactions: TransactionSpace
    work: Portions
    """Work that is left over from earlier turns."""
    budget: Budget
    targets: TargetMemory
    timers: Deadlines
    """Deadlines in monotonic milliseconds."""
    limits: Limits
    ids: Ids

    @property
    def waiting_publishers(self) -> WaitingChannels:
        """Channels that wait for space in the journal."""
        ...
