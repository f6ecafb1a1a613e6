"""The depth of a queue: messages ready and consumers, by a passive declare on a channel of its
own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mqkit.declaration import Queue
from mqkit.errors import ChannelError, ConnectionLost, DeadlineExceeded
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.topology.throwaway import NOT_FOUND
from mqkit.transport.seam import Connection

DEADLINE_S = 10.0
"""A broker answers in milliseconds; one that reconnects, or is stuck, is waited for so long."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """A broker's word about a queue at one moment."""

    messages_ready: int
    """Messages that no consumer has; those that are unacked are not told over AMQP."""
    consumers: int
    """Consumers of all programs."""


class Connected(Protocol):
    """The supervisor, as far as this needs it."""

    def consuming_connection(self) -> Connection: ...
    async def wait_ready(self, timeout_s: float | None = None) -> None: ...


async def depth_of(
    queue: str, connected: Connected, deadline_s: float, *, clock: Clock = SYSTEM_CLOCK
) -> QueueDepth:
    """Ask for ``queue``; waits for a connection where there is none.

    Raises :exc:`~mqkit.errors.ChannelError` where there is no such queue (404), or it is another
    connection's own (405); :exc:`~mqkit.errors.DeadlineExceeded` after ``deadline_s`` seconds;
    :exc:`~mqkit.errors.ConnectionLost` when the connection goes meanwhile.
    """
    try:
        async with clock.timeout(deadline_s):
            return await _ask(queue, connected)
    except TimeoutError:
        raise DeadlineExceeded(
            f"waited {deadline_s:g} s for the depth of the queue {queue!r}"
        ) from None
    except ChannelError as error:
        if error.reply_code != NOT_FOUND:
            raise
        raise ChannelError(
            error.reply_code,
            f"there is no queue {queue!r}: declare it, or correct its name",
            error.class_id,
            error.method_id,
        ) from None


async def _ask(queue: str, connected: Connected) -> QueueDepth:
    try:
        connection = connected.consuming_connection()
    except ConnectionLost:
        await connected.wait_ready()
        connection = connected.consuming_connection()
    channel = await connection.channel()
    state = await channel.declare_queue(Queue(queue), passive=True)
    await channel.close()
    return QueueDepth(state.message_count, state.consumer_count)
