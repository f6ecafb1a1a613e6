"""As many messages out of a queue as are wanted, unacked: over several channels of a connection.

The reference broker lets a channel hold 65,535 unacked deliveries, and whoever consumes further
waits for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.transport.blocking import BlockingChannel
from mqkit.transport.native.delivery_run import DeliveryRun
from mqkit.transport.native.over_sockets.connection import NativeBlockingConnection
from mqkit_spark.source.stream.intake import Intake, TakeSize

CHANNEL_MAX = 50_000
"""Messages that are taken over one channel."""


@dataclass(slots=True)
class Share:
    """A channel with what was taken over it. Ack it up to ``intake.last_tag``."""

    channel: BlockingChannel
    intake: Intake
    count: int = 0


class WideIntake:
    """Takes from one queue; whoever made the connection closes it."""

    def __init__(self, connection: NativeBlockingConnection, queue: str) -> None:
        self._connection = connection
        self._queue = queue
        self._size = TakeSize()
        self.shares: list[Share] = []
        """The channels in the order of their messages."""

    @property
    def is_open(self) -> bool:
        """False when some of what was taken has gone back to the queue."""
        return all(share.channel.is_open for share in self.shares)

    def take(self, most: int) -> DeliveryRun:
        """Some messages; see :meth:`~.intake.Intake.take`. Raises what a channel raises."""
        if not self.shares or self.shares[-1].count >= CHANNEL_MAX:
            channel = self._connection.channel()
            self.shares.append(Share(channel, Intake(channel, self._queue, self._size)))
        share = self.shares[-1]
        taken = share.intake.take(min(most, CHANNEL_MAX - share.count))
        share.count += len(taken)
        return taken
