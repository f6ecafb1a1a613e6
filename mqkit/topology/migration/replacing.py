"""The queue, deleted and declared again, in one write: it is away for as long as the broker takes
for two methods that follow each other.

A classic queue is deleted with if-empty, so the broker has the last word. For a quorum queue
RabbitMQ 3.10.8 closes the connection with 540 then; it was empty and at rest for seconds by now,
and what the deletion takes along all the same is counted.
"""

from __future__ import annotations

import asyncio

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.topology.migration.session import Session
from mqkit.topology.migration.stopped import Stopped
from mqkit.topology.model import QueueType
from mqkit.topology.planning.diff import differences_between
from mqkit.topology.policy.in_force import type_of
from mqkit.topology.throwaway import NOT_FOUND
from mqkit.transport.seam import Channel

PRECONDITION_FAILED = 406


async def replace_queue(session: Session) -> bool:
    """Have the queue as it shall be. Returns false, with nothing done, if it is not empty."""
    live, target = await session.live(), session.target
    if live is None:
        await _declare(session, target)
        return True
    if not differences_between(target, live):
        return True
    state = await session.state(live.name)
    if state is not None and state.message_count and not session.gap:
        return False
    if_empty = type_of(live) is QueueType.CLASSIC and not session.gap
    try:
        gone = await session.call(
            lambda on: _replace(on, live.name, target, if_empty=if_empty),
            f"the deletion and declaration of {live.name!r}",
        )
    except ChannelError as error:
        if error.reply_code == PRECONDITION_FAILED and if_empty:
            return False
        if error.reply_code != NOT_FOUND:
            raise
        await _declare(session, target)
        return True
    if gone:
        session.journal.lost(gone)
    return True


async def _replace(channel: Channel, name: str, target: Queue, *, if_empty: bool) -> int:
    """Both methods are on the wire before the first answer; where the first is refused, the broker
    closes the channel and does not look at the second."""
    deletion = asyncio.ensure_future(channel.delete_queue(name, if_empty=if_empty))
    declaration = asyncio.ensure_future(channel.declare_queue(target))
    await asyncio.wait((deletion, declaration))
    declaration.exception()
    gone = await deletion
    await declaration
    return gone


async def _declare(session: Session, target: Queue) -> None:
    try:
        await session.call(
            lambda on: on.declare_queue(target), f"the declaration of {target.name!r}"
        )
    except ChannelError as error:
        if error.reply_code != PRECONDITION_FAILED:
            raise
        raise Stopped(
            f"somebody has declared {target.name!r} otherwise just now ({error}): run the same"
            " command again"
        ) from None
