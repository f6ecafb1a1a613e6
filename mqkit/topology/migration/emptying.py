"""A queue that is to be deleted: moved until it is empty, and watched until it is at rest.

The exchanges lead elsewhere by now. What still comes is given back by a consumer, was dead-lettered
by a queue whose messages are held for that reason, or was published to the queue by its name:
that would be lost while the queue is away, so the migration stops there unless ``gap`` accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack

from mqkit.message import Delivery
from mqkit.topology.migration.moving import Mover, Seen
from mqkit.topology.migration.quiet import Look, Quiet
from mqkit.topology.migration.session import LOOK_AGAIN_S, Session
from mqkit.topology.migration.stopped import Stopped
from mqkit.topology.migration.ways import lane_out, lane_to_keeper, take_over

DEATHS = "x-death"


async def empty(session: Session) -> None:
    """Return when the queue is empty, and nothing of it is with a consumer. Raises
    :exc:`Stopped`."""
    async with AsyncExitStack() as stack:
        out = _mover(stack, Mover(session, lane_out(session)))
        held = session.migration.held
        keepers = [_mover(stack, Mover(session, lane_to_keeper(it.queue))) for it in held]
        await out.move()  # what came before the gate was diverted
        quiet = Quiet(session.settle_s)
        until = session.site.now() + session.site.wait_s
        while True:
            taken = await _hold(keepers)
            taken += (await out.move(seen=_guard(session))).messages
            taken += await _unbound(session)
            look = await _look(session, taken)
            if quiet.note(look, session.site.now()):
                return
            if session.site.now() > until:
                raise Stopped(_unrest(session, look))
            await session.site.sleep(LOOK_AGAIN_S)


def _mover(stack: AsyncExitStack, mover: Mover) -> Mover:
    stack.push_async_callback(mover.close)
    return mover


async def _hold(keepers: list[Mover]) -> int:
    return sum([(await keeper.move(seen=_check_time_to_live)).messages for keeper in keepers])


def _check_time_to_live(delivery: Delivery) -> None:
    if delivery.properties.expiration_ms is not None:
        raise Stopped(
            f"a message that has to be held (id {delivery.message_id}) has a time to live of its"
            " own, and would be gone by then: wait until that is over, and run the same command"
            " again"
        )


def _guard(session: Session) -> Seen:
    """Tells the first message that came by name."""
    feeders = {held.queue.name for held in session.migration.held}

    def check(delivery: Delivery) -> None:
        is_new = not delivery.redelivered and delivery.exchange == ""
        if is_new and not session.gap and feeders.isdisjoint(_dead_in(delivery)):
            raise Stopped(_by_name(session.migration.queue, f"id {delivery.message_id}"))

    return check


def _by_name(queue: str, which: str) -> str:
    return (
        f"somebody publishes to {queue!r} by its name, over the default exchange ({which}): while"
        " the queue is away that would be lost; stop who does, or accept it with --gap, and run the"
        " same command again (--abort goes back)"
    )


def _dead_in(delivery: Delivery) -> Iterator[str]:
    """The queues in which the broker has dead-lettered the message."""
    deaths = delivery.headers.get(DEATHS)
    if isinstance(deaths, list | tuple):
        for death in deaths:
            if isinstance(death, Mapping):
                yield str(death.get("queue"))


async def _unbound(session: Session) -> int:
    """The number of bindings that somebody has made again, an app that declares its topology, say;
    the gate has them now."""
    found = await session.direct_bindings()
    if found:
        session.journal.remark(
            f"somebody bound {session.migration.queue!r} to {found[0].source!r} again meanwhile;"
            " what was published until it was unbound may be handled twice"
        )
        await take_over(session, found)
    return len(found)


async def _look(session: Session, taken: int) -> Look:
    async with session.management() as management:
        row = await management.queue(session.migration.queue)
    if row is None:
        return Look(taken, 0, None)
    published = (row.get("message_stats") or {}).get("publish", 0)
    unacked = row.get("messages_unacknowledged")
    return Look(0, unacked, None) if session.gap else Look(taken, unacked, published)


def _unrest(session: Session, look: Look) -> str:
    queue, waited = session.migration.queue, f"{session.site.wait_s:g} s"
    if look.unacked is None:
        return f"the management API does not tell how many messages of {queue!r} are unacked"
    if look.unacked:
        return (
            f"{look.unacked} messages of {queue!r} are with consumers that have not acked them"
            f" within {waited}: wait for them, or stop them, and run the same command again"
        )
    return _by_name(queue, f"messages kept coming for {waited}")
