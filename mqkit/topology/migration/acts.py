"""The act of each step. Each may be done again from its beginning, any number of times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.topology.migration.emptying import empty
from mqkit.topology.migration.moving import MESSAGES_MAX, Lane, Mover
from mqkit.topology.migration.names import gate_name, inlet_name, outlet_name
from mqkit.topology.migration.replacing import PRECONDITION_FAILED, replace_queue
from mqkit.topology.migration.session import LOOK_AGAIN_S, Session
from mqkit.topology.migration.steps import Event, Step
from mqkit.topology.migration.stopped import Stopped
from mqkit.topology.migration.ways import (
    bind_gate,
    bind_queue,
    declare_outlet,
    declare_temporary,
    delete_exchange,
    divert_gate,
    lane_back,
    lane_from_keeper,
    lane_out,
    open_gate,
    to_gate,
    unbind,
    unbind_queue,
)
from mqkit.topology.model import QueueType
from mqkit.topology.policy.in_force import type_of
from mqkit.topology.throwaway import NOT_FOUND

CHASES_MAX = 20
"""Rounds of moving what has come meanwhile, where each round leaves as much as it found: then
publishers are as fast as the move, and it goes on without the order of those messages."""

ROUND_MAX = 500
"""Messages that are moved back between two looks at the bindings."""

Act: TypeAlias = Callable[[Session], Awaitable[Event]]


async def _declare(session: Session) -> Event:
    await declare_temporary(session)
    return Event.DONE


async def _gate(session: Session) -> Event:
    await open_gate(session)
    await bind_gate(session, session.migration.bindings)
    return Event.DONE


async def _unbind(session: Session) -> Event:
    await unbind_queue(session)
    return Event.DONE


async def _fetch(session: Session) -> Event:
    await _chase(session, lane_out(session))
    return Event.DONE


async def _divert(session: Session) -> Event:
    await divert_gate(session)
    return Event.DONE


async def _empty(session: Session) -> Event:
    await empty(session)
    return Event.DONE


async def _replace(session: Session) -> Event:
    return Event.DONE if await replace_queue(session) else Event.NOT_EMPTY


async def _release(session: Session) -> Event:
    for held in session.migration.held:
        await declare_outlet(session, held.queue.name)
        await _drain(session, lane_from_keeper(held.queue))
    return Event.DONE


async def _return(session: Session) -> Event:
    await declare_outlet(session, session.migration.queue)
    await _chase(session, lane_back(session), watches_bindings=True)
    return Event.DONE


async def _revert(session: Session) -> Event:
    await open_gate(session)
    return Event.DONE


async def _follow(session: Session) -> Event:
    await declare_outlet(session, session.migration.queue)
    await _drain(session, lane_back(session))
    return Event.DONE


async def _bind(session: Session) -> Event:
    await bind_queue(session)
    return Event.DONE


async def _ungate(session: Session) -> Event:
    await unbind(session, map(to_gate, session.migration.bindings))
    return Event.DONE


async def _remove(session: Session) -> Event:
    queue = session.migration.queue
    await delete_exchange(session, gate_name(queue))
    await _delete_kept(session, session.migration.temporary, lane_back(session))
    for held in session.migration.held:
        await _delete_kept(session, held.keeper, lane_from_keeper(held.queue))
    for name in (queue, *(held.queue.name for held in session.migration.held)):
        await delete_exchange(session, inlet_name(name))
        await delete_exchange(session, outlet_name(name))
    return Event.DONE


ACTS: Mapping[Step, Act] = {
    Step.DECLARE: _declare,
    Step.GATE: _gate,
    Step.UNBIND: _unbind,
    Step.FETCH: _fetch,
    Step.DIVERT: _divert,
    Step.EMPTY: _empty,
    Step.REPLACE: _replace,
    Step.RELEASE: _release,
    Step.RETURN: _return,
    Step.REVERT: _revert,
    Step.FOLLOW: _follow,
    Step.BIND: _bind,
    Step.UNGATE: _ungate,
    Step.REMOVE: _remove,
}


async def _chase(session: Session, lane: Lane, *, watches_bindings: bool = False) -> None:
    """Move until hardly anything is left, though new messages come behind: the next step switches,
    and what is left then is out of order."""
    mover = Mover(session, lane)
    chases, before = 0, 0
    try:
        while True:
            state = await session.state(lane.source)
            depth = 0 if state is None else state.message_count
            if depth and watches_bindings and await _is_bound_again(session):
                return
            moved = await mover.move(min(depth, ROUND_MAX) if watches_bindings else depth)
            if depth <= MESSAGES_MAX or moved.is_empty:
                return
            chases = chases + 1 if depth >= before else 0
            before = depth
            if chases >= CHASES_MAX:
                session.journal.remark(
                    f"messages come to {lane.source!r} as fast as they are moved: those that came"
                    " in the last moments are out of order"
                )
                return
    finally:
        await mover.close()


async def _is_bound_again(session: Session) -> bool:
    """True if somebody, an app that declares its topology, say, has bound the new queue before its
    time: then it gets what the temporary queue gets, and there is no time to lose."""
    found = await session.direct_bindings()
    if found:
        session.journal.remark(
            f"somebody bound {session.migration.queue!r} to {found[0].source!r} before the messages"
            " were back: they come behind newer ones, and what was published between that and the"
            " switch may be handled twice"
        )
    return bool(found)


async def _drain(session: Session, lane: Lane) -> int:
    mover = Mover(session, lane)
    try:
        return (await mover.move()).messages
    finally:
        await mover.close()


async def _delete_kept(session: Session, queue: Queue, lane: Lane) -> None:
    """Delete a queue of ours, when it is empty twice with a pause in between: a message that was
    routed right before the switch may take a moment to arrive."""
    until = session.site.now() + session.site.wait_s
    while await session.state(queue.name) is not None:
        await declare_outlet(session, lane.destination)
        await _drain(session, lane)
        await session.site.sleep(LOOK_AGAIN_S)
        if not await _drain(session, lane) and await _is_deleted(session, queue):
            return
        if session.site.now() > until:
            raise Stopped(f"messages keep coming to {queue.name!r}: somebody publishes there")


async def _is_deleted(session: Session, queue: Queue) -> bool:
    is_classic = type_of(queue) is QueueType.CLASSIC
    try:
        gone = await session.call(
            lambda on: on.delete_queue(queue.name, if_unused=is_classic, if_empty=is_classic),
            f"the deletion of {queue.name!r}",
        )
    except ChannelError as error:
        if error.reply_code == NOT_FOUND:
            return True
        if error.reply_code != PRECONDITION_FAILED:
            raise
        return False
    if gone:
        session.journal.lost(gone)
    return True
