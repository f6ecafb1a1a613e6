"""The queue, deleted, and declared again a moment later.

A classic queue is deleted with if-empty, so the broker has the last word. For a quorum queue
RabbitMQ 3.10.8 closes the connection with 540 then; it was empty and at rest for seconds by now,
and what the deletion takes along all the same is counted.

The moment in between is for RabbitMQ. A channel that hears of the end of its queue, and finds one
of that name already, moves its consumers there and then forgets the queue: they get nothing any
more, and hold what they were sent (measured on 3.10.8: one in fifteen, with a declare right behind
the delete; none in fifty with 20 ms between). Where it finds none, its clients get a basic.cancel.
"""

from __future__ import annotations

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.topology.migration.session import Session
from mqkit.topology.migration.stopped import Stopped
from mqkit.topology.model import QueueType
from mqkit.topology.planning.diff import differences_between
from mqkit.topology.policy.in_force import type_of
from mqkit.topology.throwaway import NOT_FOUND

PRECONDITION_FAILED = 406

AWAY_S = 0.5
"""The time for every channel to hear of the end of the queue, many times over."""


async def replace_queue(session: Session) -> bool:
    """Have the queue as it shall be. Returns false, with nothing done, if it is not empty."""
    live = await session.live()
    if live is not None:
        if not differences_between(session.target, live):
            return True
        if not await _is_deleted(session, live):
            return False
    await session.site.sleep(AWAY_S)
    await _declare(session, session.target)
    return True


async def _is_deleted(session: Session, live: Queue) -> bool:
    state = await session.state(live.name)
    if state is not None and state.message_count and not session.gap:
        return False
    if_empty = type_of(live) is QueueType.CLASSIC and not session.gap
    try:
        gone = await session.call(
            lambda on: on.delete_queue(live.name, if_empty=if_empty),
            f"the deletion of {live.name!r}",
        )
    except ChannelError as error:
        if error.reply_code == PRECONDITION_FAILED and if_empty:
            return False
        if error.reply_code != NOT_FOUND:
            raise
        return True
    if gone:
        session.journal.lost(gone)
    return True


async def _declare(session: Session, target: Queue) -> None:
    try:
        await session.call(
            lambda on: on.declare_queue(target), f"the declaration of {target.name!r}"
        )
    except ChannelError as error:
        if error.reply_code != PRECONDITION_FAILED:
            raise
        raise Stopped(
            f"somebody declared {target.name!r} otherwise while it was away ({error}): an app that"
            " declares its topology needs the new file first; then run the same command again"
        ) from None
