"""Messages out of a queue, unacked, a bounded number at a time.

One consumer would need a prefetch as large as the share, since nothing is acked before the file is
synced; a fast broker could then fill the memory before the disk has taken it. So consumers of one
channel follow each other: each has a prefetch of one small take, and is cancelled when it has that
many. No more than a take is ever on its way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from mqkit.declaration import Queue
from mqkit.errors import ConnectionLost
from mqkit.transport.blocking import BlockingChannel
from mqkit.transport.native.delivery_run import DeliveryRun
from mqkit.transport.native.over_sockets.channel import NativeBlockingChannel
from mqkit_spark.source.stream.spool.faults import SpoolError

TAKE_MAX = 5_000
"""Messages of a take. The three round trips of one cost little beside so many."""

FIRST_TAKE = 16
GROWTH = 8
"""A take is at most so many times the one before, until the size of messages is known."""

TAKE_BYTES = 16 * 1024 * 1024
"""The bytes of a take, by the largest mean that a take had so far."""

LOOK_AGAIN_S = 0.2
"""A queue that has delivered nothing for so long is asked if it has something."""

PATIENCE_S = 10.0
"""A queue that says it has messages, and delivers none for so long, gives them to others: one with
a single active consumer, or with a consumer of a higher priority."""


class TakeSize:
    """The messages of the next take, by those before it."""

    def __init__(self) -> None:
        self.messages = FIRST_TAKE
        self._mean_max = 1.0

    def learn(self, taken: DeliveryRun) -> None:
        """A take has come."""
        mean = sum(map(len, taken.bodies)) / len(taken)
        self._mean_max = max(self._mean_max, mean)
        by_bytes = max(1, int(TAKE_BYTES / self._mean_max))
        self.messages = min(TAKE_MAX, by_bytes, GROWTH * self.messages)


class Intake:
    """Takes from one queue over one channel, which must be new; whoever made it closes it. ``size``
    is that of takes before from this queue, if there were some."""

    def __init__(
        self,
        channel: NativeBlockingChannel,
        queue: str,
        size: TakeSize | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._channel = channel
        self._queue = queue
        self._clock = clock
        self._size = size or TakeSize()
        self.last_tag = 0
        """The delivery tag of the newest message; 0 before the first."""

    def take(self, most: int) -> DeliveryRun:
        """Some messages, ``most`` at most and :data:`TAKE_MAX`; none when the queue has no more
        for this consumer. Raises what the channel raises."""
        wanted = min(self._size.messages, most)
        arrivals = _Arrivals(wanted)
        self._channel.qos(wanted)
        tag = self._channel.consume_runs(
            self._queue, arrivals.add, on_cancel=lambda _: arrivals.cancelled()
        )
        self._wait(arrivals)
        # All that was on its way is told before the answer to this.
        self._channel.cancel(tag)
        taken = arrivals.messages
        if taken:
            self.last_tag = taken.tags[-1]
            self._size.learn(taken)
        return taken

    def _wait(self, arrivals: _Arrivals) -> None:
        count, since_s = 0, self._clock()
        while not arrivals.full.wait(LOOK_AGAIN_S):
            if arrivals.is_cancelled:
                raise SpoolError(f"queue {self._queue!r} was deleted while it was read")
            if not self._channel.is_open:
                raise ConnectionLost(f"the connection was lost while {self._queue!r} was read")
            if len(arrivals.messages) > count:
                count, since_s = len(arrivals.messages), self._clock()
            elif not ready(self._channel, self._queue) or self._clock() - since_s > PATIENCE_S:
                return


def ready(channel: BlockingChannel, queue: str) -> int:
    """The messages that the queue has ready. Raises the broker's error where there is none."""
    return channel.declare_queue(Queue(queue), passive=True).message_count


def acknowledge(channel: BlockingChannel, last_tag: int) -> None:
    """Ack all up to a delivery, and return when the broker has heard it.

    Raises :exc:`~mqkit.errors.MqkitError` when that is in doubt: they may come again.
    """
    if last_tag:
        channel.ack(last_tag, multiple=True)
    # Its answer comes after all that was sent before.
    channel.close()


@dataclass
class _Arrivals:
    """Filled by the connection's thread, until ``full``."""

    wanted: int

    def __post_init__(self) -> None:
        self.messages = DeliveryRun()
        self.full = threading.Event()
        self.is_cancelled = False

    def add(self, run: DeliveryRun) -> None:
        self.messages.extend(run)
        if len(self.messages) == self.wanted:
            self.full.set()

    def cancelled(self) -> None:
        self.is_cancelled = True
